"""Loops over the objects of an array that run four rounds at once: which do, and that they mean the
same with any number of objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir.core import operations_in
from sharedoa.ir.passes.several_rounds import take_several_rounds
from sharedoa.ir.verify import verify
from tests.codegen.interpreted import InterpretedGpu

from .programs import job, program_from


class Shape(oa.Object):
    size: i32
    near: oa.Array[Shape]

    def meets(self, x: i32) -> i32: ...

    def grow(self, x: i32) -> i32: ...


class Round(Shape):
    def meets(self, x: i32) -> i32:
        return self.size - x if self.size > x else i32(0)

    def grow(self, x: i32) -> i32:
        self.size += 1
        return x


class Flat(Shape):
    def meets(self, x: i32) -> i32:
        return self.size % (x + 3)

    def grow(self, x: i32) -> i32:
        return x


@oa.func
def first_above(shapes: oa.Array[Shape], x: i32) -> i32:
    for k in range(len(shapes)):
        if shapes[k].meets(x) > 2:
            return i32(k)
    return i32(-1)


TAKEN = {
    "a sum": "for k in range(len(shapes)):\n  s += shapes[k].meets(x)",
    "over the objects": "for shape in shapes:\n  s = shape.meets(s)",
    "the least, and whose": (
        "best = i32(99)\nfor k in range(len(shapes)):\n  d = shapes[k].meets(x)\n"
        "  if d > 0 and d < best:\n    best = d\n    s = shapes[k].size + i32(k)"
    ),
    "what is left by return": "s = first_above(shapes, x)",
    "an end of its own": (
        "for k in range(len(shapes)):\n  s += shapes[k].meets(x) * i32(k)\nelse:\n  s += 7"
    ),
    "within another loop": (
        "for j in range(3):\n  for k in range(len(shapes)):\n    s = shapes[k].meets(s + j)"
    ),
}
LEFT = {
    "left by break": "for k in range(len(shapes)):\n  if shapes[k].meets(x) > 2: break\n  s += 1",
    "rounds that end early": (
        "for k in range(len(shapes)):\n  if shapes[k].meets(x) > 2: continue\n  s += 1"
    ),
    "stores": "for k in range(len(shapes)):\n  s += shapes[k].grow(x)",
    "a store beside it": "for k in range(len(shapes)):\n  out[t] = shapes[k].meets(x)",
    "a part": "for k in range(x):\n  s += shapes[k].meets(x)",
    "every other one": "for k in range(0, len(shapes), 2):\n  s += shapes[k].meets(x)",
    "from the second on": "for k in range(1, len(shapes)):\n  s += shapes[k].meets(x)",
    "others": "for k in range(len(shapes)):\n  s += shapes[(k + 1) % 3].meets(x)",
    "a list of one's own": (
        "near = shapes[x].near\nfor k in range(len(near)):\n  s += near[k].meets(x)"
    ),
    "no call": "for k in range(len(shapes)):\n  if shapes[k].size > x:\n    s += 1",
    "a loop in it": (
        "for k in range(len(shapes)):\n  for j in range(x):\n    s += shapes[k].meets(j)"
    ),
}
LINES = "t = oa.grid(1)\nx = i32(t)\ns = i32(1)\n{}\nout[t] = s"
_NAMES = {"oa": oa, "i32": i32, "Shape": Shape, "first_above": first_above}


def _program(folder: Path, name: str) -> ir.Program:
    body = LINES.format(TAKEN.get(name) or LEFT[name])
    return program_from(folder, "shapes: oa.Array[Shape], out: oa.Array[i32]", body, **_NAMES)


@pytest.mark.parametrize("name", [*TAKEN, *LEFT])
def test_which_loops(tmp_path: Path, name: str) -> None:
    program = _program(tmp_path, name)

    def loops() -> int:
        return sum(operation.kind == "for" for operation in operations_in(program))

    before = loops()
    take_several_rounds(program, job(device=True, shares_loops=True))
    verify(program)
    assert loops() == before + (name in TAKEN)
    assert len(program.remarks) == (name in TAKEN)


@oa.kernel
def ask(shapes: oa.Array[Shape], out: oa.Array[i32]) -> None:
    t = oa.grid(1)
    s = i32(0)
    best = i32(99)
    for k in range(len(shapes)):
        d = shapes[k].meets(i32(t))
        s = s * 3 + d
        if d > 0 and d < best:
            best = d
            s += i32(k)
    for shape in shapes:
        s = s * 5 + shape.meets(s & 7)
    else:
        s += 1
    out[t] = s * 100 + first_above(shapes, i32(t))


def test_any_number_of_objects() -> None:
    """On a device as on a processor, which runs one round after another."""
    found = []
    for backend in (InterpretedGpu(), "cpu"):
        with oa.Heap(backend=backend, capacity="64MiB") as heap:
            rounds, flats = heap.new(Round, 11), heap.new(Flat, 11)
            rounds.size, flats.size = np.arange(11) * 3 % 7, np.arange(11) * 5 % 9
            mixed = [each for pair in zip(rounds, flats, strict=True) for each in pair]
            out = heap.zeros(40, i32)
            for count in (22, 0, 1, 2, 3, 4, 5, 7, 8, 9):
                ask[40](heap.array(Shape, mixed[:count]), out)
                found.append(out.numpy().copy())
            remarks = ask.program.binding.unit.compilation.program.remarks
            taken = [each.location.line for each in remarks if "four rounds" in each.text]
            assert len(taken) == (3 if backend != "cpu" else 0)
    for one, other in zip(found[:10], found[10:], strict=True):
        np.testing.assert_array_equal(one, other)
