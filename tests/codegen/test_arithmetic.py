"""Operators and conversions against NumPy scalars, on every scalar type."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pytest

from sharedoa.frontend import tree
from sharedoa.model.scalars import SCALARS, ScalarType, boolean, i32, weak_float, weak_int

from .machine import Kernel
from .trees import (
    FLOATS,
    HERE,
    INTEGERS,
    array,
    binary,
    compare,
    const,
    convert,
    element,
    load,
    program,
    store,
    unary,
    use,
)

NUMBERS = [*INTEGERS, *FLOATS]
ALL = list(SCALARS.values())
Array = np.ndarray[Any, Any]


@functools.cache
def operands(type: ScalarType) -> Array:
    """Small numbers, ends of the range, where widths wrap and round, and numbers of any size."""
    random = np.random.default_rng(1)
    if type.kind == "bool":
        return np.array([False, True] * 10)
    if type.is_float:
        info, bits = np.finfo(type.dtype), np.dtype(f"u{type.bits // 8}")
        edges = [0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 1e-40, 1e30, info.tiny, info.max, np.inf]
        edges += [2.0**e for e in (8, 24, 31, 32, 53, 63, 64)]
        patterns = random.integers(0, np.iinfo(bits).max, 20, bits, endpoint=True)
        near = random.normal(0, 100, 20).astype(type.dtype)
        values = [np.array([*edges, *(-e for e in edges), np.nan]), patterns.view(type.dtype), near]
    else:
        low, high = type.range
        near_powers = {2**e + d for e in (4, 7, 8, 15, 16, 31, 32, 53, 63) for d in (-1, 0, 1)}
        whole = {*range(-9, 10), *near_powers, *(-each for each in near_powers), type.bits}
        whole |= {type.bits - 1, low + 1, high - 1}
        kept = sorted(each for each in whole if low <= each <= high)
        values = [np.array(kept, object), random.integers(low, high, 20, type.dtype, endpoint=True)]
    with np.errstate(all="ignore"):
        return np.concatenate([each.astype(type.dtype) for each in values])


@functools.cache
def pairs(type: ScalarType) -> tuple[Array, Array]:
    """Every operand with every other."""
    values = operands(type)
    return np.repeat(values, len(values)), np.tile(values, len(values))


def each_of(
    make: Callable[[str, tree.Expression, tree.Expression], tree.Expression],
    operators: Collection[str],
    type: ScalarType,
    result: ScalarType,
) -> dict[str, Array]:
    """What one kernel computes with each of the operators, of every operand with every other."""
    left, right = array("left", type), array("right", type)
    outs = [array(f"out_{operator}", result) for operator in operators]
    body: list[tree.Statement] = [
        store(element(use(out)), make(each, load(element(use(left))), load(element(use(right)))))
        for each, out in zip(operators, outs, strict=True)
    ]
    given = pairs(type)
    found = {each: np.empty(len(given[0]), result.dtype) for each in operators}
    Kernel(program([left, right, *outs], body)).launch(len(given[0]), *given, *found.values())
    return found


def unary_kernel_of(
    make: Callable[[tree.Expression], tree.Expression], type: ScalarType, result: ScalarType
) -> Kernel:
    source, out = array("source", type), array("out", result)
    body: list[tree.Statement] = [store(element(use(out)), make(load(element(use(source)))))]
    return Kernel(program([source, out], body))


@functools.cache
def unary_kernel(operator: str, type: ScalarType) -> Kernel:
    return unary_kernel_of(lambda value: unary(operator, value), type, type)


@functools.cache
def conversion_kernel(source: ScalarType) -> Kernel:
    """To every type."""
    given, outs = array("source", source), [array(f"to_{target}", target) for target in ALL]
    body: list[tree.Statement] = [
        store(element(use(out)), convert(target, load(element(use(given)))))
        for target, out in zip(ALL, outs, strict=True)
    ]
    return Kernel(program([given, *outs], body))


@functools.cache
def truth_kernel(type: ScalarType) -> Kernel:
    return unary_kernel_of(lambda value: tree.Truth(boolean, HERE, value), type, boolean)


def check_binary(type: ScalarType, operators: Mapping[str, Any]) -> None:
    for operator, out in each_of(binary, operators, type, type).items():
        with np.errstate(all="ignore"):
            expected = operators[operator](*pairs(type))
        assert expected.dtype == type.dtype
        np.testing.assert_array_equal(out, expected, operator)
        if type.is_float:
            numbers = ~np.isnan(expected)
            signs = np.signbit(out[numbers]), np.signbit(expected[numbers])
            np.testing.assert_array_equal(*signs, operator)


INTEGER_OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
FLOAT_OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
}


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_integer_operators_equal_numpy(type: ScalarType) -> None:
    check_binary(type, INTEGER_OPERATORS)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_float_operators_equal_numpy(type: ScalarType) -> None:
    check_binary(type, FLOAT_OPERATORS)


# ---------------------------------------------------------------------- power


def python_power(type: ScalarType, base: int, exponent: int) -> int:
    """``base ** exponent`` wrapped to the type; 0 for a negative exponent."""
    if exponent < 0:
        return 0
    low, _ = type.range
    return (pow(base, exponent, 1 << type.bits) - low) % (1 << type.bits) + low


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_integer_power_wraps_and_negative_exponents_give_zero(type: ScalarType) -> None:
    left, right = pairs(type)
    out = each_of(binary, ["pow"], type, type)["pow"]
    expected = [python_power(type, int(a), int(b)) for a, b in zip(left, right, strict=True)]
    assert out.tolist() == expected


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 10, 63, -1])
def test_integer_power_by_a_constant(exponent: int) -> None:
    kernel = unary_kernel_of(lambda value: binary("pow", value, const(exponent, i32)), i32, i32)
    bases = np.array([0, 1, -1, 2, -3, 7, 46341, 2**31 - 1, -(2**31)], np.int32)
    out = np.empty_like(bases)
    kernel.launch(len(bases), bases, out)
    assert out.tolist() == [python_power(i32, int(base), exponent) for base in bases]


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_float_power_equals_numpy(type: ScalarType) -> None:
    left, right = pairs(type)
    out = each_of(binary, ["pow"], type, type)["pow"]
    info = np.finfo(type.dtype)
    with np.errstate(all="ignore"):
        expected = left**right
    # Libraries round the last bit differently, which of subnormal numbers is the smallest.
    np.testing.assert_allclose(out, expected, 4 * info.eps, info.smallest_subnormal)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_the_square_is_exactly_a_product(type: ScalarType) -> None:
    kernel = unary_kernel_of(lambda value: binary("pow", value, const(2.0, type)), type, type)
    bases = np.random.default_rng(1).normal(size=500).astype(type.dtype)
    out = np.empty_like(bases)
    kernel.launch(len(bases), bases, out)
    assert out.tolist() == (bases * bases).tolist()


# ---------------------------------------- one operand, comparisons, conversions


@pytest.mark.parametrize(
    ("operator", "type", "numpy_function"),
    [("neg", type, np.negative) for type in NUMBERS]
    + [("abs", type, np.abs) for type in NUMBERS]
    + [("invert", type, np.invert) for type in INTEGERS]
    + [("not", boolean, np.logical_not)],
    ids=str,
)
def test_unary_operators_equal_numpy(operator: str, type: ScalarType, numpy_function: Any) -> None:
    source = operands(type)
    out = np.empty(len(source), type.dtype)
    unary_kernel(operator, type).launch(len(source), source, out)
    expected = numpy_function(source)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out * 1.0), np.signbit(expected * 1.0))


@pytest.mark.parametrize("type", ALL, ids=str)
def test_comparisons_equal_numpy(type: ScalarType) -> None:
    for operator, out in each_of(compare, COMPARISONS, type, boolean).items():
        np.testing.assert_array_equal(out, COMPARISONS[operator](*pairs(type)), operator)


@pytest.mark.parametrize("source", ALL, ids=str)
def test_conversions_equal_the_hosts(source: ScalarType) -> None:
    values = operands(source)
    found = [np.empty(len(values), target.dtype) for target in ALL]
    conversion_kernel(source).launch(len(values), values, *found)
    for target, out in zip(ALL, found, strict=True):
        with np.errstate(all="ignore"):
            expected = np.array([target(value) for value in values], target.dtype)
        np.testing.assert_array_equal(out, expected, f"to {target}")


@pytest.mark.parametrize("type", ALL, ids=str)
def test_truth_equals_pythons(type: ScalarType) -> None:
    values = operands(type)
    out = np.empty(len(values), bool)
    truth_kernel(type).launch(len(values), values, out)
    assert out.tolist() == [bool(value) for value in values]


def test_weak_numbers_are_64_bits_wide() -> None:
    out, sums = array("out", weak_int), array("sums", weak_float)
    body: list[tree.Statement] = [
        store(element(use(out)), binary("mul", const(1 << 40), const(1 << 20))),
        store(element(use(sums)), binary("add", const(0.1, weak_float), const(0.2, weak_float))),
    ]
    integers, floats = np.zeros(1, np.int64), np.zeros(1)
    Kernel(program([out, sums], body)).launch(1, integers, floats)
    assert integers[0] == 1 << 60
    assert floats[0] == 0.1 + 0.2
