"""Which numbers LLVM may know: none that lets it compute a sine or a power itself."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.runtime.kernel import Kernel

VALUES = (3, 0.7, True)


class Cell(oa.Object):
    x: f32
    y: f32


@oa.func
def wave(x: f32) -> f32:
    return np.sin(x)


@oa.func
def first(n: i32, x: f32) -> f32:
    if n > 2:
        return 0.25
    return x


@oa.func
def settled(x: f32) -> f32:
    """Longer than functions that stand in the place of their calls."""
    for _ in range(5):
        x = x * f32(0.5) + f32(0.25)
        x = x * x + f32(0.125)
        x = x * f32(0.75) + x * x * f32(0.375)
        x = x * f32(0.25) + x * x * x
    return x


@oa.kernel
def apart(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    """No number comes near the function."""
    i = oa.grid(1)
    t = c[i].x
    for _ in range(n):
        t = t * f32(0.5) + f32(0.1)
    out[i] = wave(c[i].y) + t + (a if b else -a)


@oa.kernel
def sums(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    """What is unknown stays so in arithmetic of floats."""
    i = oa.grid(1)
    out[i] = np.sin(c[i].x * a + f32(1.0)) + f32(n) + f32(b)


@oa.kernel
def itself(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    out[oa.grid(1)] = wave(a * f32(2.0)) + f32(n) + f32(b)


@oa.kernel
def chosen(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    out[oa.grid(1)] = np.sin(f32(0.5) if b else f32(1.5)) + f32(n) * a


@oa.kernel
def branches(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    i = oa.grid(1)
    t = c[i].x
    if b:
        t = f32(0.5)
    out[i] = np.sin(t) + f32(n) * a


@oa.kernel
def rounds(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    total = f32(a)
    for k in range(n):
        total += np.sin(f32(k))
    out[oa.grid(1)] = total + f32(b)


@oa.kernel
def returned(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    i = oa.grid(1)
    out[i] = np.sin(first(n, c[i].x)) + a + f32(b)


@oa.kernel
def computed(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    """What a function returns follows from what it is given."""
    i = oa.grid(1)
    out[i] = np.sin(settled(a)) + settled(c[i].x) + f32(n) + f32(b)


@oa.kernel
def stored(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    i = oa.grid(1)
    c[i].x = a
    out[i] = np.sin(c[i].x) + f32(n) + f32(b)


@oa.kernel
def not_stored(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    i = oa.grid(1)
    c[i].x = f32(0.5)
    if not b:
        c[i].x = c[i].y
    out[i] = np.sin(c[i].x) + f32(n) + a


@oa.kernel
def compared(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    """Where the test holds x is known."""
    i = oa.grid(1)
    x = c[i].x
    if x == a:
        out[i] = np.sin(x) + f32(n) + f32(b)


@oa.kernel
def left(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    i = oa.grid(1)
    k = i32(i)
    if k != n:
        return
    out[i] = np.sin(f32(k)) + a + f32(b)


@oa.kernel
def waited(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    i = oa.grid(1)
    k = i32(i)
    while k < n:
        k += 1
    out[i] = np.sin(f32(k)) + a + f32(b)


@oa.kernel
def nothing_times(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    i = oa.grid(1)
    out[i] = np.sin(f32(i32(i) * (n - 3))) + a + f32(b)


@oa.kernel
def powers(c: oa.Array[Cell], out: oa.Array[f32], n: i32, a: f32, b: bool) -> None:
    i = oa.grid(1)
    out[i] = c[i].x ** a + f32(n) + f32(b)


CASES: list[tuple[Kernel, str]] = [
    (apart, "nab"), (sums, "nab"), (itself, "nb"), (chosen, "na"), (branches, "na"), (rounds, "ab"),
    (returned, "ab"), (computed, "nb"), (stored, "nb"), (not_stored, "na"), (compared, "nb"),
    (left, "ab"), (waited, "ab"), (nothing_times, "ab"), (powers, "nb"),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "known"), CASES, ids=lambda each: getattr(each, "name", each))
def test_what_is_known(kernel: Kernel, known: str) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        cells = heap.new(Cell, 8, x=[float(n) for n in range(8)], y=0.3)
        found: list[Any] = []
        for is_captured in (False, True):
            cells.x, out = [float(n) for n in range(8)], heap.zeros(8, f32)
            if is_captured:
                with oa.capture() as step:
                    kernel[8](cells, out, *VALUES)
                step.run()
            else:
                kernel[8](cells, out, *VALUES)
            found.append(out.numpy().tobytes() + cells.x.numpy().tobytes())
        assert found[0] == found[1]
        (variant,) = kernel.program.variants(heap, heap.mode, False)
        names = kernel.program.source.signature.names
        assert "".join(sorted(names[n] for n in variant.job.facts.constants)) == "".join(
            sorted(known)
        )
        usual = kernel.program.compilation(heap, heap.mode, False, heap.backend.target)
        calls = [_calls(str(each.products["opt.ll"])) for each in (usual, variant)]
        assert calls[1] or not calls[0], "LLVM knew the arguments"


def _calls(text: str) -> int:
    """How often functions of the library are called, in whatever form."""
    return len(re.findall(r"call \w+ @(?:llvm\.)?(?:sin|pow)\w*[.(]", text))
