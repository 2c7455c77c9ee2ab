"""Operators on lanes against Python's own numbers, wrapped as kernels wrap them."""

from __future__ import annotations

import math
import operator
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sharedoa.model.scalars import SCALARS, ScalarType, boolean, f32, f64, i32, i64, u64
from sharedoa.sampling import operators
from tests.codegen.trees import FLOATS, INTEGERS

EXAMPLES = settings(max_examples=60, deadline=None)
PLAIN = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor,
}  # fmt: skip
COMPARISONS = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge,
}  # fmt: skip


def lane(type: ScalarType, value: Any) -> np.ndarray[Any, Any]:
    return np.array([value], type.dtype)


@st.composite
def pairs(draw: Any) -> tuple[ScalarType, int, int]:
    type = draw(st.sampled_from(INTEGERS))
    low, high = type.range
    special = [n for n in (0, 1, -1, 2, 7, -7, 31, 64, low, low + 1, high) if low <= n <= high]
    number = st.sampled_from(special) | st.integers(low, high)
    return type, draw(number), draw(number)


def expected(type: ScalarType, name: str, left: int, right: int) -> int:
    """With Python's whole numbers, of any size."""
    if name in PLAIN:
        found = PLAIN[name](left, right)
    elif name in ("floordiv", "mod"):
        found = 0 if right == 0 else (left // right if name == "floordiv" else left % right)
    elif not 0 <= right < type.bits:
        found = -1 if name == "rshift" and left < 0 else 0
    else:
        found = left << right if name == "lshift" else left >> right
    return int(type(found))


@EXAMPLES
@given(pairs(), st.sampled_from([*PLAIN, "floordiv", "mod", "lshift", "rshift"]))
@example((i32, -(2**31), -1), "floordiv")
@example((i64, -(2**63), -1), "mod")
@example((u64, 2**64 - 1, 64), "rshift")
@example((i32, -5, 40), "rshift")
def test_integers(given: tuple[ScalarType, int, int], name: str) -> None:
    type, left, right = given
    with np.errstate(all="ignore"):
        found = operators.binary(name, lane(type, left), lane(type, right))
    assert found is not None and found.dtype == type.dtype
    assert int(found[0]) == expected(type, name, left, right)


@EXAMPLES
@given(pairs(), st.sampled_from(["neg", "invert", "abs"]))
def test_unary(given: tuple[ScalarType, int, int], name: str) -> None:
    type, value, _ = given
    functions: dict[str, Any] = {"neg": operator.neg, "invert": operator.invert, "abs": abs}
    with np.errstate(all="ignore"):
        found = operators.unary(name, lane(type, value))
    assert found.dtype == type.dtype
    assert int(found[0]) == int(type(functions[name](value)))


@EXAMPLES
@given(pairs(), st.sampled_from([*COMPARISONS]))
def test_comparisons(given: tuple[ScalarType, int, int], name: str) -> None:
    type, left, right = given
    found = operators.compare(name, lane(type, left), lane(type, right))
    assert bool(found[0]) is COMPARISONS[name](left, right)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_bools(name: str) -> None:
    for left in (False, True):
        for right in (False, True):
            found = operators.binary(name, lane(boolean, left), lane(boolean, right))
            assert found is not None and found.dtype == bool
            assert bool(found[0]) is bool(PLAIN[name](left, right))
        assert bool(operators.unary("not", lane(boolean, left))[0]) is not left
        assert bool(operators.unary("invert", lane(boolean, left))[0]) is not left


def rounded(type: ScalarType, value: float) -> float:
    """The nearest number of the type; of f32 what is too large is infinite."""
    if type == f64 or math.isinf(value) or math.isnan(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


@EXAMPLES
@given(
    st.sampled_from(FLOATS),
    st.floats(width=32),
    st.floats(width=32),
    st.sampled_from(["add", "sub", "mul", "truediv", "floordiv", "mod"]),
)
def test_floats(type: ScalarType, left: float, right: float, name: str) -> None:
    with np.errstate(all="ignore"):
        found = operators.binary(name, lane(type, left), lane(type, right))
    assert found is not None and found.dtype == type.dtype
    if name == "truediv":
        if right == 0:
            return
        wanted = left / right
    elif name in PLAIN:
        wanted = PLAIN[name](left, right)
    else:
        # These are exact where numbers are small and whole.
        if right == 0 or not all(math.isfinite(n) and n == int(n) for n in (left, right)):
            return
        if max(abs(left), abs(right)) > 1000:
            return
        wanted = left // right if name == "floordiv" else left % right
    wanted = rounded(type, wanted)
    assert found[0] == wanted or (math.isnan(wanted) and np.isnan(found[0]))


def numbers() -> st.SearchStrategy[Any]:
    edges = [2.0**31, 2.0**32, 2.0**63, 2.0**64, -(2.0**63), 1e300, math.inf, -math.inf, math.nan]
    return st.floats() | st.sampled_from(edges) | st.floats(-300, 300)


@EXAMPLES
@given(st.sampled_from(INTEGERS), st.sampled_from(FLOATS), numbers())
@example(i64, f64, 1e300)
@example(u64, f64, 2.0**64)
@example(i64, f32, 2.0**63)
def test_floats_become_integers(type: ScalarType, source: ScalarType, value: float) -> None:
    value = rounded(source, value)
    with np.errstate(all="ignore"):
        found = operators.converted(lane(source, value), type.dtype)
    assert found.dtype == type.dtype
    assert found[0] == type(value)


@EXAMPLES
@given(pairs(), st.sampled_from([*SCALARS.values()]))
def test_integers_become_anything(given: tuple[ScalarType, int, int], target: ScalarType) -> None:
    type, value, _ = given
    found = operators.converted(lane(type, value), target.dtype)
    assert found.dtype == target.dtype
    assert found[0] == target(value)


def test_what_nobody_computes_is_unknown() -> None:
    assert operators.binary("pow", lane(f32, 2), lane(f32, 2)) is None
    assert operators.mathematics("sin", lane(f32, 2)) is None
    assert operators.mathematics("floor", lane(f32, 2.5)) == 2
