"""Threads of a warp that share the iterations of their loops compute what each alone would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from tests.codegen.loop_sharing import (
    WARP,
    Lists,
    check,
    check_scattered,
    lists,
    rounds,
)
from tests.differential.effort import examples

few = settings(max_examples=examples(12))


class Totals(oa.Object):
    """Results of a loop in variables of every type that can be reduced."""

    begin: i32
    end: i32
    a: i32
    b: u32
    c: i64
    d: u64

    def add(self, values: oa.Array[i64]) -> None:
        a, b, c, d = self.a, self.b, self.c, self.d
        for e in range(self.begin, self.end):
            value = values[e]
            a += i32(value)
            b = u32(value) + b
            c += value
            d += u64(value)
        self.a, self.b, self.c, self.d = a, b, c, d

    def least(self, values: oa.Array[i64]) -> None:
        a, b, c, d = self.a, self.b, self.c, self.d
        for e in range(self.begin, self.end):
            value = values[e]
            a = min(a, i32(value))
            b = min(u32(value), b)
            c = min(c, value)
            d = min(d, u64(value))
        self.a, self.b, self.c, self.d = a, b, c, d

    def greatest(self, values: oa.Array[i64]) -> None:
        a, b, c, d = self.a, self.b, self.c, self.d
        for e in range(self.begin, self.end):
            value = values[e]
            a = max(a, i32(value))
            b = max(u32(value), b)
            c = max(c, value)
            d = max(d, u64(value))
        self.a, self.b, self.c, self.d = a, b, c, d

    def bits(self, values: oa.Array[i64]) -> None:
        a, b, c, d = self.a, self.b, self.c, self.d
        for e in range(self.begin, self.end):
            value = values[e]
            a &= i32(value) | 0x70
            b |= u32(value) & 0x10101
            c ^= value
            d &= u64(value) | 0xFF0FF
        self.a, self.b, self.c, self.d = a, b, c, d


@oa.kernel
def add(all: oa.Array[Totals], values: oa.Array[i64]):
    all[oa.grid(1)].add(values)


@oa.kernel
def least(all: oa.Array[Totals], values: oa.Array[i64]):
    all[oa.grid(1)].least(values)


@oa.kernel
def greatest(all: oa.Array[Totals], values: oa.Array[i64]):
    all[oa.grid(1)].greatest(values)


@oa.kernel
def bits(all: oa.Array[Totals], values: oa.Array[i64]):
    all[oa.grid(1)].bits(values)


def _reduce(kernel: Any, given: Lists) -> list[Any]:
    start = given.numbers(0, 2**31, given.count)
    all = oa.new(
        Totals, given.count, begin=given.begin, end=given.end,
        a=(start - 2**30).astype(np.int32), b=(start + 2**30).astype(np.uint32),
        c=(start - 2**30) << 32, d=((start + 2**30) << 32).astype(np.uint64),
    )  # fmt: skip
    kernel[given.count](all, oa.array(i64, given.numbers(-(2**63), 2**63 - 1)))
    return [getattr(all, name).numpy().tolist() for name in "abcd"]


@pytest.mark.parametrize(
    "kernel",
    [add, least, *(pytest.param(each, marks=pytest.mark.slow) for each in (greatest, bits))],
    ids=lambda kernel: kernel.name,
)
@given(given=lists())
@few
def test_reductions(kernel: Any, given: Lists) -> None:
    check(lambda: _reduce(kernel, given), rounds(given.lengths))


@pytest.mark.parametrize("kernel", [greatest, bits], ids=lambda kernel: kernel.name)
def test_reductions_of_one_warp(kernel: Any) -> None:
    """Those that random lists find slowly: most threads have nothing in most rounds."""
    lengths = np.array([0, 1, -1, 2] * 7 + [40, 0, 3, 60], np.int32)
    given = Lists(np.full(WARP, 5, np.int32), lengths + 5, 70, 1)
    check(lambda: _reduce(kernel, given), rounds(given.lengths))


@given(given=lists(), seed=st.integers(0, 1000))
@few
def test_threads_that_are_not_together_run_loops_alone(given: Lists, seed: int) -> None:
    check_scattered(lambda: _reduce(add, given), seed)


# ---------------------------------------------------------------------- ranges


@oa.kernel
def count_far(begin: oa.Array[i64], end: oa.Array[i64], out: oa.Array[i64]):
    i = oa.grid(1)
    total, last = i64(0), i64(-(2**62))
    for e in range(begin[i], end[i]):
        total += e * e
        last = max(last, e)
    out[2 * i] = total
    out[2 * i + 1] = last


@given(given=lists(), offset=st.sampled_from((0, -30, 2**40, -(2**40), 2**31 - 40)))
@few
def test_ranges_of_64_bits(given: Lists, offset: int) -> None:
    def run() -> list[Any]:
        out = oa.zeros(2 * given.count, i64)
        begin = offset + given.begin.astype(np.int64)
        end = begin + given.end - given.begin
        count_far[given.count](oa.array(i64, begin), oa.array(i64, end), out)
        return out.numpy().tolist()

    check(run, rounds(given.lengths))


@oa.kernel
def last_of_few_bits(begin: oa.Array[i32], end: oa.Array[i32], out: oa.Array[i64]):
    i = oa.grid(1)
    last = end[i]  # an int, as e is
    for e in range(begin[i], end[i]):
        last = max(last, 2 * e)
    out[i] = last


@given(given=lists())
@few
def test_the_greater_one_of_a_narrow_number_and_an_int(given: Lists) -> None:
    def run() -> list[Any]:
        out = oa.zeros(given.count, i64)
        last_of_few_bits[given.count](oa.array(i32, given.begin), oa.array(i32, given.end), out)
        return out.numpy().tolist()

    check(run, rounds(given.lengths))


@oa.kernel
def count_from_constant(count: oa.Array[i32], first: oa.Array[i32], out: oa.Array[i64]):
    i = oa.grid(1)
    total = i64(1000)
    for e in range(count[i]):
        total += e + 1
    for e in range(-3, count[i]):
        total ^= e * 5
    for e in range(first[i], first[i] + count[i]):
        total += e
    out[i] = total


@given(given=lists())
@few
def test_ranges_that_begin_with_constants_or_sums(given: Lists) -> None:
    def run() -> list[Any]:
        count, first = oa.array(i32, given.end - given.begin), oa.array(i32, given.begin - 20)
        out = oa.zeros(given.count, i64)
        count_from_constant[given.count](count, first, out)
        return out.numpy().tolist()

    check(run)


# ---------------------------------------------------------------------- bodies


@oa.kernel
def pick(begin: oa.Array[i32], end: oa.Array[i32], values: oa.Array[i32], out: oa.Array[i64]):
    i = oa.grid(1)
    total, chosen = i64(7), 0
    for e in range(begin[i], end[i]):
        value = values[e]
        if value < i:
            continue
        chosen += 1
        inner = i64(0)
        for k in range(value & 3):
            for m in range(k, 4):
                if m == value:
                    continue
                if m > i + 1:
                    break
                inner += m * value
        left = value
        while left > i:
            left //= 2
            if left == 9:
                break
        else:
            inner += 1
        if left & 1:
            total += inner - left
    out[2 * i] = total
    out[2 * i + 1] = chosen


@given(given=lists())
@few
def test_conditions_continue_and_loops_inside(given: Lists) -> None:
    def run() -> list[Any]:
        begin, end = oa.array(i32, given.begin), oa.array(i32, given.end)
        out = oa.zeros(2 * given.count, i64)
        pick[given.count](begin, end, oa.array(i32, given.numbers(0, 200).tolist()), out)
        return out.numpy().tolist()

    check(run, rounds(given.lengths, together=1))


@oa.value
class Small:
    a: i8
    b: f64
    c: bool


@oa.value
class Pair:
    small: Small
    d: u16


class Source(oa.Object):
    """Fields of every type that a loop takes with it."""

    begin: i32
    end: i32
    i8_: i8
    u8_: u8
    i16_: i16
    u16_: u16
    flag: bool
    f32_: f32
    f64_: f64
    u64_: u64
    pair: Pair
    numbers: oa.Array[f32]
    others: oa.Array[Source]
    next: Source
    total: i64
    flags: i32

    def gather(self, factor: i32) -> None:
        small, byte, short, word = self.i8_, self.u8_, self.i16_, self.u16_
        flag, single, double, wide = self.flag, self.f32_, self.f64_, self.u64_
        pair, numbers, others, next = self.pair, self.numbers, self.others, self.next
        both = (small, numbers)
        total, flags = i64(factor), 0
        for e in range(self.begin, self.end):
            part = i64(small) + 3 * byte - short + word * 5
            part += i64(single * numbers[e] + f32(len(numbers)))
            part ^= i64(double * e) + i64(wide >> 3)
            part += i64(pair.small.b * pair.small.a) + pair.d + both[0]
            part -= others[e % len(others)].i16_ + i64(both[1][-1])
            if next is not None and pair.small.c != flag:
                part += next.u16_ * factor
            total += part
            flags |= i32(1) << (e & 31) if flag or others[e & 1] is None else i32(0)
        self.total, self.flags = total, flags


@oa.kernel
def gather(all: oa.Array[Source], factor: i32):
    all[oa.grid(1)].gather(factor)


def _gather(given: Lists) -> list[Any]:
    n = given.count
    some = given.numbers(-(2**62), 2**62, n)
    reals = some / 2**57
    pairs = [Pair(Small(int(v % 100) - 50, float(v % 7) / 4, bool(v & 1)), int(v % 999))
             for v in some.tolist()]  # fmt: skip
    all = oa.new(
        Source, n, begin=given.begin, end=given.end, i8_=(some % 256 - 128).tolist(),
        u8_=(some % 255).tolist(), i16_=(some % 65536 - 32768).tolist(),
        u16_=(some % 65535).tolist(), flag=(some & 2) == 0, f32_=reals.astype(np.float32),
        f64_=reals * 1.1, u64_=(some + 2**62).tolist(), pair=pairs,
    )  # fmt: skip
    numbers = [oa.array(f32, np.roll(np.arange(given.size), k) / 8) for k in range(3)]
    friends = [oa.array(Source, [all[(k + m) % n] for m in range(2 + k)]) for k in range(3)]
    for place, each in enumerate(all):
        each.numbers, each.others = numbers[place % 3], friends[place % 2]
        each.next = None if place % 5 == 0 else all[place * 7 % n]
    gather[n](all, 11)
    return [all.total.numpy().tolist(), all.flags.numpy().tolist()]


@given(given=lists())
@few
def test_values_of_all_types_are_those_of_the_loops_own_thread(given: Lists) -> None:
    check(lambda: _gather(given), rounds(given.lengths, together=1))


@oa.kernel
def follow(begin: oa.Array[i32], end: oa.Array[i32], values: oa.Array[i64], out: oa.Array[i64]):
    i = oa.grid(1)
    doubled, total, highest = i64(1), i64(0), i64(0)
    for e in range(begin[i], end[i]):
        doubled += values[e] ^ doubled
    for e in range(begin[i], end[i]):
        total += values[e]
        highest = max(highest, total)
    out[2 * i] = doubled
    out[2 * i + 1] = highest


@given(given=lists())
@few
def test_iterations_that_rest_on_those_before_are_not_shared(given: Lists) -> None:
    def run() -> list[Any]:
        lists = oa.array(i32, given.begin), oa.array(i32, given.end)
        out = oa.zeros(2 * given.count, i64)
        follow[given.count](*lists, oa.array(i64, given.numbers(-(2**40), 2**40)), out)
        return out.numpy().tolist()

    check(run, 0)
