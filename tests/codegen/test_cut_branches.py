"""Loops in branches: threads of a warp that do not take a branch help with its shared loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import sharedoa as oa
from sharedoa import f64, i32, i64, u32
from tests.codegen.loop_sharing import (
    GPU,
    ROUNDS,
    Lists,
    check,
    check_any,
    check_scattered,
    lists,
    rounds,
)
from tests.differential.effort import examples

few = settings(max_examples=examples(12))


class Branch(oa.Object):
    begin: i32
    end: i32
    kind: i32
    total: i64
    other: i64
    real: f64

    def run(self, values: oa.Array[i32]) -> None: ...


class One(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        """What is before and after the loop is for threads that take the branch alone."""
        total, count, kind = i64(5), u32(1), self.kind
        if kind != 0:
            factor = kind * 3
            self.other -= factor
            for e in range(self.begin, self.end):
                total += values[e] * factor
            self.other += total
            count = u32(factor)
        self.total = total + count


class Both(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        total, best = self.total, -(2**31)
        if self.kind == 1:
            offset, scale = self.kind + 7, self.real * 2
            for e in range(self.begin, self.end):
                total += values[e] - offset
                best = max(best, values[e])
            scale += f64(total)
            for e in range(self.begin - 2, self.end):
                total ^= i64(f64(values[e]) * scale)
            self.real = scale
        elif self.kind == 2:
            for e in range(self.end - self.begin):
                total += e
            self.other = total
        else:
            limit = self.begin + self.kind
            for e in range(limit, self.end):
                if values[e] < limit:
                    best = max(best, e)
        self.total, self.other = total + best, self.other + 1


class Nested(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        """A warp whose threads differ in the outer branch runs the inner loop alone."""
        total = i64(1)
        if self.begin > 2:
            total += 3
            if self.kind & 1:
                base = self.kind + 100
                for e in range(self.begin, self.end):
                    total += values[e] + base
            total *= 3
        if self.kind >= 0:
            if self.kind > 1:
                self.other = total
                for e in range(self.begin, self.end):
                    total -= values[e]
            else:
                self.other = -total
        self.total = total


class Early(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        """Threads that return before the loop, in its branch or after it."""
        if self.kind == 3 and self.begin % 8 == 0:
            self.total = -3
            return
        total = i64(0)
        if self.kind > 0:
            if self.kind == 2 and self.begin % 8 == 1:
                self.total = -2
                return
            for e in range(self.begin, self.end):
                total += values[e]
            if total & 1:
                self.total = total
                return
            self.other = 9
        self.total = total - 4


class Repeated(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        """All threads go around equally often; some leave a pass before its loop."""
        step, total = 0, i64(2)
        while step < 3:
            step += 1
            if step == self.kind and self.begin == 39:
                continue
            if step != self.kind:
                found = 0
                for e in range(self.begin, self.end):
                    if values[e] & 1:
                        continue
                    found |= values[e] >> step
                total = total * 5 + found
        self.total = total


class AssignedAfter(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        """What a helper's iterations leave in ``x`` reaches none who skips the branch, though who
        takes it assigns to ``x`` after the loop."""
        x, total = 1, i64(0)
        if self.kind > 1:
            for e in range(self.begin, self.end):
                x = values[e] * 3
                total += x
            x = 5
        self.total, self.other = total, i64(x)


class AssignedInElse(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        x, y, total = 1, 2, i64(0)
        if self.kind > 1:
            x = 7
        else:
            for e in range(self.begin, self.end):
                x = values[e] * 3
                y = x + 1
                total += y
            x = 5
        self.other = i64(x)
        if self.kind > 2:
            for e in range(self.begin, self.end):
                y = values[e] * 5
                total += y
            y = 6
        else:
            self.other += y
        self.total = total


class LoopInElse(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        """Who takes the branch has assigned to ``x`` before helping."""
        x, total = 1, i64(0)
        if self.kind > 1:
            x = 7
        else:
            for e in range(self.begin, self.end):
                x = values[e] * 3
                total += x
            x = 5
        self.total, self.other = total, i64(x)


class LeftByBreak(Branch):
    def run(self, values: oa.Array[i32]) -> None:
        """Who leaves by ``break`` does not come to the ``else`` of a loop."""
        x, total, step = 1, i64(0), 0
        while step < 2:
            step += 1
            for e in range(self.begin, self.end):
                x = values[e] * 3
                total += x
            if self.kind == step:
                break
        else:
            x = 5
        self.total, self.other = total, i64(x)


def kernel_of(cls: Any) -> Any:
    @oa.kernel
    def run(all: oa.Array[cls], values: oa.Array[i32]):
        all[oa.grid(1)].run(values)

    return run


KERNELS = {cls: kernel_of(cls) for cls in (One, Both, Nested, Early, Repeated)}
ALONE = {cls: kernel_of(cls) for cls in (AssignedAfter, AssignedInElse, LoopInElse, LeftByBreak)}
"""Nobody may share their loops: a variable that they leave is read."""


def _run(cls: type[Branch], given: Lists, kinds: Any) -> list[Any]:
    reals = given.numbers(-99, 99, given.count) / 4
    all = oa.new(
        cls, given.count, begin=given.begin, end=given.end, kind=kinds.tolist(), real=reals,
        total=given.numbers(-(2**60), 2**60, given.count), other=17,
    )  # fmt: skip
    values = oa.array(i32, given.numbers(-(2**20), 2**20).tolist())
    {**KERNELS, **ALONE}[cls][given.count](all, values)
    return [getattr(all, name).numpy().tolist() for name in ("total", "other", "real")]


@pytest.mark.parametrize(
    "cls",
    [pytest.param(cls, marks=[pytest.mark.slow] * (cls in (One, Repeated))) for cls in KERNELS],
    ids=lambda cls: cls.__name__,
)
def test_threads_that_take_different_branches(cls: type[Branch]) -> None:
    shared = 0

    @given(given=lists())
    @few
    def examine(given: Lists) -> None:
        nonlocal shared
        kinds = given.numbers(0, 4, given.count)
        check_any(lambda: _run(cls, given, kinds))
        shared += GPU.collectives[ROUNDS]
        check_scattered(lambda: _run(cls, given, kinds), given.seed)

    examine()
    # Of most warps some thread returns early, which others do not wait for.
    assert shared > 0 or cls is Early


@given(given=lists())
@few
def test_those_that_skip_the_loop_help(given: Lists) -> None:
    """They have no iterations."""
    kinds = given.numbers(0, 3, given.count)
    kinds[given.end - given.begin > 3] = 1
    taken = [n if kind else 0 for n, kind in zip(given.lengths, kinds, strict=True)]
    check(lambda: _run(One, given, kinds), rounds(taken))


@given(given=lists())
@few
def test_nobody_waits_for_those_that_have_returned(given: Lists) -> None:
    kinds = given.numbers(1, 2, given.count)
    check(lambda: _run(Early, given, kinds), rounds(given.lengths))
    kinds[given.begin % 8 == 0] = 3
    check_any(lambda: _run(Early, given, kinds))


@pytest.mark.parametrize("cls", list(ALONE), ids=lambda cls: cls.__name__)
def test_what_helpers_leave_is_read_by_nobody(cls: type[Branch]) -> None:
    lengths = np.array([60, 2, 0, 50] + [1, 0] * 14)
    begin = np.arange(32) % 30 + 3
    for seed in range(2):
        given = Lists(begin.astype(np.int32), (begin + lengths).astype(np.int32), 110, seed)
        kinds = given.numbers(0, 4, given.count)
        kinds[[0, 3]] = 3 * (seed % 2)
        check_any(lambda: _run(cls, given, kinds))  # noqa: B023
