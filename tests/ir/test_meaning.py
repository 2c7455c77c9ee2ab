"""Programs mean the same after each pass, and after all of them: run by the interpreter, random
ones leave the same behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedoa import ir
from sharedoa.ir.core import operations_in
from sharedoa.ir.pipeline import PIPELINE

from ..differential.effort import EXAMPLES
from ..differential.populations import make_history
from ..differential.programs import Size, make_program, numbered
from ..differential.running import PlainWorld, load, observe
from .copies import Copies
from .interpreted import InterpretedWorld
from .kernels import Lines, kernel_of, outcome
from .programs import job, program_of, run_all

ORDERS = 3
seeds = st.integers(0, 2**32 - 1)
sizes = st.builds(Size, st.integers(0, 6), st.integers(1, 4), st.integers(1, 6))
_JOB = job(device=True, shares_loops=True)


def after_each_pass(program: ir.Program, check: Callable[[str], None]) -> None:
    """Run all passes, and ``check`` the program before the first and after each."""
    check("the front end")
    for each in PIPELINE:
        assert each.applies(_JOB)
        run_all(program, _JOB, [each])
        check(each.name)


def check_kernel(folder: Path, body: str, seed: int) -> ir.Program:
    """Whether a kernel leaves the same behind after each pass, in some orders."""
    program = program_of(kernel_of(folder, body))
    expected = [outcome(program, seed + n, 0)[0] for n in range(ORDERS)]

    def check(name: str) -> None:
        found = [outcome(program, seed + n, n + 1)[0] for n in range(ORDERS)]
        assert found == expected, f"after {name}:\n{body}"

    after_each_pass(program, check)
    return program


@settings(max_examples=150)
@given(seed=seeds)
def test_kernels_with_loops(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check_kernel(tmp_path_factory.getbasetemp(), Lines(seed).kernel(), seed)


@settings(max_examples=150)
@given(seed=seeds)
def test_kernels_that_copy(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check_kernel(tmp_path_factory.getbasetemp(), Copies(seed).kernel(), seed)


def _kinds(program: ir.Program) -> list[str]:
    return [operation.kind for operation in operations_in(program)]


def test_passes_have_something_to_do(tmp_path: Path) -> None:
    """Branches are cut, loops shared and written out, stores moved."""
    counts = dict.fromkeys(["cut", "shared", "written out", "moved"], 0)
    for seed in range(60):
        for body in (Lines(seed).kernel(), Copies(seed).kernel()):
            program = program_of(kernel_of(tmp_path, body))
            for each in PIPELINE:
                before = _kinds(program)
                run_all(program, _JOB, [each])
                now = _kinds(program)
                counts["cut"] += each.name == "cut_branches" and now != before
                counts["written out"] += each.name == "unroll_copies" and now != before
                counts["moved"] += each.name == "sink_stores" and now != before
            operations = list(operations_in(program))
            counts["shared"] += any("shared" in each.attributes for each in operations)
    assert min(counts.values()) > 3, counts


# ------------------------------------------------------- programs of all kinds


def check_program(folder: Path, seed: int, size: Size) -> None:
    """Whether a random program does the same as in plain Python, after each pass."""
    program = make_program(seed, size)
    history = make_history(program, seed, 2, 4)
    module = load(program, folder)
    expected = list(observe(program, history, PlainWorld(program)))

    def check(name: str) -> None:
        found = list(observe(program, history, InterpretedWorld(program, module, found_ir, seed)))
        assert found == expected, f"after {name}:\n{numbered(program.text)}"

    found_ir = program_of(module.run)
    after_each_pass(found_ir, check)


@settings(max_examples=max(EXAMPLES, 25))
@given(seed=seeds, size=sizes)
def test_programs_do_what_plain_python_does(
    tmp_path_factory: pytest.TempPathFactory, seed: int, size: Size
) -> None:
    check_program(tmp_path_factory.mktemp("program"), seed, size)
