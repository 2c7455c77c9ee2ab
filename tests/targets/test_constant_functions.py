"""What LLVM makes of the instructions of NVIDIA's math library where it knows their arguments: what
they are exactly, or nothing."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from sharedoa.frontend.tree import MATH_FUNCTIONS
from sharedoa.targets import libdevice
from sharedoa.targets.nvptx import NvptxTarget
from sharedoa.targets.optimise import optimise, parse

F32, F64, I32 = ir.FloatType(), ir.DoubleType(), ir.IntType(32)
ARGUMENTS = {"atan2": 2, "pow": 2, "fmod": 2, "hypot": 2, "copysign": 2, "fma": 3}
TARGET = NvptxTarget()
APPROXIMATE = re.compile(r"\.approx\b|\.approx\.")
#: What is exact, with a rounding that the name says, or moves bits.
COMPUTED = {
    "add.rn.d", "add.rn.f", "add.rz.f", "d2i.hi", "d2i.lo", "d2i.rn", "d2ll.rz", "div.rn.f",
    "f2i.rn", "f2i.rz", "fabs.f32", "fabs.f64", "fma.rm.f", "fma.rz.f", "lohi.i2d", "mul.rn.d",
    "mul.rn.f", "mul.rn.ftz.f", "round.d", "round.f", "saturate.f",
}  # fmt: skip


def text_of(module: ir.Module) -> str:
    text = str(module)
    parsed = parse(text)
    libdevice.link(parsed, libdevice.used_functions(text))
    optimise(parsed, TARGET.machine)
    return str(parsed)


def test_instructions_of_the_library_are_known() -> None:
    module = TARGET.new_module("functions")
    for type in (F32, F64):
        for name in MATH_FUNCTIONS:
            types = [type] * ARGUMENTS.get(name, 1)
            function = ir.Function(module, ir.FunctionType(type, types), f"{name}.{type}")
            builder = ir.IRBuilder(function.append_basic_block())
            found = TARGET.emit_math(builder, name, function.args)
            builder.ret(found if found.type == type else builder.uitofp(found, type))
    used = set(re.findall(r"@llvm\.nvvm\.([\w.]+)\(", text_of(module)))
    assert {each for each in used if not APPROXIMATE.search(each)} <= COMPUTED
    assert any(map(APPROXIMATE.search, used))


def known(name: str, types: list[ir.Type], result: ir.Type, values: list[float]) -> str:
    """What LLVM makes of an instruction of known arguments."""
    module = TARGET.new_module("known")
    callee = ir.Function(module, ir.FunctionType(result, types), f"llvm.nvvm.{name}")
    function = ir.Function(module, ir.FunctionType(result, []), "known")
    builder = ir.IRBuilder(function.append_basic_block())
    pairs = zip(types, values, strict=True)
    builder.ret(builder.call(callee, [type(value) for type, value in pairs]))
    return text_of(module)


@pytest.mark.parametrize(
    ("name", "type", "count"),
    [
        ("ex2.approx.f32", F32, 1), ("ex2.approx.ftz.f32", F32, 1), ("lg2.approx.f", F32, 1),
        ("lg2.approx.ftz.f", F32, 1), ("rcp.approx.ftz.d", F64, 1), ("rsqrt.approx.ftz.f", F32, 1),
        ("sqrt.approx.f", F32, 1), ("div.approx.f", F32, 2), ("div.approx.ftz.f", F32, 2),
        ("sin.approx.f", F32, 1), ("cos.approx.f", F32, 1), ("rcp.approx.ftz.f", F32, 1),
    ],
)  # fmt: skip
def test_what_approximates_is_left(name: str, type: ir.Type, count: int) -> None:
    assert "call" in known(name, [type] * count, type, [1.7, 0.3][:count])


def _rounded(exact: Fraction, direction: str, type: Any) -> Any:
    """The nearest float, the next one towards zero, or downwards."""
    nearest = type(float(exact))  # of few digits: rounded once
    towards = {"n": nearest, "z": type(0), "m": type(-np.inf)}[direction]
    beyond = {
        "n": False, "z": abs(Fraction(float(nearest))) > abs(exact),
        "m": Fraction(float(nearest)) > exact,
    }[direction]  # fmt: skip
    return np.nextafter(nearest, towards) if beyond else nearest


@pytest.mark.parametrize("values", [(1.1, -2.3, 0.7), (-1e-3, 3.3, 1e-7), (16777216.0, 1.0, -3.0)])
@pytest.mark.parametrize("name", ["add.rn.f", "add.rz.f", "mul.rn.f", "fma.rm.f", "fma.rz.f"])
def test_what_is_exact_has_its_rounding(name: str, values: tuple[float, ...]) -> None:
    given = [np.float32(value) for value in values[: 3 if name.startswith("fma") else 2]]
    a, b, *c = (Fraction(float(each)) for each in given)
    exact = a + b if name.startswith("add") else a * b + sum(c)
    text = known(name, [F32] * len(given), F32, [float(each) for each in given])
    found = re.search(r"ret float (\S+)", text)
    assert found is not None and "call" not in text
    digits = found.group(1)
    made = np.uint64(int(digits, 16)).view(np.float64) if digits.startswith("0x") else float(digits)
    assert np.float32(made) == _rounded(exact, name.split(".")[1][1], np.float32)
