"""How many bytes launches are said to move, against what can be counted by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.sampling import Traffic, traffic

N = 1 << 16


class Thing(oa.Object, layout="aos"):
    x: f32
    y: f32
    z: f32
    w: f32
    next: Thing

    def value(self) -> f32:
        return self.x


class Wide(Thing):
    a: oa.inline[f32, 12]

    def value(self) -> f32:
        return self.x + self.a[11]


@oa.kernel
def copy(a: oa.Array[f32], b: oa.Array[f32]) -> None:
    b[oa.grid(1)] = a[oa.grid(1)]


@oa.kernel
def gather(a: oa.Array[f32], where: oa.Array[i32], b: oa.Array[f32]) -> None:
    b[oa.grid(1)] = a[where[oa.grid(1)]]


@oa.kernel
def same(a: oa.Array[f32], b: oa.Array[f32], rounds: i32) -> None:
    total = f32(0.0)
    for _ in range(rounds):
        total = total + a[0]
    b[oa.grid(1)] = total


@oa.kernel
def strided(a: oa.Array[f32], rounds: i32) -> None:
    total = f32(0.0)
    for k in range(rounds):
        total = total + a[k * N + oa.grid(1)]
    a[oa.grid(1)] = total


@oa.kernel
def half(a: oa.Array[f32]) -> None:
    if oa.grid(1) < N // 2:
        a[oa.grid(1)] = 1.0


@oa.kernel
def values(things: oa.Array[Thing], out: oa.Array[f32]) -> None:
    out[oa.grid(1)] = things[oa.grid(1)].value()


@oa.kernel
def births(out: oa.Array[f32]) -> None:
    oa.new(Thing, x=1.0)
    out[oa.grid(1)] = 1.0


@oa.kernel
def computed(a: oa.Array[f32], k: i32) -> None:
    i = oa.grid(1)
    a[oa.atomic_add(a, i32(0), f32(1.0)) > 0.0] = f32(1.0)


@pytest.fixture(scope="module")
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(backend="cpu", capacity="256MiB", references=64) as made:
        yield made


def of(heap: oa.Heap, kernel: Any, *arguments: Any, piece: int = 64, threads: int = N) -> Traffic:
    program = kernel.program.uses().program
    with heap.lock:
        return traffic(program, heap, (threads, 1), arguments, piece)


@pytest.mark.parametrize("piece", [32, 64])
def test_arrays(heap: oa.Heap, piece: int) -> None:
    a, b = oa.zeros(N, f32), oa.zeros(N, f32)
    assert of(heap, copy, a, b, piece=piece) == (8.0, pytest.approx(4, abs=3), True)
    assert of(heap, half, a, piece=piece).bytes == pytest.approx(2.0, rel=0.05)
    rng = np.random.default_rng(1)
    where = oa.array(i32, rng.permutation(N))
    found = of(heap, gather, a, where, b, piece=piece).bytes
    assert found == pytest.approx(8 + piece, rel=0.05)
    # Next to each other again, in another order.
    where = oa.array(i32, np.arange(N)[::-1].copy())
    assert of(heap, gather, a, where, b, piece=piece).bytes == pytest.approx(12.0, rel=0.05)


def test_loops(heap: oa.Heap) -> None:
    a, b = oa.zeros(N, f32), oa.zeros(N * 64, f32)
    few, many = (of(heap, same, a, a, rounds) for rounds in (10, 1000))
    assert few.bytes == many.bytes == pytest.approx(4 + 64 / 32, rel=0.01)
    assert many.operations > 90 * few.operations
    assert of(heap, strided, b, 64).bytes == pytest.approx(64 * 4 + 4, rel=0.02)
    assert of(heap, strided, b, 0).bytes == 4.0


def test_fields_of_records_bring_their_neighbours(heap: oa.Heap) -> None:
    things = oa.new(Thing, N)
    size = 16 + 8  # four floats and a reference
    out = oa.zeros(N, f32)
    found = of(heap, values, things, out).bytes
    assert found == pytest.approx(size + 4, rel=0.05)
    wide = oa.new(Wide, N)
    both = oa.zeros(N, Thing)
    both[: N // 2], both[N // 2 :] = things[: N // 2], wide[: N // 2]
    # References, too; of the larger records the lines of their first and last field.
    of_wide = of(heap, values, wide, out).bytes
    assert of_wide > 2 * found
    mixed = of(heap, values, both, out).bytes
    assert mixed == pytest.approx((found + of_wide) / 2 + 8, rel=0.05)


def test_what_is_not_known_is_said(heap: oa.Heap) -> None:
    out = oa.zeros(N, f32)
    assert not of(heap, computed, out, 3).is_whole
    born = of(heap, births, out)
    assert not born.is_whole and born.bytes == 4.0 and born.operations > 16
