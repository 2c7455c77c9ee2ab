"""Launches that become one: exactly where the rules allow it, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, u8, u32
from sharedoa.heap.arrays import make_array

from .fused import (
    KINDS,
    N,
    Node,
    Reaching,
    add,
    apart,
    bump,
    fused,
    nines,
    ones,
    push_all,
    ring,
    same,
    state,
    swap,
    vary_all,
)

# ------------------------------------------------------------------ what is one, and what is not


@pytest.mark.parametrize("length", [2, 5, 50])
def test_own_chains_are_one(length: int, launched: list[Any]) -> None:
    """F-1."""

    def run(nodes: Any) -> None:
        for number in range(length):
            if number % 2:
                oa.all(Node).move(0.5)
            else:
                oa.all(Node).push(0.25)

    same(run, 1, launched)


def test_kernels_over_an_array_are_one(launched: list[Any]) -> None:
    def run(nodes: Any) -> None:
        push_all[N](nodes, 0.5)
        bump[N](nodes)
        push_all[N](nodes, 0.25)

    same(run, 1, launched)


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        ("move", "pull", "Node.x is"),
        ("pull", "move", "Node.x is read through another object"),
        ("clear", "give", "Node.force is written"),
        ("give", "push", "Node.force is written through another object"),
        ("count", "read_hits", "Node.hits is added to"),
        ("lend", "push", "Node.force is added to"),
        ("lend_far", "lend_far", "Node.force is added to"),
        ("give_far", "give_far", "Node.force is written"),
        ("smooth", "use", "Node.x is read through another object"),
        ("set_angle", "turn", "computed of constants in Node.x"),
        ("compare", "turn", "computed of constants in Node.x"),
        ("turn", "compare", "computed of constants in Node.x"),
        ("tell", "move", "prints"),
        ("move", "tell", "prints"),
    ],
)
def test_what_others_see_is_not(
    first: str, second: str, field: str, launched: list[Any], capfd: Any
) -> None:
    """F-2, F-3."""
    explained = []

    def run(nodes: Any) -> None:
        getattr(oa.all(Node), first)(*([0.5] if first == "move" else []))
        arguments = {"move": [0.5], "push": [0.5]}.get(second, [])
        getattr(oa.all(Node), second)(*arguments)

    same(run, 2, launched)
    with fused():
        ring()
        with oa.capture() as step:
            run(None)
        explained.append(step.explain())
    assert field in explained[0]
    assert "fused.py:" in explained[0]


class Apart(oa.Object):
    x: f32

    def move(self, by: f32) -> None:
        self.x += by


def test_methods_of_two_classes_are_two(launched: list[Any]) -> None:
    """Neither touches what the other one does."""
    with fused():
        nodes, others = ring(), oa.new(Apart, 7)
        with oa.fuse():
            oa.all(Node).use()
            oa.all(Apart).move(2.0)
        assert len(launched) == 2
        assert list(others.x) == [2.0] * 7 and list(nodes.v) == list(nodes.x)


def test_integer_atomics_may_be_one(launched: list[Any]) -> None:
    def run(nodes: Any) -> None:
        oa.all(Node).count()
        oa.all(Node).count_twice()

    same(run, 1, launched)


def test_a_class_that_reaches_others_forbids_it(launched: list[Any]) -> None:
    """F-4: as long as it has objects."""
    with fused() as heap:
        made = [oa.new(kind, 5) for kind in [*KINDS, Reaching]]
        nodes = oa.concat(*made)
        _know(nodes)
        for _ in range(2):
            with oa.fuse():
                oa.all(Node).vary()
                oa.all(Node).push(1.0)
        assert len(launched) == 4
        oa.delete(made[-1])
        launched.clear()
        with oa.fuse() as block_:
            oa.all(Node).vary()
            oa.all(Node).push(1.0)
        assert len(launched) == 1, block_.explain()
        assert heap.backend.name == "cpu"


def _know(nodes: Any) -> None:
    nodes.x = 1.0


def test_a_class_that_comes_to_have_objects_is_seen(launched: list[Any]) -> None:
    with fused():
        oa.new(KINDS[0], 5)
        with oa.capture() as step:
            oa.all(Node).vary()
            oa.all(Node).push(1.0)
        step.run(2)
        assert "one with the launch before it" in step.explain()
        other = oa.new(Reaching, 2)
        other.next = oa.all(KINDS[0])[:2]
        step.run()
        assert "is written through another object" in step.explain()


def test_virtual_calls_in_kernels_have_the_classes_that_live(launched: list[Any]) -> None:
    with fused():
        nodes = oa.new(KINDS[0], 8)
        others = oa.new(Reaching, 1)
        for count in (2, 1):
            launched.clear()
            with oa.fuse() as block_:
                vary_all[8](nodes)
                bump[8](nodes)
            assert len(launched) == count, block_.explain()
            if count == 2:
                oa.delete(others)


# ------------------------------------------------------------------ adversarial traces (6.6)


@oa.kernel
def first_sets(a: oa.Array[f32]) -> None:
    if oa.grid(1) == 0:
        a[0] = f32(5)


@oa.kernel
def take_first(b: oa.Array[f32], a: oa.Array[f32]) -> None:
    b[oa.grid(1)] = a[0]


@oa.kernel
def take_half(b: oa.Array[f32], a: oa.Array[f32]) -> None:
    i = oa.grid(1)
    b[i] = a[i // 2]


@oa.kernel
def set_half(a: oa.Array[f32], b: oa.Array[f32], c: oa.Array[f32]) -> None:
    i = oa.grid(1)
    a[i // 2] = f32(9)
    c[i] = b[i]


@oa.kernel
def where_positive(a: oa.Array[f32], m: oa.Array[f32]) -> None:
    i = oa.grid(1)
    if m[i] > f32(0):
        a[i] = f32(2)


@oa.kernel
def copy(b: oa.Array[f32], a: oa.Array[f32]) -> None:
    i = oa.grid(1)
    b[i] = a[i]


@oa.kernel
def gather(b: oa.Array[f32], a: oa.Array[f32], index: oa.Array[i32]) -> None:
    i = oa.grid(1)
    b[i] = a[index[i]]


@oa.kernel
def set_by_float(a: oa.Array[f32]) -> None:
    a[i32(f32(oa.grid(1)))] = f32(6)


@oa.kernel
def set_by_u8(a: oa.Array[f32]) -> None:
    a[u8(oa.grid(1))] = f32(6)


@oa.kernel
def in_a_tile(a: oa.Array[f32]) -> None:
    own = oa.shared(f32, 1)
    own[0] = a[oa.grid(1)]
    a[oa.grid(1)] = own[0] * 0.0


_TRACES: dict[str, tuple[Callable[..., Any], int]] = {
    "a constant index": (lambda a, b, c, m, k: [first_sets[N](a), take_first[N](b, a)], 2),
    "own write, constant read": (lambda a, b, c, m, k: [ones[N](a), take_first[N](b, a)], 2),
    "a function that is not injective": (
        lambda a, b, c, m, k: [take_half[N](b, a), set_half[N](a, b, c)], 2,
    ),
    "a conditional write": (lambda a, b, c, m, k: [ones[N](a), where_positive[N](a, m)], 1),
    "write after read": (lambda a, b, c, m, k: [copy[N](b, a), nines[N](a)], 1),
    # Of which two threads may have the same, as far as is known.
    "an index that was a float": (lambda a, b, c, m, k: [set_by_float[N](a), copy[N](b, a)], 2),
    "an index of few bits": (lambda a, b, c, m, k: [set_by_u8[N](a), copy[N](b, a)], 2),
    "memory of a block": (lambda a, b, c, m, k: [in_a_tile[N](a), copy[N](b, a)], 2),
    "a gathered read": (lambda a, b, c, m, k: [ones[N](a), gather[N](b, a, k)], 2),
}  # fmt: skip


@pytest.mark.parametrize("name", _TRACES)
def test_adversarial_traces(name: str, launched: list[Any]) -> None:
    """F-5."""
    trace, count = _TRACES[name]
    found = []
    for within in (apart, oa.fuse):
        with fused():
            a, b, c, m = (oa.array(f32, np.arange(N) * k - 7) for k in (1, 2, 3, 1))
            index = oa.array(i32, np.arange(N)[::-1])
            launched.clear()
            with within():
                trace(a, b, c, m, index)
                read = a.numpy().copy()  # in the block
            found.append([read, *(each.numpy().copy() for each in (a, b, c))])
    assert len(launched) == count
    np.testing.assert_array_equal(found[0], found[1])


def test_a_host_write_after_a_read(launched: list[Any]) -> None:
    """F-6, both ways."""
    with fused():
        a, b = oa.array(f32, np.arange(N)), oa.zeros(N, f32)
        with oa.fuse():
            copy[N](b, a)
            a[:] = np.full(N, 100)
            add[N](a, b)
        np.testing.assert_array_equal(b.numpy(), np.arange(N))
        np.testing.assert_array_equal(a.numpy(), 50 + np.arange(N))
        nodes = ring()
        with oa.fuse():
            bump[N](nodes)
            nodes[3].v = 10.0
            bump[N](nodes)
            assert nodes[3].v == 11.0
            nodes.v = 0.0
            bump[N](nodes)
        assert nodes[3].v == 1.0


# ------------------------------------------------------------------ arrays that are others


def test_arrays_that_overlap_are_not_own(launched: list[Any]) -> None:
    with fused():
        a = oa.array(f32, np.arange(N))
        for first, second, count in (
            ((a[:20], a[:20]), (a[:20], a[:20]), 1),
            ((a[:20], a[20:]), (a[20:], a[20:]), 1),
            ((a[:20], a[:20]), (a[1:21], a[1:21]), 2),
        ):
            launched.clear()
            before = a.numpy().copy()
            with oa.fuse():
                add[20](*first)
                add[20](*second)
            assert len(launched) == count
            got = a.numpy().copy()
            a[:] = before
            add[20](*first)
            add[20](*second)
            np.testing.assert_array_equal(got, a.numpy())


@oa.kernel
def tell_columns(of: oa.Array[f32, 2], to: oa.Array[i32]) -> None:
    to[oa.grid(1)] = i32(of.shape[1])


def test_arrays_without_rows_are_not_the_same(launched: list[Any]) -> None:
    """They lie nowhere, all of them."""
    with fused():
        given = [(oa.zeros((0, columns), f32), oa.zeros(3, i32)) for columns in (5, 7)]
        with oa.fuse():
            for each in given:
                tell_columns[3](*each)
        assert len(launched) == 1
        assert [to.numpy().tolist() for _, to in given] == [[5] * 3, [7] * 3]


@oa.kernel
def raise_bits(to: oa.Array[u32]) -> None:
    i = oa.grid(1)
    to[i] = to[i] + u32(1 << 23)


def test_elements_of_another_type_are_not_own(launched: list[Any]) -> None:
    """As sorts take memory of floats: compilers would believe that it is other memory."""
    with fused() as heap:
        a, b = oa.array(f32, np.arange(N)), oa.zeros(N, f32)
        for array, count in ((a, 2), (b, 1)):
            launched.clear()
            bits = make_array(heap, u32, array._storage, array._address, N)
            with oa.fuse():
                add[N](a, a)
                raise_bits[N](bits)
            assert len(launched) == count
        np.testing.assert_array_equal(a.numpy()[1:], np.arange(1, N) * 4.5)  # 1.5 * 2 * 1.5


def test_arrays_with_an_object_twice_are_not_own(launched: list[Any]) -> None:
    with fused():
        nodes = ring()
        twice = oa.array(Node, [nodes[i // 2] for i in range(N)])
        with oa.fuse():
            push_all[N](twice, 1.0)
            bump[N](twice)
        assert len(launched) == 2
        launched.clear()
        with oa.fuse():
            push_all[20](nodes[:20], 1.0)
            bump[20](nodes[1:21])
        assert len(launched) == 2
        launched.clear()
        with oa.fuse():
            push_all[20](nodes[:20], 1.0)
            bump[20](nodes[20:])
        assert len(launched) == 1


def test_arrays_that_change_in_between_are_not_own(launched: list[Any]) -> None:
    found = []
    for within in (apart, oa.fuse):
        with fused():
            nodes, others = ring(), ring()
            same_ones = oa.array(Node, [others[0]] * N)
            launched.clear()
            with within():
                bump[N](nodes)
                swap[N](nodes, same_ones)  # what both change are elements and fields of their own
                push_all[1](nodes, 0.5)
                push_all[1](nodes, 0.5)  # on the same object, nobody knows which
            found.append(state(others))
    assert len(launched) == 3
    np.testing.assert_array_equal(found[0]["v"], found[1]["v"])


def test_arrays_that_the_host_changes_are_asked_again() -> None:
    with fused():
        nodes = ring()
        with oa.capture() as step:
            push_all[N](nodes, 1.0)
            bump[N](nodes)
        step.run()
        assert "one with the launch before it" in step.explain()
        nodes[1] = nodes[0]
        step.run()
        assert "one with the launch before it" not in step.explain()
