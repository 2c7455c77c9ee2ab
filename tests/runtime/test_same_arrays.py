"""One array under several names: what is stored through one is read through all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from tests.codegen.interpreted import InterpretedGpu
from tests.pairwise import pairwise

COUNT = 6
GPU = InterpretedGpu()
BACKENDS = ["python", "cpu", "interpreted", pytest.param("cuda", marks=pytest.mark.gpu)]


class Thing(oa.Object):
    x: i32
    held: oa.Array[Thing]

    def get(self) -> i32:
        return self.x

    def put(self, to: oa.Array[Thing], place: i32, other: Thing) -> None:
        to[place] = other

    def put_into_held(self, place: i32, other: Thing) -> i32:
        self.held[place] = other
        return self.held[place].get()

    def trade(self, all: oa.Array[Thing], others: oa.Array[Thing]) -> i32:
        place = self.x
        all[place] = others[place]
        return all[place].get()


class Special(Thing):
    def get(self) -> i32:
        return -self.x


Things = oa.Array[Thing]
Numbers = oa.Array[i32]


@oa.func
def copy_element(to: Things, source: Things, place: i32) -> None:
    to[place] = source[place]


@oa.kernel
def two_names(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    b[i] = c[i]
    out[i] = a[i].get()


@oa.kernel
def by_a_function(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    copy_element(b, c, i32(i))
    out[i] = a[i].get()


@oa.kernel
def by_a_method(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    c[i].put(b, i32(i), c[i])
    out[i] = a[i].get()


@oa.kernel
def by_a_local(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    name = b
    name[i] = c[i]
    out[i] = a[i].get()


@oa.kernel
def by_a_field(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    first = c[i]
    first.held[i] = first
    out[i] = a[i].get() + 10 * b[i].get()


@oa.kernel
def read_by_a_field(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    b[i] = c[i]
    out[i] = c[i].held[i].get() + a[i].get()


@oa.kernel
def exchanged(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    old = oa.atomic_exch(b, i, c[i])
    out[i] = a[i].get() + 10 * old.get()


@oa.kernel
def swapped(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    kept = a[i]
    b[i], c[i] = c[i], kept
    out[i] = a[i].get() + 10 * c[i].get()


@oa.kernel
def becomes_another(a: Things, b: Things, c: Things, out: Numbers):
    i = oa.grid(1)
    if i % 2 == 1:
        a = c
    out[i] = a[i].get() * 1000 + b[i].get()


KERNELS = [
    becomes_another,
    two_names, by_a_function, by_a_method, by_a_local, by_a_field, read_by_a_field, exchanged,
    swapped,
]  # fmt: skip


def _on(backend: Any, layout: str, run: Callable[[Any, Any], list[Any]]) -> list[Any]:
    chosen = GPU if backend == "interpreted" else backend
    with oa.Heap(mode="auto", backend=chosen, layout=layout, capacity="16MiB", initial_region=32):
        first = oa.new(Thing, COUNT, x=range(COUNT))
        others = oa.array(Thing, list(oa.new(Special, COUNT, x=range(100, 100 + COUNT))))
        first.held = [first] * COUNT
        others.held = [first] * COUNT
        return run(first, others)


@pytest.mark.parametrize(
    ("kernel", "backend", "layout"),
    pairwise([pytest.param(each, id=each.name) for each in KERNELS], BACKENDS, ["aos", "tile"]),
)
def test_stores_through_another_name_are_seen(kernel: Any, backend: str, layout: str) -> None:
    def run(first: Any, others: Any) -> list[Any]:
        out = oa.zeros(COUNT, i32)
        kernel[COUNT](first, first, others, out)
        return [out.numpy().tolist(), [each.x for each in first], [each.x for each in others]]

    def shifted(first: Any, others: Any) -> list[Any]:
        """Pieces of one array; each thread has an element of its own."""
        out = oa.zeros(COUNT - 2, i32)
        kernel[COUNT - 2](first[:-2], first[:-2], others[:-2], out)
        return [out.numpy().tolist(), [each.x for each in first]]

    for each in (run, shifted):
        assert _on(backend, layout, each) == _on("python", layout, each)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_method_that_stores_into_its_receivers_array(backend: str) -> None:
    def run(first: Any, others: Any) -> list[Any]:
        found = first.trade(first, others).numpy().tolist()
        return [found, [each.x for each in first]]

    assert _on(backend, "aos", run) == _on("python", "aos", run)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_captured_step_sees_what_its_launches_store(backend: str) -> None:
    def run(first: Any, others: Any) -> list[Any]:
        out = oa.zeros(COUNT, i32)
        with oa.capture() as step:
            swapped[COUNT](first, first, others, out)
        found = []
        for _ in range(3):
            step.run()
            found.append(out.numpy().tolist())
        first[0] = others[1]
        step.run(2)
        return [*found, out.numpy().tolist(), [each.x for each in first]]

    assert _on(backend, "aos", run) == _on("python", "aos", run)


def test_arrays_stay_runs_where_nothing_is_stored() -> None:
    """What the others give up."""

    def run(first: Any, others: Any) -> list[Any]:
        out = oa.zeros(COUNT, i32)
        read_only[COUNT](first, first, out)
        two_names[COUNT](first, first, others, out)
        return [len(each.program.binding.runs) for each in (read_only, two_names)]

    assert _on("cpu", "aos", run) == [2, 0]


@oa.kernel
def read_only(a: Things, b: Things, out: Numbers):
    i = oa.grid(1)
    out[i] = a[i].get() + b[i].get()
