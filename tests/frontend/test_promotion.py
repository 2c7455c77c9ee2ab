"""Result types of operators: exactly NumPy 2's, weak literals included (NEP 50)."""

# Kernels here are to be translated or refused; most are no good Python.
# mypy: disable-error-code="type-arg,assignment,index,comparison-overlap"

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64, u8, u32
from sharedoa.model.scalars import SCALARS
from sharedoa.model.values import scalar_type_of

from .translated import complaints, kernel_from, text_of, variable_types

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "<<": operator.lshift,
    ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


def numpy_result(symbol: str, left: Any, right: Any) -> str | None:
    """The name of the type that NumPy (or Python, for its own numbers) computes; None: refused."""
    if isinstance(left, bool) and isinstance(right, bool) and symbol not in "&|^":
        return None  # Python and NumPy disagree
    try:
        with np.errstate(all="ignore"):
            return repr(scalar_type_of(OPERATORS[symbol](left, right)))
    except TypeError:
        return None


def check_operators(folder: Path, parameters: str, left: str, right: str, a: Any, b: Any) -> None:
    expected = {symbol: numpy_result(symbol, a, b) for symbol in OPERATORS}
    allowed = [symbol for symbol, name in expected.items() if name is not None]
    body = "\n".join(f"r{k} = {left} {symbol} {right}" for k, symbol in enumerate(allowed))
    found = variable_types(kernel_from(folder, parameters, body))
    assert {symbol: found[f"r{k}"] for k, symbol in enumerate(allowed)} == {
        symbol: expected[symbol] for symbol in allowed
    }
    refused = [symbol for symbol in expected if symbol not in allowed]
    body = "\n".join(f"r{k} = {left} {symbol} {right}" for k, symbol in enumerate(refused))
    if refused:
        assert len(complaints(kernel_from(folder, parameters, body))) == len(refused)


def sample(name: str) -> Any:
    return True if name == "bool" else SCALARS[name](2)


@pytest.mark.parametrize("left", SCALARS)
def test_two_typed_operands(tmp_path: Path, left: str) -> None:
    for right in SCALARS:
        parameters = f"a: {left}, b: {right}"
        check_operators(tmp_path, parameters, "a", "b", sample(left), sample(right))


@pytest.mark.parametrize("literal", ["2", "2.0"])
@pytest.mark.parametrize("name", SCALARS)
def test_a_literal_and_a_typed_operand(tmp_path: Path, name: str, literal: str) -> None:
    weak: Any = eval(literal)
    check_operators(tmp_path, f"a: {name}", "a", literal, sample(name), weak)
    check_operators(tmp_path, f"a: {name}", literal, "a", weak, sample(name))


def test_loop_counters_and_lengths_are_weak() -> None:
    def kernel(a: oa.Array[f32], x: i8, y: f32):
        for k in range(3):
            p = k + x
            q = k * y
        r = len(a) * y
        s = oa.grid(1) - x
        t = 2 / len(a)

    text = text_of(kernel)
    assert "p: i8 = (i8(k) +.i8 x)" in text
    assert "q: f32 = (f32(k) *.f32 y)" in text
    assert "r: f32 = (f32(len(a)) *.f32 y)" in text
    assert "s: i8 = (i8(thread_index(0)) -.i8 x)" in text
    assert "t: float = (2.0 /.float float(len(a)))" in text


def test_literals_compute_as_python_does_before_anything_runs() -> None:
    def kernel(out: oa.Array[i64]):
        out[0] = 7 // -2 + 2**40 % 7
        out[1] = -7 % 3
        x = 1 / 4
        y = 2**0.5

    text = text_of(kernel)
    assert f"out[0] = i64({7 // -2 + 2**40 % 7})" in text
    assert "out[1] = i64(2)" in text
    assert "x: float = 0.25" in text
    assert f"y: float = {2**0.5!r}" in text


@pytest.mark.parametrize(
    ("parameters", "expression", "message"),
    [
        ("x: i8", "x + 300", "300 does not fit i8 (-128 to 127)"),
        ("x: u8", "x - -1", "-1 does not fit u8 (0 to 255)"),
        ("x: u32", "-1 * x", "-1 does not fit u32"),
        ("x: i32", "x ** -1", "an integer to a negative power is no integer"),
        ("x: f32", "~x", "~ needs an integer, not f32"),
        ("x: i64, y: oa.u64", "x & y", "bit operations need integers of one signedness"),
        ("x: f32", "x << 1", "bit operations need integers"),
        ("x: bool", "x + (x == x)", "arithmetic of bools means one thing in Python and another"),
        ("x: bool", "-x", "arithmetic of bools"),
        ("x: bool", "~x", "arithmetic of bools"),
        ("x: f32", "x @ x", "f32 @ f32 is not defined"),
        ("x: oa.Array[f32]", "x + 1", "Array[f32] and int have no operator add"),
        ("", "1 // 0", "this constant cannot be computed: "),  # Python 3.14 has other words
        ("", "1 << -1", "this constant cannot be computed: negative shift count"),
        ("", "(-8) ** 0.5", "this constant is complex"),
        ("x: f32", "x + 2j", "2j is no number"),
        ("x: f32", "x + 'a'", "'a' is a Python str, which kernels cannot use"),
    ],
)
def test_operands_that_have_no_result(
    tmp_path: Path, parameters: str, expression: str, message: str
) -> None:
    (complaint,) = complaints(kernel_from(tmp_path, parameters, f"r = {expression}"))
    assert message in complaint.message
    assert complaint.help


