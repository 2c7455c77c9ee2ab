"""Annotated local variables convert what is assigned to them, in CPython as in compiled code."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, u8

from ..codegen.interpreted import InterpretedGpu

SCALE = 3


class Shape(oa.Object):
    size: f32

    def grown(self, by: f64) -> f64:
        more: f32 = by  # rounded
        self.size += more
        return more * f64(1.0)


class Circle(Shape):
    def grown(self, by: f64) -> f64:
        less: f32 = 0.1
        return super().grown(by) - less


@oa.value
class Pair:
    a: f32

    def half(self) -> f64:
        half: f32 = 0.1
        return half * f64(self.a)


@oa.func
def third(x: f64, k: i32 = 2) -> f64:
    third: f32
    if x > 0:
        third = x / 3
    else:
        third = 0
    return third * f64(k)


def made(scale: f64) -> Any:
    """A function with a closure."""

    @oa.func
    def scaled(x: f64) -> f64:
        y: f32 = x * scale
        return f64(1) * y * SCALE

    return scaled


SCALED = made(0.7)


@oa.kernel
def run(out: oa.Array[f64], shapes: oa.Array[Shape], x: f64, n: i32):
    a: f32 = 0.1
    out[0] = a * f64(1)
    a = 0.2
    out[1] = a * f64(1)
    a += x
    out[2] = a * f64(1)
    b, a = x, x
    out[3] = a * f64(1) + b
    w: f32
    if (w := x * 2) > 0:
        out[4] = w * f64(1)
    k: f32
    for k in range(3):
        out[5] += k * f64(0.1) + (k / 3) * f64(1)
    c: f32
    match n:
        case c:
            out[6] = (c / 3) * f64(1)
    small: u8 = 200
    out[7] = small + small
    plain: float = x / 3
    count: int = n
    out[8] = plain * count
    shape: Shape | None = None
    shape = shapes[0]
    out[9] = shape.grown(x) + shapes[1].grown(x)
    out[10] = third(x) + third(-x, k=3) + SCALED(x) + Pair(3).half()
    text: f32 = x
    many: list[f32] = [text] * 3
    other: list[f32] = many
    other[1] = 2 * text  # of both
    out[11] = many[0] * f64(1) + many[1]


def results(backend: Any) -> np.ndarray[Any, Any]:
    with oa.Heap(backend=backend, capacity="16MiB"):
        shapes = oa.array(Shape, [oa.new(Circle, size=0.1), oa.new(Shape, size=0.3)])
        out = oa.zeros(14, f64)
        run[1](out, shapes, 1 / 7, 5)
        out[12], out[13] = shapes[0].size, shapes[1].grown(0.1) + third(0.1, k=5) + SCALED(0.7)
        return np.array(out.numpy())


def test_results_are_equal() -> None:
    expected = results("python")
    assert expected[0] == np.float32(0.1) and expected[1] == np.float32(0.2)
    assert expected[7] == 400 - 256 and expected[8] == 1 / 7 / 3 * 5
    assert expected[4] == np.float32(2 / 7) and expected[11] == 3 * np.float64(np.float32(1 / 7))
    for backend in ("cpu", InterpretedGpu()):
        assert list(results(backend)) == list(expected)


@oa.func
def refused(x: f64) -> f64:
    y: i32 = x
    return f64(y)


@oa.kernel
def refuses(out: oa.Array[f64]):
    out[0] = refused(0.5)


def test_what_does_not_convert_is_refused_where_it_stands() -> None:
    message = "y takes i32, and f64 does not convert to it by itself"
    with oa.Heap(backend="cpu"), pytest.raises(oa.CompileError, match=message):
        refuses[1](oa.zeros(1, f64))
    with pytest.raises(oa.ArgumentError, match=message) as caught:
        refused(0.5)
    lines = [each for each in traceback.extract_tb(caught.tb) if each.filename == __file__]
    assert (lines[-1].name, lines[-1].line) == ("refused", "y: i32 = x")
