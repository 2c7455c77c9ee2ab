"""Objects that kernels make and end: what is promised of them, on CPython and compiled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.errors import ArgumentError, CompileError, DeviceError, HeapError

from .. import forked
from ..codegen.interpreted import InterpretedGpu
from ..source_files import environment, load_module

pytestmark = pytest.mark.in_turns("heap", 2)


class Cell(oa.Object):
    id: i32
    energy: f32
    next: Cell | None
    marks: oa.inline[i32, 3]

    def divide(self) -> None: ...

    def leads(self) -> bool:
        return oa.is_alive(self.next)


class Simple(Cell):
    def divide(self) -> None:
        self.energy *= 0.5
        self.next = oa.new(Simple, id=self.id + 100, energy=self.energy)


class Complex(Cell):
    weight: f32

    def divide(self) -> None:
        oa.delete(self)
        for k in range(2):
            Complex(id=self.id + 100 * k, weight=self.energy)


class Lazy(Cell):
    def divide(self) -> None:
        pass


class Mark(oa.Object):
    """Has no fields that anybody could look at."""


OPENED = [
    ("python", "auto", False), ("cpu", "auto", False), ("cpu", "coal", False),
    ("cpu", "typepointer", False), ("cpu", "auto", True), ("warps", "auto", False),
    ("python", "cuda", False), ("cpu", "cuda", False), ("cpu", "concord", False),
    ("cpu", "cuda", True), ("warps", "concord", False),
    ("cuda", "auto", False), ("cuda", "coal", False), ("cuda", "auto", True),
    ("cuda", "cuda", False), ("cuda", "concord", False), ("cuda", "concord", True),
]  # fmt: skip
#: What others and ``test_births_one_by_one`` leave to be said.
SLOW = (("cpu", "coal", False), ("cpu", "concord", False), ("python", "cuda", False))


@pytest.fixture(
    params=[
        pytest.param(
            each,
            marks=[pytest.mark.gpu] * (each[0] == "cuda") + [pytest.mark.slow] * (each in SLOW),
            id="-".join(map(str, each)),
        )
        for each in OPENED
    ]
)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    backend, mode, debug = request.param
    opened: Any = InterpretedGpu() if backend == "warps" else backend
    with oa.Heap(backend=opened, mode=mode, debug=debug, initial_region=8) as made:
        yield made


def ids(cls: type) -> list[int]:
    return [int(each.id) for each in oa.all(cls)]


# ---------------------------------------------------------------- what is made


def test_they_belong_to_populations_from_the_next_launch_on(heap: oa.Heap) -> None:
    oa.new(Simple, 3, id=np.arange(3), energy=8.0)
    oa.all(Cell).divide()
    assert sorted(ids(Simple)) == [0, 1, 2, 100, 101, 102]
    oa.all(Cell).divide()
    assert len(oa.all(Simple)) == 12
    assert {float(each.energy) for each in oa.all(Simple)} == {2.0}


def test_references_to_them_may_be_kept(heap: oa.Heap) -> None:
    first = oa.new(Simple, id=1, energy=4.0)
    oa.all(Cell).divide()
    assert first.next.id == 101 and first.next.energy == 2.0 and first.next.next is None
    assert first.next is next(each for each in oa.all(Simple) if each is not first)


def test_what_is_not_named_is_zero(heap: oa.Heap) -> None:
    old = oa.new(Simple, 40, id=9, energy=1.0)
    old.marks = 7
    oa.delete(old)
    lazy = oa.new(Lazy, 5)

    @oa.kernel
    def make(cells: oa.Array[Cell]) -> None:
        cells[oa.grid(1)].next = oa.new(Simple, id=3)

    make[5](lazy)
    for each in lazy:
        made = each.next
        assert (made.id, made.energy, made.next, list(made.marks)) == (3, 0.0, None, [0, 0, 0])


def test_objects_without_fields(heap: oa.Heap) -> None:
    @oa.kernel
    def make(out: oa.Array[i32]) -> None:
        if oa.grid(1) % 2:
            Mark()

    make[10](oa.zeros(1, i32))
    assert len(oa.all(Mark)) == 5


@oa.kernel
def make_in_rows(out: oa.Array[i32]) -> None:
    x, y = oa.grid(2)
    nx, ny = oa.gridsize(2)
    if (x + y) % 3:
        Simple(id=y * nx + x)
        if x % 2 == 0:
            Simple(id=1000 + y * nx + x)


def test_they_stand_in_the_order_of_the_threads(heap: oa.Heap) -> None:
    make_in_rows[5, 7](oa.zeros(1, i32))
    expected = []
    for thread in range(35):
        x, y = thread % 5, thread // 5
        if (x + y) % 3:
            expected += [thread, 1000 + thread] if x % 2 == 0 else [thread]
    assert ids(Simple) == expected


@oa.kernel
def make_some(counts: oa.Array[i32]) -> None:
    i = oa.grid(1)
    for k in range(counts[i]):
        Simple(id=i * 10 + k)


def test_where_nobody_knows_how_many(heap: oa.Heap) -> None:
    oa.reserve(Simple, 20)
    make_some[4](oa.array(i32, [3, 0, 5, 1]))
    assert sorted(ids(Simple)) == [0, 1, 2, 20, 21, 22, 23, 24, 30]


def test_running_out_of_room(heap: oa.Heap) -> None:
    kept = oa.new(Lazy, 3, id=5)
    oa.reserve(Simple, 6)
    with pytest.raises(HeapError) as caught:
        make_some[4](oa.array(i32, [3, 3, 3, 2]))
    assert "room for 6 new objects of Simple, and 11 were to be made" in str(caught.value)
    line = make_some.function.__code__.co_firstlineno + 4
    assert f"{__file__}:{line}" in str(caught.value)
    assert "oa.reserve(Simple, n)" in str(caught.value)
    assert len(oa.all(Simple)) == 6 and ids(Lazy) == [5, 5, 5]
    oa.delete(oa.all(Simple))
    oa.reserve(Simple, 11)
    make_some[4](oa.array(i32, [3, 3, 3, 2]))
    assert len(oa.all(Simple)) == 11 and len(kept) == 3


def test_a_heap_that_is_nearly_full() -> None:
    """Not every thread may have a place of its own then; it is enough that there are as many."""
    with oa.Heap(backend="cpu", capacity=1 << 20, initial_region=64):
        lazy = oa.new(Lazy, 8_000)

        @oa.kernel
        def make(cells: oa.Array[Cell]) -> None:
            i = oa.grid(1)
            if i % 100 == 0:
                cells[i].next = Simple(id=i)

        make[8_000](lazy)
        assert sorted(ids(Simple)) == list(range(0, 8_000, 100))
        assert [int(each.next.id) for each in lazy[::100]] == list(range(0, 8_000, 100))


# ---------------------------------------------------------------- what is ended


@oa.kernel
def end(cells: oa.Array[Cell], results: oa.Array[i32]) -> None:
    i = oa.grid(1)
    target = cells[i % len(cells)]
    if oa.delete(target):
        oa.atomic_add(results, 0, 1)
    if oa.is_alive(target):
        oa.atomic_add(results, 1, 1)
    results[2 + i] = target.id


def test_one_of_all_that_try_ends_it(heap: oa.Heap) -> None:
    cells, results = oa.new(Simple, 3, id=[4, 5, 6]), oa.zeros(302, i32)
    proxies = list(cells)
    end[300](cells, results)
    assert list(results)[:2] == [3, 0]
    assert list(results)[2:] == [4, 5, 6] * 100, "fields stay until the launch ends"
    assert len(oa.all(Simple)) == 0
    for proxy in proxies:
        assert not oa.is_alive(proxy)
        with pytest.raises(HeapError, match="was deleted"):
            proxy.id


@oa.kernel
def ask(cell: Cell | None, other: Cell, out: oa.Array[i32]) -> None:
    out[0] = 1 if oa.is_alive(cell) else 0
    out[1] = 1 if oa.delete(cell) else 0
    out[2] = 1 if oa.is_alive(other.next) else 0
    out[3] = 1 if oa.delete(other.next) else 0
    out[4] = 1 if oa.is_alive(other) else 0


def test_null_and_what_is_gone(heap: oa.Heap) -> None:
    other, gone = oa.new(Simple), oa.new(Simple)
    other.next = gone
    oa.delete(gone)
    out = oa.zeros(5, i32)
    ask[1](None, other, out)
    assert list(out) == [0, 0, 0, 0, 1]
    assert oa.is_alive(other) and not oa.is_alive(None) and not oa.is_alive(gone)


def test_objects_of_several_classes_ask(heap: oa.Heap) -> None:
    oa.new(Simple, 2, next=oa.new(Lazy, 2))
    assert sorted(oa.all(Cell).leads().numpy().tolist()) == [False, False, True, True]


def test_memory_is_given_out_by_later_launches(heap: oa.Heap) -> None:
    for round in range(5):
        oa.new(Complex, 4, id=np.arange(4), energy=2.0)
        before = {id(each): int(each._reference) for each in oa.all(Complex)}
        oa.all(Cell).divide()
        after = {int(each._reference) for each in oa.all(Complex)}
        assert not after & set(before.values()), round
        assert {float(each.weight) for each in oa.all(Complex)} <= {2.0, 0.0}


def test_born_and_ended_in_one_launch(heap: oa.Heap) -> None:
    lazy = oa.new(Lazy, 4, id=np.arange(4))

    @oa.kernel
    def both(cells: oa.Array[Cell]) -> None:
        i = oa.grid(1)
        child = Simple(id=i)
        if i % 2:
            oa.delete(child)
        else:
            cells[i].next = child

    both[4](lazy)
    assert ids(Simple) == [0, 2]
    assert [each.next is None for each in lazy] == [False, True, False, True]


# ---------------------------------------------------------------- the heap afterwards


def test_the_host_has_the_places_that_nobody_took(heap: oa.Heap) -> None:
    make_in_rows[5, 7](oa.zeros(1, i32))
    before, held = ids(Simple), heap.stats().bytes_reserved
    room = held // heap.layout.record(Simple.__sharedoa__).size - len(before)
    made = oa.new(Simple, room, id=np.arange(room) + 10_000)
    assert heap.stats().bytes_reserved == held
    assert [int(each.id) for each in made] == list(range(10_000, 10_000 + room))
    assert sorted(ids(Simple)) == sorted(before) + list(range(10_000, 10_000 + room))


@pytest.mark.parametrize("mode", ["auto", "concord"])
@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_a_steady_population_needs_no_more_memory(backend: str, mode: str) -> None:
    with oa.Heap(backend=backend, mode=mode, initial_region=8) as heap:
        oa.new(Complex, 16, id=np.arange(16))

        @oa.kernel
        def halve(cells: oa.Array[Cell]) -> None:
            i = oa.grid(1)
            if i % 2:
                oa.delete(cells[i])

        held = set()
        for round in range(40):
            oa.all(Complex).divide()
            objects = oa.concat(oa.all(Complex))
            halve[len(objects)](objects)
            assert len(oa.all(Complex)) == 16
            if round >= 4:
                held.add((heap.stats().slab_bytes, heap.stats().bytes_reserved))
        assert len(held) == 1


_DIGEST = """
import hashlib, sys
import numpy as np
import sharedoa as oa
from sharedoa.backends import thread_pool
from tests.runtime.test_births import Cell, Complex, Simple
thread_pool.worker_count = lambda: int(sys.argv[1])
thread_pool.WAKING_SECONDS = -1.0
with oa.Heap(backend=sys.argv[2], references="64", layout="aos"):
    oa.new(Complex, 1000, id=np.arange(1000))
    oa.new(Simple, 1000, id=np.arange(1000))
    for _ in range(2):
        oa.all(Cell).divide()
    found = [(type(each).__name__, int(each.id), each._reference) for each in oa.all(Cell)]
