"""A history played in a heap, compared with what plain Python made of it."""

from __future__ import annotations

from collections.abc import Callable, Set
from pathlib import Path

import sharedoa as oa

from ...source_files import load_module
from ..programs import numbered
from . import operations as op
from .histories import make_history
from .shared_world import SharedWorld
from .source import Program, make_program

LENGTH = 12


class Difference(AssertionError):
    """What sharedoa left is not what plain Python left."""


def made(seed: int, features: Set[str]) -> tuple[Program, list[op.Step]]:
    """The program of that seed and its history."""
    program = make_program(seed, features)
    return program, make_history(program, seed, features, LENGTH)


def play(
    program: Program, steps: list[op.Step], folder: Path, heap: Callable[[int], oa.Heap]
) -> None:
    """Raises Difference with the program and what happened before."""
    module = load_module(folder, program.text)
    world = SharedWorld(program, module, folder, heap)
    for number, step in enumerate(steps):
        results = world.do(step.operation)
        if results == step.results and step.after is None:
            continue
        found = world.observe()
        if results != step.results or found != step.after:
            raise Difference(_report(program, steps[: number + 1], results, found))


def _report(
    program: Program, steps: list[op.Step], results: list[object] | None, found: op.Observation
) -> str:
    last = steps[-1]
    after = last.after or ({}, {})
    lines = ["sharedoa and plain Python disagree"]
    if results != last.results:
        lines.append(f"results {results}\n  expected {last.results}")
    for number, (_, fields) in after[0].items():
        for name, value in fields.items():
            got = found[0][number][1][name]
            if got != value:
                lines.append(f"object {number}, {name}: {got}, expected {value}")
    for array, elements in after[1].items():
        if found[1][array] != elements:
            lines.append(f"{array}: {found[1][array]}\n  expected {elements}")
    quiet = (op.SetReference, op.New)
    history = [f"  {s.operation}" for s in steps if not isinstance(s.operation, quiet)]
    return "\n".join([*lines[:9], *history[-25:], numbered(program.text)])
