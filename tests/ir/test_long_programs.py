"""Passes take no longer for chains of values than for other programs, and nest no deeper."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharedoa.ir.core import operations_in

from .kernels import BEGIN, END, kernel_of
from .programs import job, program_of, run_all

LINES = 1100
"""More than Python nests calls."""

_LOOP = "for i in range(n): s += a[i + 3]"
_ADDED = ["x = x + 1"] * LINES
#: Who forgets where he was takes 2 ** 80 steps.
_DOUBLED = ["x = x + x"] * 80


def _round(*lines: str) -> str:
    return "\n    ".join(["for i in range(n):", *lines])


#: The lines, and whether the loop that threads share stands in a branch still.
_CHAINS = {
    "the test of a branch": ("\n".join(["x = c", *_ADDED, f"if x > 1:\n    {_LOOP}"]), True),
    "its values, used twice": ("\n".join(["x = c", *_DOUBLED, f"if x > 1:\n    {_LOOP}"]), True),
    "what threads differ in": ("\n".join([*_DOUBLED, f"if x > 1:\n    {_LOOP}"]), False),
    "what is stored": (_round("y = c", *["y = y + y"] * LINES, "e.f = y"), False),
    "what is carried": (_round(*["s += c"] * LINES), False),
    "what branches add to": (_round(*["if a[i + 3] > 1: s += c"] * 80), False),
    "what is added": (_round("y = i32(i)", *["y = y + y"] * 80, "s += y"), False),
}


@pytest.mark.parametrize("name", _CHAINS)
def test_chains_of_values(tmp_path: Path, name: str) -> None:
    body, stands_in_branch = _CHAINS[name]
    program = program_of(kernel_of(tmp_path, f"{BEGIN}{body}{END}x"))
    run_all(program, job(device=True, shares_loops=True))
    assert sum("shared" in operation.attributes for operation in operations_in(program)) == 1
    outside = [each for each in program.kernel.body.operations if "shared" in each.attributes]
    assert len(outside) == (not stands_in_branch)
