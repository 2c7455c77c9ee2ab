"""Divisions of f32 for NVIDIA's GPUs, several with one branch: code is moved, results stay."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32
from sharedoa.targets.block_divisions import divide_in_groups
from sharedoa.targets.nvptx import NvptxTarget
from sharedoa.targets.optimise import parse
from sharedoa.targets.ptxas import assemble
from tests.codegen.interpreted import InterpretedGpu

Array = np.ndarray[Any, Any]

#: Usual operands, and such as are divided in the other way.
OPERANDS = np.array(
    [1.5, -3.0, 0.0, -0.0, 1e-40, -1e-30, 7.25, 1e38, 3e20, np.inf, 0.1, 1e-44, 1e9, -1e-38],
    np.float32,
)


@oa.kernel
def several(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    x, y = a[i], a[i + 1]
    total = x / y + y / f32(3.0)
    out[i] = total / (x / f32(7.0)) + f32(1.0) / y


@oa.kernel
def stored_between(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    out[i] = a[i] / a[i + 1]
    out[i] = a[i + 1] / a[i] + out[i] * f32(0.5)


@oa.kernel
def picked(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    """The quotient says which number is read."""
    i = oa.grid(1)
    place = i32(min(abs(a[i] / a[i + 1]), f32(1000.0))) % len(a)
    out[i] = a[place] / f32(5.0) + f32(2.0) / f32(place + 3)


@oa.kernel
def in_branches(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    if a[i] > f32(1.0):
        out[i] = f32(2.0) / a[i]
        if a[i + 1] < f32(1.0):
            out[i] += a[i + 1] / a[i]
    else:
        out[i] = a[i + 1] / (a[i] + f32(3.0))


@oa.kernel
def summed(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    """Rounds of a loop: as many as the thread's number."""
    i = oa.grid(1)
    total, last = f32(0.0), f32(1.0)
    for k in range(i):
        total += a[k] / a[i]
        last = last / f32(1.25)
    out[i] = total * last


@oa.kernel
def attracted(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    """As bodies are: sums of quotients that do not need each other."""
    i = oa.grid(1)
    x, y = f32(0.0), f32(0.0)
    for k in range(len(a)):
        dx, dy = a[k] - a[i], f32(k - i)
        square = dx * dx + dy * dy + f32(0.5)
        pull = a[k] / (square * f32(math.sqrt(square)))
        x += dx * pull
        y += dy * pull
    out[i] = x + y


KERNELS = [several, stored_between, picked, in_branches, summed, attracted]


def results(kernel: oa.Kernel, backend: Any) -> Array:
    with oa.Heap("auto", backend):
        values, out = oa.array(f32, OPERANDS), oa.zeros(len(OPERANDS) - 1, f32)
        kernel[len(out)](values, out)
        return np.array(out.numpy())


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_results_stay(kernel: oa.Kernel) -> None:
    found, expected = results(kernel, InterpretedGpu()), results(kernel, "cpu")
    real = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), ~real)
    np.testing.assert_array_equal(found[real].view(np.uint32), expected[real].view(np.uint32))


@oa.kernel
def read_then_stored(a: oa.Array[f32], memory: oa.Array[f32], out: oa.Array[f32]) -> None:
    """A quotient says which number is read, before that number changes."""
    i = oa.grid(1)
    place = i + 1 if a[i] / a[i + 1] == f32(12345.0) else i
    before = memory[place]
    memory[i] = f32(9.0)
    out[i] = a[i + 1] / f32(3.0) + before


def test_reads_stay_before_stores() -> None:
    with oa.Heap("auto", InterpretedGpu()):
        a, memory, out = oa.array(f32, OPERANDS), oa.zeros(9, f32), oa.zeros(9, f32)
        read_then_stored[9](a, memory, out)
        np.testing.assert_array_equal(out.numpy(), OPERANDS[1:10] / np.float32(3.0))
        assert memory.numpy().tolist() == [9.0] * 9


def ptx_of(kernel: oa.Kernel, fast: bool = False) -> str:
    with oa.Heap("auto", "cpu", fastmath=fast) as heap:
        program = kernel.program
        ptx = program.compilation(heap, heap.mode, False, NvptxTarget()).products["ptx"]
    assert isinstance(ptx, str)
    return ptx


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_nothing_is_called(kernel: oa.Kernel) -> None:
    ptx = ptx_of(kernel)
    assert "div.rn" not in ptx and "call" not in ptx
    report = assemble(ptx, "sm_90")
    assert (report.stack, report.spill_stores) == (0, 0)


@oa.kernel
def side_by_side(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    x, y, z = a[i], a[i + 1], a[i + 2]
    out[i] = (x / y + y / z) * (z / x)


@oa.kernel
def one_after_another(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    out[i] = a[i] / (a[i + 1] / (a[i + 2] / a[i + 3]))


@oa.kernel
def by_one_divisor(a: oa.Array[f32], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    out[i] = a[i] / a[i + 2] * (a[i + 1] / a[i + 2])


@pytest.mark.parametrize(
    ("kernel", "inverses", "branches"),
    [(side_by_side, 3, 1), (one_after_another, 3, 3), (by_one_divisor, 1, 1)],
    ids=lambda each: getattr(each, "name", None),
)
def test_one_branch_for_a_group(kernel: oa.Kernel, inverses: int, branches: int) -> None:
    ptx = ptx_of(kernel)
    assert ptx.count("rcp.approx.ftz.f32") == ptx.count("rcp.approx.ftz.f64") == inverses
    # One of them is that of threads beyond the end of the launch.
    assert len(re.findall(r"@!?%p\d+ bra", ptx)) == 1 + branches


def test_rounds_of_a_loop_are_a_group() -> None:
    ptx = ptx_of(attracted)
    loops = re.split(r"^\$L", ptx, flags=re.MULTILINE)
    assert max(loop.count("rcp.approx.ftz.f32") for loop in loops) == 8


@oa.kernel
def others(a: oa.Array[f32], b: oa.Array[f64], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    out[i] = a[i] / f32(8.0)
    b[i] = b[i] / b[i + 1]


def test_other_divisions_are_left_alone() -> None:
    ptx = ptx_of(others)
    assert "rcp.approx" not in ptx and ptx.count("div.rn.f64") == 1
    fast = ptx_of(several, fast=True)
    assert "div.approx" in fast and "rcp.approx.ftz.f64" not in fast


def test_a_function_alone_is_printed_with_other_numbers_of_attributes() -> None:
    target = NvptxTarget()
    text = """
target triple = "nvptx64-nvidia-cuda"
declare float @other(float)
define float @first(float %x) {
  %y = call float @other(float %x) #0
  ret float %y
}
define float @second(float %x, float %y) {
  %quotient = fdiv float %x, %y
  %z = call float @other(float %quotient) #1
  ret float %z
}
attributes #0 = { nounwind }
attributes #1 = { cold }
"""
    module = parse(text)
    alone = str(module.get_function("second"))
    assert "#1" in str(module) and "#1" not in alone
    assert "fdiv float" not in str(divide_in_groups(module, target.machine)).split("@second")[1]
