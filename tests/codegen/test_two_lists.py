"""Shared loops along one list after another, whose rounds ask the object of their thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32
from tests.codegen.loop_sharing import GPU, Lists, check, check_scattered, lists

few = settings(max_examples=3)
_SIZE = 256


class Edge(oa.Object):
    value: i32


class Owner(oa.Object):
    """``bound``: how many of ``rounds`` are along the first list, which may be any number."""

    ones: oa.Array[Edge]
    others: oa.Array[Edge]
    bound: i32
    rounds: i32
    label: i32
    next: Owner

    def count(self) -> i32:
        return i32(len(self.ones) + len(self.others))

    def edge(self, k: i32) -> Edge:
        many = i32(len(self.ones))
        if k < many:
            return self.ones[k]
        return self.others[k - many]

    def least(self) -> None:
        label = self.label
        for k in range(self.count()):
            label = min(label, self.edge(k).value)
        self.label = label

    def lower(self) -> None:
        bound = self.bound
        for k in range(self.count()):
            edge = self.edge(k)
            if edge.value > bound:
                edge.value = bound

    def total(self) -> None:
        total = 0
        for k in range(len(self.ones) + len(self.others)):
            if len(self.ones) <= k:
                total += self.others[k - len(self.ones)].value * k
            else:
                total += 3 * self.ones[k].value
        self.label = i32(total)

    def longer(self) -> None:
        """What is stored to is another one in each round."""
        total = i32(0)
        for k in range(self.count()):
            total += self.edge(k).value
        self.ones = self.others
        self.label = total

    def far(self) -> None:
        """The next one is asked in no other place, and is nobody where there are no rounds."""
        total = i32(0)
        next = self.next
        for k in range(self.rounds):
            total += next.edge(k).value
        self.label = total


@oa.func
def pick(ones: oa.Array[i32], others: oa.Array[i32], bound: i32, k: i32) -> i32:
    return ones[k] if k < bound else others[k - bound]


@oa.kernel
def anywhere(owners: oa.Array[Owner], ones: oa.Array[i32], others: oa.Array[i32]) -> None:
    owner = owners[oa.grid(1)]
    bound, total = owner.bound, i32(0)
    for k in range(owner.rounds):
        total += pick(ones, others, bound, k) * (i32(k) - 7)
    owner.label = total


@oa.kernel
def behind_first(owners: oa.Array[Owner], ones: oa.Array[i32], others: oa.Array[i32]) -> None:
    owner = owners[oa.grid(1)]
    bound, total = owner.bound, i32(0)
    for k in range(1, owner.rounds):
        total += pick(ones, others, bound, k)
    owner.label = total


@oa.kernel
def least(owners: oa.Array[Owner]) -> None:
    owners[oa.grid(1)].least()


@oa.kernel
def lower(owners: oa.Array[Owner]) -> None:
    owners[oa.grid(1)].lower()


@oa.kernel
def total(owners: oa.Array[Owner]) -> None:
    owners[oa.grid(1)].total()


@oa.kernel
def longer(owners: oa.Array[Owner]) -> None:
    owners[oa.grid(1)].longer()


@oa.kernel
def far(owners: oa.Array[Owner]) -> None:
    owners[oa.grid(1)].far()


def _owners(given: Lists) -> tuple[Any, Any]:
    """Owners, half of whose edges are in the first list, and all edges."""
    lengths = np.array(given.lengths)
    first, values = lengths // 2, given.numbers(0, 90, lengths.sum()).astype(np.int32)
    split = int(first.sum())
    ones = oa.new(Edge, split, value=values[:split])
    others = oa.new(Edge, len(values) - split, value=values[split:])
    order = np.random.default_rng(given.seed).permutation(len(others))
    owners = oa.new(
        Owner, given.count, ones=oa.split(ones, first),
        others=oa.split(others[order], lengths - first),
        bound=given.numbers(-3, 40, given.count), rounds=lengths, label=1000,
    )  # fmt: skip
    return owners, (ones, others)


def _run(kernel: Any, given: Lists) -> list[Any]:
    owners, edges = _owners(given)
    kernel[given.count](owners)
    return [owners.label.numpy().tolist(), *(each.value.numpy().tolist() for each in edges)]


def _run_far(given: Lists) -> list[Any]:
    owners, _ = _owners(given)
    asked = [each if length else None for each, length in zip(owners, given.lengths, strict=True)]
    owners.next = oa.array(Owner, asked)
    far[given.count](owners)
    return [owners.label.numpy().tolist()]


def _run_anywhere(given: Lists, kernel: Any = anywhere) -> list[Any]:
    owners, _ = _owners(given)
    numbers = [oa.array(i32, given.numbers(-9, 9, _SIZE) + each) for each in (0, 100)]
    kernel[given.count](owners, *numbers)
    return [owners.label.numpy().tolist()]


@pytest.mark.parametrize("kernel", [least, lower, total, longer], ids=lambda kernel: kernel.name)
@given(given=lists())
@few
def test_each_round_takes_the_edge_that_it_is_about(kernel: Any, given: Lists) -> None:
    check(lambda: _run(kernel, given))


@given(given=lists())
@few
def test_bounds_may_be_anything(given: Lists) -> None:
    check(lambda: _run_anywhere(given))


@given(given=lists())
@few
def test_nobody_is_asked_where_there_are_no_rounds(given: Lists) -> None:
    check(lambda: _run_far(given))


@given(given=lists(), seed=st.integers(0, 1000))
@few
def test_threads_that_are_not_together_run_them_alone(given: Lists, seed: int) -> None:
    check_scattered(lambda: _run(least, given), seed)


def test_what_becomes_of_loops() -> None:
    given = Lists(np.zeros(40, np.int32), np.full(40, 2, np.int32), 90, 1)
    with oa.Heap(backend=GPU, capacity="16MiB", initial_region=256):
        for kernel in (least, lower, total, longer):
            _run(kernel, given)
        _run_far(given)
        for kernel in (anywhere, behind_first):
            _run_anywhere(given, kernel)
        split, ones, others = (
            "along one list after another: threads share a loop for each",
            "which threads share: Owner.ones",
            "which threads share: Owner.others",
        )
        for kernel, expected in (
            (least, [split, ones, others]),
            (lower, [split, ones, others]),
            (total, [split, ones]),
            (longer, []),
            (far, []),
            (anywhere, [split]),
            (behind_first, []),
        ):
            lines = kernel.explain().splitlines()
            found = [line for line in lines if "list after" in line or "which threads" in line]
            assert len(found) == len(expected)
            assert all(map(str.endswith, found, expected))
