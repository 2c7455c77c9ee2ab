"""Programs mean the same after each pass, and after all of them: run by the interpreter, random
ones leave the same behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedoa import ir
from sharedoa.ir.core import Value, operations_in
from sharedoa.ir.job import Job
from sharedoa.ir.passes.constant_arguments import fold_constants
from sharedoa.ir.pipeline import PIPELINE
from sharedoa.ir.verify import verify
from sharedoa.model.run_form import RunForm

from ..differential.effort import examples
from ..differential.populations import make_history
from ..differential.programs import Size, make_program, numbered
from ..differential.running import PlainWorld, load, observe
from .copies import Copies
from .interpreted import InterpretedWorld
from .kernels import BEGIN, CLASSES, END, Cell, KnownLines, Lines, Odd, kernel_of, outcome
from .programs import contents, job, program_of, run_all, run_one

ORDERS = 3
seeds = st.integers(0, 2**32 - 1)
sizes = st.builds(Size, st.integers(0, 6), st.integers(1, 4), st.integers(1, 6))
_JOB = job(device=True, shares_loops=True)


def after_each_pass(program: ir.Program, given: Job, check: Callable[[str], None]) -> None:
    """Run all passes, and ``check`` the program before the first and after each that changed it."""
    check("the front end")
    verify(program)
    now = contents(program)
    for each in PIPELINE:
        if each.name == "idle_threads":
            continue  # of the host (test_idle_threads)
        assert each.applies(given)
        before = now
        run_one(program, given, each)
        now = contents(program)
        if now != before:
            check(each.name)


def check_kernel(
    folder: Path,
    body: str,
    seed: int,
    given: Job = _JOB,
    classes: Sequence[type[Cell]] = CLASSES,
    c: int | None = None,
) -> ir.Program:
    """Whether a kernel leaves the same behind after each pass, in some orders; ``c``: its last
    argument, if it is to be that."""
    program = program_of(kernel_of(folder, body))
    expected = [outcome(program, seed + n, 0, classes, c)[0] for n in range(ORDERS)]

    def check(name: str) -> None:
        found = [outcome(program, seed + n, n + 1, classes, c)[0] for n in range(ORDERS)]
        assert found == expected, f"after {name}:\n{body}"

    after_each_pass(program, given, check)
    return program


@settings(max_examples=examples(50))
@given(seed=seeds)
def test_kernels_with_loops(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check_kernel(tmp_path_factory.getbasetemp(), Lines(seed).kernel(), seed)


@settings(max_examples=examples(50))
@given(seed=seeds)
def test_kernels_that_copy(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check_kernel(tmp_path_factory.getbasetemp(), Copies(seed).kernel(), seed)


@settings(max_examples=examples(50))
@given(seed=seeds, c=st.integers(-3, 5))
def test_kernels_with_constants(
    tmp_path_factory: pytest.TempPathFactory, seed: int, c: int
) -> None:
    given = job(device=True, shares_loops=True, constants={3: c})
    folder = tmp_path_factory.getbasetemp()
    check_kernel(folder, KnownLines(seed).kernel(), seed, given, c=c)


@pytest.mark.parametrize("cls", [Cell, Odd])
@settings(max_examples=examples(15))
@given(seed=seeds)
def test_kernels_with_runs(
    tmp_path_factory: pytest.TempPathFactory, cls: type[Cell], seed: int
) -> None:
    """All objects are of one class, side by side."""
    known = {0: RunForm(cls.__sharedoa__, False)}
    given = job(device=True, shares_loops=True, runs=known)
    folder = tmp_path_factory.getbasetemp()
    program = check_kernel(folder, Lines(seed).kernel(), seed, given, [cls])
    operations = list(operations_in(program.kernel))
    calls = [each for each in operations if each.kind == "call_virtual"]
    assert all(len(call["candidates"]) == 1 for call in calls if _is_of_run(call.operands[0]))
    loads = [each.operands[0].source for each in operations if each.kind == "load"]
    run = program.kernel.parameters[0]
    assert not any(lvalue is None or run in lvalue.operands for lvalue in loads)


def _is_of_run(value: Value) -> bool:
    return value.source is not None and value.source.kind == "run_element"


_BRANCHES = {
    "that end a round": (
        "for j in range(3):\n  if a[j] > 1:\n    for i in range(n): s += a[i + 3]\n    continue\n"
        "  x += s"
    ),
    "that return": (
        "for j in range(3):\n  if a[j] > 2:\n    for i in range(n): s += a[i + 3]\n    e.f = s\n"
        "    return\n  x += s"
    ),
    "with ends within": (
        "for j in range(3):\n  if a[j] > 1:\n    if j == c: continue\n    e.g = s\n"
        "    for i in range(n): s += a[i + 3]\n    if s > 5: break\n    x += 1\n"
        "  else:\n    for i in range(c, n): r ^= i\n  d.f = x"
    ),
    "in branches": (
        "if e.f > 1:\n  x = e.g\n  if d.f > 0:\n    y = x + c\n"
        "    for i in range(y, n): s += i + y\n    x = s\n  else:\n"
        "    for i in range(d.f, n): r |= a[i + 3] + x\n    for i in range(n): s += r\n"
        "  e.f = x\nelse:\n  for i in range(n): e.g = c"
    ),
    "one after the other": (
        "if e.f > 1:\n  for i in range(n): s += e.g\n  x = s\nif x > s - c:\n"
        "  for i in range(x - 2, n): r = max(r, i)\n  for i in range(n): d.f = r"
    ),
}


@pytest.mark.parametrize("name", _BRANCHES)
def test_branches_around_loops(tmp_path: Path, name: str) -> None:
    body = _BRANCHES[name]
    for seed in range(4):
        program = check_kernel(tmp_path, f"{BEGIN}{body}{END}x", seed)
    assert any("shared" in operation.attributes for operation in operations_in(program))


def _kinds(program: ir.Program) -> list[str]:
    return [operation.kind for operation in operations_in(program)]


@pytest.mark.slow  # a test of the programs, not of passes
def test_passes_have_something_to_do(tmp_path: Path) -> None:
    """Branches are cut or decided, loops shared and written out, stores moved."""
    counts = dict.fromkeys(["decided", "cut", "shared", "written out", "moved"], 0)
    for seed in range(60):
        program = program_of(kernel_of(tmp_path, KnownLines(seed).kernel()))
        branches = _kinds(program).count("if")
        fold_constants(program, job(constants={3: seed % 4}))
        counts["decided"] += _kinds(program).count("if") < branches
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
        if min(counts.values()) > 3:
            return
    raise AssertionError(counts)


# ------------------------------------------------------- programs of all kinds


def check_program(folder: Path, seed: int, size: Size) -> None:
    """Whether a random program does the same as in plain Python, after each pass."""
    program = make_program(seed, size)
    history = make_history(program, seed, 2, 4)
    module = load(program, folder)
    expected = list(observe(program, history, PlainWorld(program, reduces=False)))

    def check(name: str) -> None:
        found = list(observe(program, history, InterpretedWorld(program, module, found_ir, seed)))
        assert found == expected, f"after {name}:\n{numbered(program.text)}"

    found_ir = program_of(module.run)
    after_each_pass(found_ir, _JOB, check)


@settings(max_examples=examples(6))
@given(seed=seeds, size=sizes)
def test_programs_do_what_plain_python_does(
    tmp_path_factory: pytest.TempPathFactory, seed: int, size: Size
) -> None:
    check_program(tmp_path_factory.mktemp("program"), seed, size)
