"""Shared memory of a block."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from tests.codegen.interpreted import InterpretedGpu

N = 8


@oa.value
class Pair:
    value: f32
    number: i32


class Node(oa.Object):
    number: i32


@oa.kernel
def blocks(a: oa.Array[f32], nodes: oa.Array[Node], out: oa.Array[f32], counts: oa.Array[i32]):
    tile = oa.shared(f32, N)
    count = oa.shared(i32, 1)
    pairs = oa.shared(Pair, N)
    seen = oa.shared(Node, N)
    i = oa.grid(1)
    t = i % N
    tile[t] = a[i]
    pairs[t] = Pair(a[i], i32(i))
    seen[t] = nodes[i]
    if t == 0:
        count[0] = 0
    oa.syncthreads()
    oa.atomic_add(count, 0, i32(a[i] > 5))
    total = sum(tile)
    oa.syncthreads()
    half = N // 2
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        oa.syncthreads()
        half = half // 2
    if t == 0:
        assert total == tile[0]
        out[i // N] = tile[0] + pairs[-1].value + pairs[3].number + len(tile)
        counts[i // N] = count[0] + seen[2].number


@pytest.mark.parametrize("backend", ["python", "cpu", "interpreted"])
@pytest.mark.parametrize("debug", [False, True])
def test_blocks_have_their_own(backend: Any, debug: bool) -> None:
    opened = InterpretedGpu() if backend == "interpreted" else backend
    with oa.Heap(backend=opened, capacity="64MiB", debug=debug) as heap:
        values = np.arange(32, dtype=np.float32)
        nodes = oa.new(Node, 32, number=np.arange(32, dtype=np.int32) * 100)
        out, counts = oa.zeros(4, f32), oa.zeros(4, i32)
        blocks[32, N](oa.array(f32, values), nodes, out, counts)
        heap.synchronize()
        rows = values.reshape(4, N)
        assert np.array_equal(out, rows.sum(1) + rows[:, -1] + rows[:, 3] + N)
        assert np.array_equal(counts, (rows > 5).sum(1) + rows[:, 2].astype(int) * 100)


@pytest.mark.parametrize("target", ["nvptx", "amdgpu"])
def test_it_is_memory_of_the_block(target: str) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        text = blocks.compile(target).products["opt.ll"]
    assert isinstance(text, str)
    assert (
        len(
            re.findall(
                r"= internal (?:unnamed_addr )?addrspace\(3\) global \[\d+ x i8\] undef", text
            )
        )
        == 4
    )
    assert "atomicrmw add ptr addrspace(3)" in text


def in_function() -> Any:
    @oa.func
    def helper() -> f32:
        tile = oa.shared(f32, 4)
        return tile[0]

    @oa.kernel
    def kernel(a: oa.Array[f32]) -> None:
        a[0] = helper()

    return kernel


def in_branch() -> Any:
    @oa.kernel
    def kernel(a: oa.Array[f32]) -> None:
        if a[0] > 0:
            tile = oa.shared(f32, 4)
            tile[0] = 1

    return kernel


def of_unknown_length() -> Any:
    @oa.kernel
    def kernel(a: oa.Array[f32]) -> None:
        tile = oa.shared(f32, len(a))

    return kernel


def as_value() -> Any:
    @oa.kernel
    def kernel(a: oa.Array[f32]) -> None:
        a[0] = oa.shared(f32, 4)[0]

    return kernel


def of_arrays() -> Any:
    @oa.kernel
    def kernel(a: oa.Array[f32]) -> None:
        tile = oa.shared(oa.Array[f32], 4)

    return kernel


def assigned_again() -> Any:
    @oa.kernel
    def kernel(a: oa.Array[f32]) -> None:
        tile = oa.shared(f32, 4)
        tile = a[0]

    return kernel


def too_large() -> Any:
    @oa.kernel
    def kernel(a: oa.Array[f32]) -> None:
        one = oa.shared(f32, 8192)
        two = oa.shared(f32, 8192)
        a[0] = one[0] + two[0]

    return kernel


def outside() -> Any:
    @oa.kernel
    def kernel(a: oa.Array[f32]) -> None:
        tile = oa.shared(f32, 4)
        a[0] = tile[4]

    return kernel


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (in_function, r"oa\.shared is only known in kernels"),
        (in_branch, "made by a statement of the kernel itself"),
        (of_unknown_length, "the number of elements is no positive constant"),
        (as_value, r"oa\.shared is used as a value"),
        (of_arrays, "elements of shared memory are scalars"),
        (assigned_again, "tile is shared memory"),
        (too_large, "is 65536 bytes, and blocks have 49152"),
        (outside, "index 4 is outside of"),
    ],
)
def test_mistakes(make: Any, message: str) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        with pytest.raises(oa.CompileError, match=message):
            make()[1](oa.zeros(4, f32))


def test_debug_mode_checks_indices() -> None:
    @oa.kernel
    def kernel(a: oa.Array[i32]) -> None:
        tile = oa.shared(i32, 4)
        tile[a[oa.grid(1)]] = 1

    with oa.Heap(backend="cpu", capacity="64MiB", debug=True) as heap:
        kernel[2](oa.array(i32, [3, 4]))
        with pytest.raises(oa.DeviceError, match="index 4 is out of bounds"):
            heap.synchronize()
    with pytest.raises(oa.DeviceError, match="called outside a kernel"):
        oa.shared(f32, 4)
