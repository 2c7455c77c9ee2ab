"""Scalar conversions: total, the same everywhere, and as documented."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sharedoa import f32, f64, i8, u8
from sharedoa.model.scalars import (
    SCALARS,
    ScalarType,
    boolean,
    can_store,
    from_dtype,
    join,
    promote,
    weak_float,
    weak_int,
)

INTEGERS = [scalar for scalar in SCALARS.values() if scalar.is_integer]
TYPED = list(SCALARS.values())
ALL = [*TYPED, weak_int, weak_float]

numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.booleans(),
    st.floats(width=32).map(np.float32),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.integers(-128, 127).map(np.int8),
)


@pytest.mark.parametrize("target", INTEGERS, ids=repr)
@given(value=numbers)
def test_to_an_integer(target: ScalarType, value: Any) -> None:
    result = target(value)
    assert result.dtype == target.dtype
    low, high = target.range
    if isinstance(value, (float, np.floating)):
        exact = 0 if math.isnan(value) else max(low, min(high, _truncate(value, low, high)))
        assert int(result) == exact
    else:
        assert (int(result) - int(value)) % 2**target.bits == 0, "integers wrap"
        assert low <= int(result) <= high


def _truncate(value: Any, low: int, high: int) -> int:
    if math.isinf(value):
        return low if value < 0 else high
    return math.trunc(float(value))


@pytest.mark.parametrize("target", [f32, f64], ids=repr)
@given(value=numbers)
@example(value=2**54 + 2**30 + 1)  # of which f64 forgets the one
def test_to_a_float(target: ScalarType, value: Any) -> None:
    with np.errstate(over="ignore"):
        result = target(value)
        expected = (
            np.asarray(value, dtype=None).astype(target.dtype)[()]
            if isinstance(value, np.generic)
            or (isinstance(value, int) and -(2**63) <= value < 2**64)
            else target.dtype.type(float(value))
        )
    assert result.dtype == target.dtype
    assert result == expected or (np.isnan(result) and np.isnan(expected))


@given(value=numbers)
def test_to_a_bool(value: Any) -> None:
    assert boolean(value) is bool(value)


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (3.99, "i32", 3), (-3.99, "i32", -3), (300, "u8", 44), (-1, "u8", 255), (200, "i8", -56),
        (1e30, "i32", 2**31 - 1), (-1e30, "i32", -(2**31)), (-0.5, "u32", 0), (-5.0, "u32", 0),
        (math.nan, "i64", 0), (math.inf, "u64", 2**64 - 1), (-math.inf, "i8", -128),
        (2.0**63, "i64", 2**63 - 1), (2.0**64, "u64", 2**64 - 1), (2**64 + 5, "u64", 5),
        (True, "f32", 1.0), (0.1, "f32", np.float32(0.1)),
    ],
)  # fmt: skip
def test_documented_conversions(value: Any, target: str, expected: Any) -> None:
    assert SCALARS[target](value) == expected


def test_no_argument_is_zero() -> None:
    assert [scalar() for scalar in TYPED] == [0] * len(TYPED)


@pytest.mark.parametrize("left", TYPED, ids=repr)
@pytest.mark.parametrize("right", TYPED, ids=repr)
def test_typed_scalars_promote_as_numpy_does(left: ScalarType, right: ScalarType) -> None:
    assert promote(left, right).dtype == np.promote_types(left.dtype, right.dtype)


@pytest.mark.parametrize("typed", TYPED, ids=repr)
@pytest.mark.parametrize("weak", [weak_int, weak_float], ids=repr)
def test_weak_scalars_promote_as_python_numbers_do(typed: ScalarType, weak: ScalarType) -> None:
    literal = 1 if weak == weak_int else 1.0
    expected = (typed(1) * literal) if typed != boolean else (True * literal)
    for found in (promote(typed, weak), promote(weak, typed)):
        if isinstance(expected, np.generic):
            assert not found.weak and found.dtype == expected.dtype
        else:
            assert found == (weak_int if isinstance(expected, int) else weak_float)


@pytest.mark.parametrize("left", ALL, ids=repr)
@pytest.mark.parametrize("right", ALL, ids=repr)
def test_join_and_promote_are_symmetric(left: ScalarType, right: ScalarType) -> None:
    assert join(left, right) == join(right, left)
    assert promote(left, right) == promote(right, left)
    assert join(left, left) == left


@pytest.mark.parametrize("target", TYPED, ids=repr)
@pytest.mark.parametrize("source", TYPED, ids=repr)
def test_same_kind_is_numpys(source: ScalarType, target: ScalarType) -> None:
    assert can_store(source, target) == np.can_cast(source.dtype, target.dtype, "same_kind")


def test_what_literals_may_be_stored_as() -> None:
    assert [t.name for t in TYPED if can_store(weak_int, t)] == [
        t.name for t in TYPED if t != boolean
    ]
    assert [t.name for t in TYPED if can_store(weak_float, t)] == ["f32", "f64"]


def test_from_dtype() -> None:
    for scalar in TYPED:
        assert from_dtype(scalar.dtype) is scalar
    assert from_dtype(np.dtype(np.complex64)) is None
    assert from_dtype(np.dtype("S3")) is None


def test_scalars_are_their_names() -> None:
    assert repr(i8) == "i8" and str(u8) == "u8"
    assert len({*ALL}) == len(ALL)
