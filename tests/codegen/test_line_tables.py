"""Which lines of the source code comes from: machine code is the same without, and the bodies of
virtual calls are named wherever they are put."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from llvmlite import binding as llvm

import sharedoa as oa
from sharedoa import f32
from sharedoa.runtime import knobs
from sharedoa.targets.nvptx_lines import tells_lines
from sharedoa.targets.ptxas import assemble

from . import lines_of_functions

HERE = __file__


class Shape(oa.Object):
    drawn: oa.i32

    def area(self) -> f32:
        raise NotImplementedError


class Circle(Shape):
    radius: f32

    def area(self) -> f32:
        return self.radius * self.radius * f32(3.0)


class Square(Shape):
    side: f32

    def area(self) -> f32:
        if self.side > f32(2.0):
            return self.side / (self.side + f32(1))
        return lines_of_functions.square(self.side)


@oa.kernel
def measure(shapes: oa.Array[Shape], out: oa.Array[f32], rounds: oa.i32) -> None:
    i = oa.grid(1)
    total = f32(0)
    for _ in range(rounds):
        total += shapes[i].area() / (total + f32(1))
    out[i] = total


@pytest.fixture(scope="module", params=["auto", "coal", "concord"])
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    with oa.Heap(mode=request.param, backend="cpu", capacity="64MiB") as heap:
        circles = oa.new(Circle, 8, radius=2.0)
        shapes = oa.concat(circles, oa.new(Square, 8, side=np.arange(8.0)))
        measure[16](shapes, oa.zeros(16, f32), 3)
        yield heap


def products(lines: bool, target: str) -> dict[str, Any]:
    with knobs.scope(lines=lines, cache_dir="off"):
        return measure.compile(target).products


def code_of(data: bytes) -> list[tuple[bytes, bytes]]:
    """Sections with machine code, and what they hold."""
    sections = llvm.ObjectFileRef.from_data(data).sections()
    return [(s.name(), s.data()) for s in sections if (s.name() or b"").startswith(b".text")]


def line_of(text: str, of: Callable[..., Any]) -> int:
    lines, first = inspect.getsourcelines(of)
    return first + next(number for number, line in enumerate(lines) if text in line)


@pytest.fixture(scope="module")
def ptx(heap: oa.Heap) -> tuple[str, str]:
    """Without lines, and with them."""
    without, told = (products(lines, "nvptx")["ptx"] for lines in (False, True))
    return without, told


def test_machine_code_is_the_same(ptx: tuple[str, str]) -> None:
    assert [*map(tells_lines, ptx)] == [False, True]
    without, told = (code_of(assemble(text, "sm_90").cubin) for text in ptx)
    assert without == told


def test_code_for_processors_is_the_same(heap: oa.Heap) -> None:
    without, told = (products(lines, "host")["o"] for lines in (False, True))
    assert code_of(without) == code_of(told)
    sections = llvm.ObjectFileRef.from_data(told).sections()
    assert any(s.name() == b".debug_line" for s in sections)


def test_bodies_of_virtual_calls_are_named(ptx: tuple[str, str]) -> None:
    _, text = ptx
    files = {quoted: number for number, quoted in re.findall(r'\.file\t(\d+) "(.*)"', text)}
    assert {*files} == {HERE, lines_of_functions.__file__}
    told = {
        (int(line), name)
        for line, name in re.findall(
            rf"\.loc\t{files[HERE]} (\d+) \d+(?:, function_name (\S+),)?", text
        )
    }
    assert line_of("self.radius * self", Circle.area) in {line for line, _ in told}
    assert line_of("self.side / (", Square.area) in {line for line, _ in told}
    line = line_of("return", lines_of_functions.square)
    inside = re.findall(
        rf"\.loc\t{files[lines_of_functions.__file__]} {line} \d+, function_name (\S+), "
        rf"inlined_at {files[HERE]} {line_of('square(', Square.area)} ",
        text,
    )
    assert {name_of(label, text) for label in inside} == {"square"}


def name_of(label: str, text: str) -> str:
    found = re.search(rf"^{re.escape(label)}:\n\.b8 ([\d,]+),0$", text, re.MULTILINE)
    assert found is not None
    return bytes(map(int, found[1].split(","))).decode()
