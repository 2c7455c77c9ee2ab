"""Threads that are asked whether they do anything: those that say no would have done nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir.pipeline import PIPELINE

from .kernels import BEGIN, CLASSES, Cell, Odd, kernel_of, outcome
from .programs import job, program_of, run_all

ASKED = {
    "a branch": "if d.f > 1:\n  d.g = c",
    "one for nothing": "if d.f > 1:\n  pass\nelse:\n  d.g = c",
    "parts of a test": "if d.f > 1 and e.f > c:\n  d.g += 1",
    "one of two": "if d.f > 1 or e.f > c:\n  pass\nelse:\n  d.g += 1",
    "a return": "if d.f != c:\n  return\nfor k in range(n):\n  d.g += e.f",
    "a method": "d.lower(c)",
    "what is returned": "if d.get() > 2:\n  e.put(d.f)",
    "what comes after": "if e.f > 1:\n  d.g = c\nx = i32(0)\nif x > 1:\n  d.f = 1",
    "the same twice": "if d.get() > 2:\n  d.f = c\nif d.get() > 2:\n  d.g = c",
    "nested": "if d.f > 1:\n  if e.f > 1:\n    e.g = c",
}
NOT_ASKED = {
    "both ways": "if d.f > 1:\n  d.g = c\nelse:\n  d.g = 1",
    "before": "d.g = 1\nif d.f > 1:\n  d.f = c",
    "after": "if d.f > 1:\n  d.g = c\nout[t] = 1",
    "a method of another object": "if d.get() > 2:\n  d.f = c\nif e.get() > 2:\n  e.g = c",
    "the number of the thread": "if t > 1:\n  d.g = c",
    "a loop": "while d.f > 1:\n  d.f -= 1",
    "an atomic": 'if oa.atomic_add(d, "f", 1) > 1:\n  d.g = c',
    "much": "if d.f + e.f + d.g > 1:\n  d.g = c",
    "neighbouring elements alone": "if n > 1:\n  out[t] = c",
}


@pytest.mark.parametrize("name", [*ASKED, *NOT_ASKED])
def test_who_is_asked(tmp_path: Path, name: str) -> None:
    body = ASKED.get(name) or NOT_ASKED[name]
    begin = [line for line in BEGIN.splitlines() if line.split()[0] in ("t", "n", "d", "e")]
    program = program_of(kernel_of(tmp_path, "\n".join([*begin, body])))
    populated = {cls.__sharedoa__.type_index for cls in CLASSES[:1]}
    known = job(populated=populated)
    expected = [outcome(program, seed, 0, [Cell])[0] for seed in range(12)]
    run_all(program, known, [each for each in PIPELINE if each.applies(known)])
    kinds = [function.kind for function in program.functions.values()]
    assert kinds.count("question") == (2 if name in ASKED else 0)
    assert [outcome(program, seed, 1, [Cell])[0] for seed in range(12)] == expected


@oa.kernel
def mark(cells: oa.Array[Cell], out: oa.Array[i32]) -> None:
    t = oa.grid(1)
    d = cells[t]
    if d.f > 1:
        if isinstance(d, Odd):
            out[t] += 1
            d.f = 0


def test_who_asks_what_an_object_is() -> None:
    """Of which classes that may be is part of what tells the question from others."""
    with oa.Heap(backend="cpu", capacity="64MiB"):
        cells = oa.concat(oa.new(Cell, 4, f=range(4)), oa.new(Odd, 4, f=range(4)))
        out = oa.zeros(8, i32)
        mark[8](cells, out)
        assert out.numpy().tolist() == [0] * 6 + [1, 1]
