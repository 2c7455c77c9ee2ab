"""Which receivers are the same for every thread of a warp, and which tests for a whole launch: in
random programs, and in those of the applications."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir.core import constant_of, operations_in
from sharedoa.ir.operations import PURE, Effects
from sharedoa.ir.uniformity import is_of_launch, uniform_receivers

from ..differential.effort import examples
from ..modes import half_of
from ..source_files import load_module
from .diverging import Marked, Source, run_in_step
from .programs import app_kernels, program_of
from .uniform_lines import Nodes, optimised, sites


def of_launch(function: ir.Function, also: Effects) -> list[bool]:
    """Of the tests of a function's branches, in order."""
    tests = [each.operands[0] for each in operations_in(function) if each.kind == "if"]
    return [is_of_launch(test, function, also) for test in tests]


def test_what_depends_on_arguments_of_the_launch_alone() -> None:
    @oa.func
    def other(n: i32, out: oa.Array[i32]) -> None:
        if n < 3:
            out[0] = 1

    def kernel(nodes: Nodes, out: oa.Array[i32], n: i32) -> None:
        i, k = oa.grid(1), 3
        if n * 2 - 1 < len(nodes):
            k = n
        if k < n:
            out[1] = 1
        if i < n:
            k = 4
        if k < n:
            out[3] = 1
        if out[4] < n:
            out[4] = 1
        for k in range(n):
            if k < 3:
                out[5] = 1
        other(n, out)

    program = optimised(kernel)
    assert of_launch(program.kernel, PURE) == [True, True, False, False, False, False]
    found = of_launch(program.kernel, Effects.ASKS_THREAD)
    assert found == [True, True, True, True, False, False]
    (helper,) = [f for f in program.functions.values() if f.name == "other"]
    assert of_launch(helper, PURE) == [False]


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_uniform_is_one_object_for_all_threads_that_run_together(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    module = load_module(tmp_path_factory.mktemp("kernel"), Source(seed).text(), Marked=Marked)
    program = optimised(module.kernel)
    labels = {constant_of(call.operands[1]) for call in uniform_receivers(program)}
    for world in range(2):
        for label, ways in run_in_step(program, world).items():
            assert label not in labels or {len(found) for found in ways.values()} == {1}


@pytest.mark.parametrize("name", half_of(sorted(app_kernels()), 0))
def test_programs_of_the_applications(name: str) -> None:
    """What is uniform is there, and does not depend on the order of functions."""
    program = program_of(app_kernels()[name])
    found = uniform_receivers(program)
    assert found <= {*sites(program)}
    program.functions = dict(reversed(program.functions.items()))
    assert uniform_receivers(program) == found
