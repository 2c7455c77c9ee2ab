"""Shared loops with calls in them, and in methods that are called."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings

import sharedoa as oa
from sharedoa import i32, i64
from tests.codegen.loop_sharing import (
    GPU,
    ROUNDS,
    WARP,
    Lists,
    check,
    check_scattered,
    lists,
    rounds,
)  # fmt: skip
from tests.differential.effort import examples

few = settings(max_examples=examples(6))


class Item(oa.Object):
    weight: i32

    def value(self, e: i32) -> i64:
        return i64(e) + self.weight

    def reach(self, items: oa.Array[Item], begin: i32, end: i32) -> i64:
        return -i64(end)


class Near(Item):
    def value(self, e: i32) -> i64:
        return i64(self.weight) * e

    def reach(self, items: oa.Array[Item], begin: i32, end: i32) -> i64:
        total = i64(0)
        for e in range(begin, end):
            total += items[e].value(e)
        return total


class Far(Near):
    other: i64

    def value(self, e: i32) -> i64:
        return self.other - super().value(e)


@oa.kernel
def visit(items: oa.Array[Item], begin: oa.Array[i32], end: oa.Array[i32], out: oa.Array[i64]):
    i = oa.grid(1)
    total = i64(0)
    for e in range(begin[i], end[i]):
        total += items[e].value(i)
    out[i] = total


@oa.kernel
def reach(items: oa.Array[Item], begin: oa.Array[i32], end: oa.Array[i32], out: oa.Array[i64]):
    i = oa.grid(1)
    out[i] = items[end[i] % 8].reach(items, begin[i], end[i])


def _call(kernel: Any, given: Lists, classes: tuple[type, ...]) -> list[Any]:
    made = [oa.new(classes[w % len(classes)], weight=w) for w in given.numbers(0, 9).tolist()]
    for item in made:
        if isinstance(item, Far):
            item.other = item.weight << 40
    items = oa.array(Item, made)
    out = oa.zeros(given.count, i64)
    kernel[given.count](items, oa.array(i32, given.begin), oa.array(i32, given.end), out)
    return out.numpy().tolist()


@given(given=lists())
@few
def test_virtual_calls_in_a_body(given: Lists) -> None:
    check(lambda: _call(visit, given, (Item, Near, Far)), rounds(given.lengths))


@given(given=lists())
@few
def test_loops_in_virtual_methods(given: Lists) -> None:
    """Threads come to the loop of a method as a warp only if all of them call that one."""
    check(lambda: _call(reach, given, (Near,)), rounds(given.lengths))
    check_scattered(lambda: _call(reach, given, (Item, Near, Far)), given.seed)


class Row(oa.Object):
    begin: i32
    end: i32
    base: i64

    def total(self, values: oa.Array[i64], sign: i32) -> i64:
        total = self.base
        for e in range(self.begin, self.end):
            total += values[e] * sign
        return total


@oa.kernel
def add_rows(
    rows: oa.Array[Row], begin: oa.Array[i32], end: oa.Array[i32], values: oa.Array[i64],
    out: oa.Array[i64],
):  # fmt: skip
    i = oa.grid(1)
    highest, together = i64(-(2**63)), i64(0)
    for e in range(begin[i], end[i]):
        total = rows[e].total(values, i - 16)
        highest = max(highest, total)
        together ^= total
    out[2 * i] = highest
    out[2 * i + 1] = together


@given(given=lists())
@few
def test_iterations_with_loops_that_are_shared_again(given: Lists) -> None:
    """A round in which every thread has an iteration comes to the loop inside as a whole warp."""

    def run() -> list[Any]:
        base = given.numbers(-(2**40), 2**40)
        begin = given.numbers(0, 40).astype(np.int32)
        length = np.where(np.arange(given.size) % 8 == 0, 70, begin % 4 - 1).astype(np.int32)
        rows = oa.new(Row, given.size, begin=begin, end=begin + length, base=base)
        out = oa.zeros(2 * given.count, i64)
        lists = oa.array(i32, given.begin), oa.array(i32, given.end)
        values = oa.array(i64, given.numbers(-(2**50), 2**50, 110))
        add_rows[given.count](rows, *lists, values, out)
        return out.numpy().tolist()

    check(run)
    if sum(given.lengths[:WARP]) >= 3 * WARP:
        assert GPU.collectives[ROUNDS] > rounds(given.lengths)
    check_scattered(run, given.seed)
