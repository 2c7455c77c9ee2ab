"""Loops that threads share do the same whoever runs their rounds, in whatever order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedoa import ir
from sharedoa.ir.core import operations_in
from sharedoa.ir.passes.shared_loops import share_loops
from sharedoa.ir.passes.unused import remove_unused

from ..differential.effort import examples
from .kernels import BEGIN, END, Lines, kernel_of, outcome
from .programs import program_of

ORDERS = 10


def _two(folder: Path, body: str) -> list[ir.Program]:
    """The program of a kernel, twice."""
    found = [program_of(kernel) for kernel in [kernel_of(folder, body)] * 2]
    for program in found:
        remove_unused(program, debug=False)
    return found


def check(folder: Path, body: str, seed: int) -> int:
    """Whether a kernel ends the same in some orders as in the order of the source; how many rounds
    were run by other threads."""
    plain, program = _two(folder, body)
    share_loops(program)
    helped = 0
    is_shared = any("shared" in operation.attributes for operation in operations_in(program))
    for order in range(ORDERS if is_shared else 0):
        expected, _ = outcome(plain, seed + order, order)
        found, times = outcome(program, seed + order, order)
        helped += times
        assert found == expected, f"order {order}:\n{body}"
    return helped


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=examples(200))
@given(seed=seeds)
def test_orders_make_no_difference(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check(tmp_path_factory.getbasetemp(), Lines(seed).kernel(), seed)


def test_rounds_are_run_by_others(tmp_path: Path) -> None:
    assert sum(check(tmp_path, Lines(seed).kernel(), seed) > 0 for seed in range(60)) > 10


@pytest.mark.parametrize(
    ("line", "combined"),
    [
        ("if a[i + 3] > 1: e.f = i32(i)", ()),
        ("x = a[i + 3]", ("max",)),
        ("s = s * 2 + x", ("add",)),
    ],
)
def test_an_order_that_matters_is_found(
    tmp_path: Path, line: str, combined: tuple[str, ...]
) -> None:
    plain, wrong = _two(tmp_path, f"{BEGIN}for i in range(n):\n    {line}{END}x")
    share_loops(wrong)
    assert not any("shared" in operation.attributes for operation in operations_in(wrong))
    (loop,) = (operation for operation in operations_in(wrong) if operation.kind == "for")
    loop.attributes["shared"] = combined
    outcomes = [(outcome(plain, seed, 0)[0], outcome(wrong, seed, 0)[0]) for seed in range(20)]
    assert any(one != other for one, other in outcomes)
