"""Vectors, matrices and quaternions on the host, beside NumPy."""

from __future__ import annotations

import operator
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa.errors import ArgumentError

VECTORS = ["vec2", "vec3", "vec4", "vec2d", "vec3d", "vec4d", "vec2i", "vec3i", "vec4i"]
MATRICES = ["mat22", "mat33", "mat44"]
_ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod"]


def array_of(value: Any) -> Any:
    return np.asarray(value)


@settings(max_examples=60)
@given(
    name=st.sampled_from(VECTORS + MATRICES),
    operation=st.sampled_from(_ARITHMETIC),
    numbers=st.lists(st.integers(1, 40), min_size=32, max_size=32),
    with_number=st.sampled_from(["no", "right", "left"]),
)
def test_operators_are_those_of_arrays(
    name: str, operation: str, numbers: list[int], with_number: str
) -> None:
    cls = getattr(oa, name)
    struct = cls.__sharedoa_value__
    count, number = int(np.prod(struct.shape)), numbers[-1]
    one, other = cls(*numbers[:count]), cls(*numbers[16 : 16 + count])
    operands: tuple[Any, Any] = (one, other)
    if with_number != "no":
        operands = (one, number) if with_number == "right" else (number, one)
    compute = getattr(operator, operation)
    found = compute(*operands)
    expected = compute(*(np.asarray(each) if isinstance(each, cls) else each for each in operands))
    assert array_of(found).dtype == expected.dtype
    assert array_of(found).tobytes() == expected.tobytes()
    typed = struct.component.dtype.type(number)
    if with_number == "left":  # NumPy's numbers leave it to the vector
        assert compute(typed, one) == found and type(compute(typed, one)) is type(found)
    elif with_number == "right":
        assert compute(one, typed) == found


def test_products_and_inverses() -> None:
    random = np.random.default_rng(1)
    for n in (2, 3, 4):
        vector, matrix = getattr(oa, f"vec{n}d"), getattr(oa, f"mat{n}{n}")
        a, b = random.random(n), random.random(n)
        assert vector(*a) @ vector(*b) == vector(*a).dot(vector(*b))
        np.testing.assert_allclose(oa.dot(vector(*a), vector(*b)), a @ b)
        np.testing.assert_allclose(oa.length(vector(*a)), np.linalg.norm(a))
        single = getattr(oa, f"vec{n}")
        m, k = (random.random((n, n)).astype(np.float32) for _ in range(2))
        one, other, v = matrix(*m.flat), matrix(*k.flat), single(*a)
        v32 = a.astype(np.float32)
        np.testing.assert_allclose(one @ other, m @ k, rtol=1e-6)
        np.testing.assert_allclose(one @ v, m @ v32, rtol=1e-6)
        np.testing.assert_allclose(v @ one, v32 @ m, rtol=1e-6)
        np.testing.assert_allclose(oa.transpose(one), m.T)
        np.testing.assert_allclose(oa.determinant(one), np.linalg.det(m), rtol=1e-4)
        np.testing.assert_allclose(oa.inverse(one), np.linalg.inv(m), rtol=1e-3)
        np.testing.assert_allclose(oa.outer(v, v), np.outer(v32, v32))
        assert matrix(*(single(*row) for row in m)) == one
    assert oa.cross(oa.vec3(1, 0, 0), oa.vec3(0, 1, 0)) == oa.vec3(0, 0, 1)
    assert oa.cross(oa.vec2(1, 0), oa.vec2(0, 1)) == 1


def test_quaternions_turn_vectors() -> None:
    quarter = oa.quat(oa.vec3(0, 0, 1), np.pi / 2)
    np.testing.assert_allclose(quarter.rotate(oa.vec3(1, 0, 0)), [0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(quarter.matrix() @ oa.vec3(0, 1, 0), [-1, 0, 0], atol=1e-6)
    i, j, k = oa.quat(1, 0, 0, 0), oa.quat(0, 1, 0, 0), oa.quat(0, 0, 1, 0)
    assert i * j == k and j * i == -k and i * i == oa.quat(0, 0, 0, -1)
    assert (2 * i + j * 3 - k / 2) == oa.quat(2, 3, -0.5, 0)
    some = oa.normalize(oa.quat(1, 2, 3, 4))
    np.testing.assert_allclose((oa.inverse(some) * some), [0, 0, 0, 1], atol=1e-6)


def test_parts_and_texts() -> None:
    v, m = oa.vec3(1, 2, 3), oa.mat22(1, 2, 3, 4)
    assert repr(v) == "vec3(1.0, 2.0, 3.0)" and repr(oa.vec2i(1, -2)) == "vec2i(1, -2)"
    assert repr(m) == "mat22(vec2(1.0, 2.0), vec2(3.0, 4.0))"
    assert list(v) == [1, 2, 3] and v[-1] == 3 and len(v) == 3 and v.z == 3
    assert m[1] == oa.vec2(3, 4) and m[1, 0] == 3 and m[-1][1] == 4
    assert type(v[0]) is np.float32 and type(oa.vec2d(1, 2).x) is np.float64
    assert oa.vec3(7) == oa.vec3(7, 7, 7) and len({v, oa.vec3(1, 2, 3)}) == 1
    assert pickle.loads(pickle.dumps(v)) == v
    assert abs(-v) == v and oa.min(v, oa.vec3(2)) == oa.vec3(1, 2, 2)
    assert oa.max(1, 2) == 2 and oa.abs(-1) == 1
    assert (np.ones((2, 3)) * v).tolist() == [[1, 2, 3]] * 2 and np.add(v, v) == v * 2
    with pytest.raises(IndexError):
        v[3]
    with pytest.raises(ArgumentError, match="cannot be assigned"):
        v.x = 1
    with pytest.raises(ArgumentError, match="takes f32"):
        v * oa.vec2(1, 2)
    with pytest.raises(ArgumentError, match=r"oa\.dot does not take float"):
        oa.dot(1.0, 2.0)
    with pytest.raises(TypeError):
        np.sqrt(v)
    with pytest.raises(AttributeError):
        oa.vec5  # type: ignore[attr-defined]
