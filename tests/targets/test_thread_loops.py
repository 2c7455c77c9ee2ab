"""Threads of the host that end at their first test: passed over a group at a time, and none of the
others is lost."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, i64
from sharedoa.targets.thread_loops import GROUP, STRETCH

SIZES = (1, GROUP - 1, GROUP, GROUP + 1, STRETCH, STRETCH + GROUP + 1, 1000, 70_001)


class Parcel(oa.Object):
    weight: i32
    seen: i32


class Place(oa.Object):
    parcel: Parcel | None
    own: Parcel
    number: i32


@oa.kernel
def place_parcels(places: oa.Array[Place], chosen: oa.Array[bool]) -> None:
    place = places[oa.grid(1)]
    place.parcel = place.own if chosen[place.number] else None


@oa.kernel
def visit(places: oa.Array[Place]) -> None:
    parcel = places[oa.grid(1)].parcel
    if parcel is not None and parcel.weight > 2:
        for k in range(parcel.weight):
            parcel.seen = parcel.seen * 3 + k


@oa.kernel
def fill(places: oa.Array[Place]) -> None:
    place = places[oa.grid(1)]
    if place.parcel is None:
        place.own.seen += 1
        place.own.weight = 7 * place.number
        place.parcel = place.own


@oa.kernel
def count_up(values: oa.Array[f32], marks: oa.Array[i32], columns: i32) -> None:
    x, y = oa.grid(2)
    if values[y * columns + x] > 0.5:
        for k in range(x % 4 + 1):
            marks[y * columns + x] = marks[y * columns + x] * 2 + k


@oa.kernel
def scale(values: oa.Array[i64]) -> None:
    i = oa.grid(1)
    if values[i] > 3:
        values[i] = values[i] * 5


@oa.kernel
def carry(values: oa.Array[i32], length: i32) -> None:
    base = oa.grid(1) * length
    for k in range(length - 1):
        if values[base + k] != 0:
            values[base + k + 1] += values[base + k] % 1000


def choices(size: int) -> list[Any]:
    """Which threads go on: none, all, one at either end, few, half of them."""
    random = np.random.default_rng(size)
    first, last = np.zeros((2, size), bool)
    first[0] = last[-1] = True
    few, half = random.random(size) < 0.01, random.random(size) < 0.5
    return [np.zeros(size, bool), np.ones(size, bool), first, last, few, half]


def passes_over(kernel: Any) -> bool:
    return "idle.group" in kernel.asm["opt.ll"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_who_goes_on_does_and_nobody_else(layout: str, size: int):
    with oa.Heap(mode="auto", layout=layout) as heap:
        weights = np.arange(size) % 9
        parcels = heap.new(Parcel, size, weight=weights)
        places = heap.new(Place, size, own=parcels, number=np.arange(size))
        expected = np.zeros(size, np.int64)
        for chosen in choices(size):
            place_parcels[size](places, heap.array(bool, chosen))
            visit[size](places)
            for k in range(9):
                expected = np.where(
                    chosen & (weights > 2) & (weights > k), expected * 3 + k, expected
                )
            np.testing.assert_array_equal(parcels.seen.numpy(), expected.astype(np.int32))
            expected = expected.astype(np.int32).astype(np.int64)
        assert passes_over(visit)


def test_neighbouring_records_are_a_constant_apart():
    with oa.Heap(mode="auto", layout="aos") as heap:
        places = heap.new(Place, 100, own=heap.new(Parcel, 100))
        visit[100](places)
        # An offset of 32 bits would wrap for each thread on its own.
        assert not re.search(r"= and i64 .*, 42949672\d\d$", visit.asm["opt.ll"], re.MULTILINE)


def test_the_test_may_also_be_one_for_nothing():
    size = 5000
    with oa.Heap(mode="auto") as heap:
        for chosen in choices(size):
            parcels = heap.new(Parcel, size)
            places = heap.new(Place, size, own=parcels, number=np.arange(size))
            place_parcels[size](places, heap.array(bool, chosen))
            fill[size](places)
            np.testing.assert_array_equal(parcels.seen.numpy(), ~chosen)
            fill[size](places)  # all are full
            np.testing.assert_array_equal(parcels.seen.numpy(), ~chosen)
        assert passes_over(fill)


@pytest.mark.parametrize("columns, rows", [(1, 500), (GROUP, 7), (61, 83), (700, 3)])
def test_rows_begin_and_end_anywhere(columns: int, rows: int):
    with oa.Heap(mode="auto") as heap:
        expected = np.zeros(columns * rows, np.int32)
        marks = heap.array(i32, expected)
        x = np.arange(columns * rows) % columns
        for chosen in choices(columns * rows):
            count_up[columns, rows](heap.array(f32, chosen), marks, columns)
            for k in range(4):
                expected = np.where(chosen & (k < x % 4 + 1), expected * 2 + k, expected)
            np.testing.assert_array_equal(marks.numpy(), expected)
        assert passes_over(count_up)


def test_vector_code_stays_vector_code():
    with oa.Heap(mode="auto") as heap:
        values = heap.array(i64, np.arange(1000) % 7)
        scale[1000](values)
        plain = np.arange(1000) % 7
        np.testing.assert_array_equal(values.numpy(), np.where(plain > 3, plain * 5, plain))
        assert not passes_over(scale)


def test_loops_of_a_thread_keep_their_order():
    with oa.Heap(mode="auto") as heap:
        values = np.zeros((50, 40), np.int32)
        values[:, 3] = np.arange(50)
        array = heap.array(i32, values.reshape(-1))
        carry[50](array, 40)
        expected = np.where(np.arange(40) < 3, 0, np.arange(50)[:, None])
        np.testing.assert_array_equal(array.numpy().reshape(50, 40), expected)
        assert not passes_over(carry)
