"""Prints, barriers, math, and the code that the GPU targets make of whole programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sharedoa.errors import InternalError
from sharedoa.frontend import tree
from sharedoa.model.scalars import (
    ScalarType,
    boolean,
    f32,
    f64,
    i8,
    u8,
    u64,
    weak_float,
    weak_int,
)
from sharedoa.model.types import VOID

from ..modes import rotated
from .machine import AMDGPU, HOST, NVPTX, PRINTED, Kernel, lower_for
from .shapes import area_program, make_shapes
from .trees import (
    FLOATS,
    HERE,
    add,
    array,
    binary,
    call,
    const,
    convert,
    element,
    function,
    give,
    load,
    program,
    store,
    thread,
    use,
)

# ---------------------------------------------------------------------- print


@pytest.mark.parametrize(
    ("value", "type", "text"),
    [(-5, i8, "-5"), (200, u8, "200"), (True, boolean, "True"), (False, boolean, "False"),
     (2**64 - 1, u64, str(2**64 - 1)), (2**40, weak_int, str(2**40)),
     (0.5, f32, "0.5"), (-2.5, f64, "-2.5"), (0.1, f32, "0.1"), (1 / 3, f32, "0.33333334"),
     (1 / 3, f64, repr(1 / 3)), (0.1 + 0.2, weak_float, "0.30000000000000004"),
     (16777217.0, f64, "16777217.0"), (2.0**24, f32, str(np.float32(2**24))), (1e16, f64, "1e+16"),
     (-0.0, f64, "-0.0"), (-0.0, f32, "-0.0"), (5e-324, f64, "5e-324"), (1e300, f64, "1e+300"),
     (float("inf"), f32, "inf"), (-float("inf"), f64, "-inf"), (float("nan"), f32, "nan"),
     (-float("nan"), f64, "nan")],
)  # fmt: skip
def test_scalars_are_printed_as_python_does(value: Any, type: ScalarType, text: str) -> None:
    items: list[tree.Said] = ["value: ", const(value, type), " 100%"]
    PRINTED.clear()
    Kernel(program([], [tree.Print(HERE, items, "\n")]), gpus=(NVPTX,)).launch(1)
    assert "".join(PRINTED) == f"value: {text} 100%\n"


# -------------------------------------------------------------- barrier, math


def test_a_barrier_is_noted_and_keeps_code_in_place() -> None:
    lowered = lower_for(NVPTX, program([], [tree.Barrier(HERE)]))
    assert lowered.uses_barrier
    assert "convergent" in str(lowered.module.globals["kernel.body"].attributes)
    assert "bar.sync" in NVPTX.compile(str(lowered.module))["ptx"]
    assert not lower_for(HOST, program([], [])).uses_barrier


MATH = {
    "sqrt": 1, "exp": 1, "log": 1, "sin": 1, "cos": 1, "tanh": 1, "atan2": 2, "pow": 2, "fmod": 2,
    "hypot": 2, "floor": 1, "ceil": 1, "trunc": 1, "fabs": 1, "copysign": 2, "erf": 1, "fma": 3,
}  # fmt: skip


@pytest.mark.parametrize(("name", "type"), rotated([*MATH], FLOATS))
def test_math_equals_pythons(name: str, type: ScalarType) -> None:
    numbers, out = array("numbers", type), array("out", type)
    arguments = [load(element(use(numbers), const(n))) for n in range(MATH[name])]
    body = [store(element(use(out)), tree.MathCall(type, HERE, name, list(arguments)))]
    given, found = np.array([0.75, 2.5, -1.25], type.dtype), np.zeros(1, type.dtype)
    Kernel(program([numbers, out], list(body))).launch(1, given, found)
    inputs = [float(number) for number in given[: MATH[name]]]
    expected = 0.75 * 2.5 - 1.25 if name == "fma" else getattr(math, name)(*inputs)
    assert found[0] == pytest.approx(expected, rel=4 * float(np.finfo(type.dtype).eps))


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
@pytest.mark.parametrize("value", [0.0, -1.5, math.inf, -math.inf, math.nan])
def test_classification_of_floats(name: str, value: float) -> None:
    numbers, out = array("numbers", f64), array("out", boolean)
    test = tree.MathCall(boolean, HERE, name, [load(element(use(numbers)))])
    kernel = Kernel(program([numbers, out], [store(element(use(out)), test)]))
    found = np.zeros(1, bool)
    kernel.launch(1, np.array([value]), found)
    assert found[0] == getattr(math, name)(value)


# -------------------------------------------------------------- whole modules


def test_the_thread_index_is_the_kernels_only() -> None:
    where = function("where", [], weak_int, [give(thread())])
    with pytest.raises(InternalError, match="outside the kernel"):
        lower_for(HOST, program([], [tree.Evaluate(HERE, call(where))], where))


def test_functions_are_internal_and_the_entry_is_not() -> None:
    helper, once = function("helper", [], VOID, []), function("once", [], VOID, [])
    body = [tree.Evaluate(HERE, call(each)) for each in (helper, once, helper)]
    lowered = lower_for(HOST, program([], body, helper, once))
    functions = lowered.module.globals
    assert functions["helper"].linkage == functions["kernel.body"].linkage == "internal"
    assert functions[lowered.kernel_symbol].linkage == ""
    assert not {"noinline", "alwaysinline"} & set(functions["helper"].attributes)
    # What is called once need not be optimised by itself first.
    for name in ("kernel.body", "once"):
        assert "alwaysinline" in functions[name].attributes


def test_products_and_sums_are_rounded_separately() -> None:
    """A fused multiply-add would make results differ between targets."""
    out = array("out", f32)
    value = load(element(use(out)))
    whole = program([out], [store(element(use(out)), add(binary("mul", value, value), value))])
    ptx = NVPTX.compile(str(lower_for(NVPTX, whole).module))["ptx"]
    assert "mul.rn.f32" in ptx and "add.rn.f32" in ptx
    assert "fma" not in ptx


@pytest.mark.parametrize("debug", [False, True])
def test_whole_programs_compile_for_gpus(debug: bool) -> None:
    for target, extension in ((NVPTX, "ptx"), (AMDGPU, "o")):
        lowered = lower_for(target, area_program(make_shapes()), debug)
        assert target.compile(str(lowered.module))[extension]


def test_debug_code_lies_beside_the_hot_path() -> None:
    numbers = array("numbers", u64)
    body = [store(element(use(numbers)), convert(u64, thread()))]
    text = str(lower_for(HOST, program([numbers], list(body)), debug=True).module)
    reports = [line for line in text.splitlines() if line.startswith("define") and "report" in line]
    assert len(reports) == 2
    assert all("noinline" in report and "cold" in report for report in reports)
    (note,) = [line for line in text.splitlines() if line.startswith("define") and "note" in line]
    assert "noinline" in note