def test_unary_operators_keep_the_type() -> None:
    def kernel(a: i8, b: f32, c: u32, d: bool):
        p = -a
        q = +b
        r = ~c
        s = abs(a)
        t = abs(c)
        u = not a
        v = -i64(d)
        w = -(2**40)

    found = variable_types(kernel)
    assert found == {
        "p": "i8", "q": "f32", "r": "u32", "s": "i8", "t": "u32", "u": "bool", "v": "i64",
        "w": "int",
    }  # fmt: skip
    text = text_of(kernel)
    assert "t: u32 = c" in text
    assert "u: bool = (not bool(a))" in text
    assert f"w: int = {-(2**40)}" in text


def test_comparisons_are_exact_between_types() -> None:
    def kernel(a: i32, b: i64, c: oa.u64, x: f32, y: f64, d: bool, e: u8):
        p = a < b
        q = a < x
        r = x == 0.1
        s = a < 3_000_000_000
        t = e == 3
        u = d == True  # noqa: E712
        v = c > 5
        w = b < c
        z = b >= oa.u64(2)

    text = text_of(kernel)
    assert "p: bool = (i64(a) < b)" in text
    assert "q: bool = (f64(a) < f64(x))" in text
    assert f"r: bool = (x == f32({float(np.float32(0.1))!r}))" in text
    assert "s: bool = (int(a) < 3000000000)" in text
    assert "t: bool = (e == u8(3))" in text
    assert "u: bool = (d == bool(True))" in text
    assert "v: bool = (c > u64(5))" in text
    # a negative number is below every unsigned one, whatever its bits say
    assert "w: bool = (let" in text and "z: bool = (let" in text
    assert text.count("< i64(0))") == 2


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("i32(x)", "i32(x)"),
        ("f32(i)", "f32(i)"),
        ("int(x)", "int(x)"),
        ("float(i)", "float(i)"),
        ("bool(i)", "bool(i)"),
        ("np.float64(i)", "f64(i)"),
        ("np.int8(i)", "i8(i)"),
        ("u8(300)", "u8(44)"),
        ("i8(-129)", "i8(127)"),
        ("i32(3.99)", "i32(3)"),
        ("i32(1e30)", "i32(2147483647)"),
        ("u8(float('nan'))", "u8(0)"),
        ("int(2.5)", "2"),
        ("f64(x)", "x"),
    ],
)
def test_conversions(tmp_path: Path, expression: str, expected: str | None) -> None:
    kernel = kernel_from(tmp_path, "x: f64, i: i32", f"r = {expression}")
    if expected is None:
        assert len(complaints(kernel)) == 1
        return
    assert text_of(kernel).split(" = ")[1] == expected


@pytest.mark.parametrize(
    ("target", "source", "allowed"),
    [
        (target, source, np.can_cast(SCALARS[source].dtype, SCALARS[target].dtype, "same_kind"))
        for target in SCALARS
        for source in SCALARS
    ],
)
def test_storing_converts_as_same_kind_does(
    tmp_path: Path, target: str, source: str, allowed: bool
) -> None:
    kernel = kernel_from(tmp_path, f"x: {source}, out: oa.Array[{target}]", "out[0] = x")
    if allowed:
        assert text_of(kernel) == ("out[0] = x" if target == source else f"out[0] = {target}(x)")
        return
    (complaint,) = complaints(kernel)
    assert f"takes {target}, and {source} does not convert to it by itself" in complaint.message
    assert complaint.help == f"write {target}(...)"


def test_typed_module_constants_keep_their_type(tmp_path: Path) -> None:
    def kernel(out: oa.Array[f32]):
        out[0] = SMALL * 2
        out[1] = WEAK * SMALL

    text = text_of(kernel)
    assert "out[0] = (f32(1.5) *.f32 f32(2.0))" in text
    assert "out[1] = (f32(0.25) *.f32 f32(1.5))" in text


SMALL = np.float32(1.5)
WEAK = 0.25