first = min(reference for _, _, reference in found)
placed = [(name, number, reference - first) for name, number, reference in found]
print(len(placed), hashlib.sha256(repr(placed).encode()).hexdigest())
print(len(thread_pool._pool().thread_ids), file=sys.stderr)
"""


def test_the_same_places_on_any_number_of_processors(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_DIGEST)
    found = set()
    for processors, backend in ((1, "cpu"), (2, "cpu"), (16, "cpu"), (1, "python")):
        ended = forked.run([program, processors, backend], environment())
        assert ended.returncode == 0, ended.stderr
        found.add(ended.stdout)
        assert int(ended.stderr.split()[-1]) == processors - 1
    assert len(found) == 1


def test_a_launch_that_fails_keeps_what_was_done(heap: oa.Heap) -> None:
    @oa.kernel
    def fail(cells: oa.Array[Cell]) -> None:
        i = oa.grid(1)
        Simple(id=i)
        assert i < 3

    with pytest.raises(DeviceError, match="assert"):
        fail[4](oa.zeros(1, Cell))
    assert ids(Simple) == [0, 1, 2, 3]
    assert len(oa.new(Simple, 5)) == 5 and len(oa.all(Simple)) == 9


def test_who_was_born_and_ended_at_once_leaves_nothing_behind(heap: oa.Heap) -> None:
    @oa.kernel
    def pass_away(out: oa.Array[i32]) -> None:
        made = Simple(id=7, energy=3.0)
        made.marks[1] = 5
        out[oa.grid(1)] = 1 if oa.delete(made) else 0

    out = oa.zeros(5, i32)
    pass_away[5](out)
    assert out.numpy().tolist() == [1] * 5 and len(oa.all(Simple)) == 0
    for each in oa.new(Simple, 8):
        assert (each.id, each.energy, each.next, list(each.marks)) == (0, 0.0, None, [0, 0, 0])


# ---------------------------------------------------------------- in captured steps


@oa.kernel
def count_up(counts: oa.Array[i32]) -> None:
    counts[oa.grid(1)] += 1


def live_freely(turns: int, counts: oa.Array[i32]) -> None:
    for _ in range(turns):
        oa.all(Cell).divide()
        count_up[3](counts)
        make_in_rows[2, 3](counts)
        count_up[1](counts)


def test_each_run_takes_who_lives_then(heap: oa.Heap) -> None:
    found = []
    for captured in (False, True):
        oa.delete(oa.all(Cell))
        oa.new(Simple, 2, id=[1, 2], energy=64.0)
        oa.new(Complex, 1, id=7)
        counts = oa.zeros(3, i32)
        if captured:
            with oa.capture() as step:
                live_freely(1, counts)
            assert len(oa.all(Cell)) == 3
            step.run()
            step.run(2)
        else:
            live_freely(3, counts)
        found.append((sorted(ids(Simple)), sorted(ids(Complex)), counts.numpy().tolist()))
    assert found[0] == found[1]
    assert len(found[0][0]) > 16


def test_the_heap_of_a_captured_launch_without_arrays() -> None:
    @oa.kernel
    def alone() -> None:
        Simple(id=5)

    with oa.Heap(backend="cpu") as first:
        with oa.capture() as step:
            alone[3]()
        with oa.Heap(backend="cpu") as second:
            step.run(2)
        assert (len(first.all(Simple)), len(second.all(Simple))) == (6, 0)


def test_what_comes_to_make_objects_is_captured_again() -> None:
    class Cloud(oa.Object):
        drops: i32

        def rain(self) -> None:
            self.drops -= 1

    def burst(self: Cloud) -> None:
        oa.delete(self)

    with oa.Heap(backend="cpu"):
        clouds = oa.new(Cloud, 3, drops=9)
        with oa.capture() as step:
            clouds.rain()
        step.run(2)
        assert clouds.drops.numpy().tolist() == [7, 7, 7]
        Cloud.rain = burst  # type: ignore[method-assign]
        with pytest.raises(HeapError, match="has come to make or delete objects"):
            step.run()
        assert len(oa.all(Cloud)) == 3


# ---------------------------------------------------------------- refused


REFUSED = {
    "oa.new(Cell)": "Cell is abstract: divide has no body",
    "oa.new(Simple, 3)": "oa.new makes one object in a kernel",
    "Simple(3)": "fields are given by name",
    "Simple(size=3)": "Simple has no field size",
    "Simple(marks=3)": "Simple.marks is an inline array",
    "oa.new(f32)": "oa.new needs a shared class",
    "oa.delete(i)": "oa.delete takes an object, not",
    "oa.delete(cells)": "oa.delete takes an object, not",
    "oa.is_alive()": "oa.is_alive takes one object",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str, tmp_path: Path) -> None:
    text = f"@oa.kernel\ndef kernel(cells: oa.Array[Cell]):\n    i = oa.grid(1)\n    {call}\n"
    module = load_module(tmp_path, text, Cell=Cell, Simple=Simple)
    with oa.Heap(backend="cpu"), pytest.raises(CompileError) as caught:
        module.kernel[1](oa.zeros(1, Cell))
    assert REFUSED[call] in str(caught.value)


def test_one_object_in_cpython_too() -> None:
    with oa.Heap(backend="python"):
        cells = oa.zeros(1, Cell)

        @oa.kernel
        def many(cells: oa.Array[Cell]) -> None:
            oa.new(Simple, 3)

        with pytest.raises(DeviceError, match="makes one object in a kernel"):
            many[1](cells)


def test_room_that_cannot_be() -> None:
    with oa.Heap(backend="cpu", capacity=1 << 20):
        with pytest.raises(HeapError, match="no room for 1,000,000 more objects of Simple"):
            oa.reserve(Simple, 1_000_000)
        with pytest.raises(ArgumentError, match="the number of Simple objects"):
            oa.reserve(Simple, -1)
