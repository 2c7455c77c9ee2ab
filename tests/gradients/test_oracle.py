"""The oracle: dual numbers agree with differences, and programs that run with them are the same
programs that sharedoa runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from . import plain
from .dual import MATH, Dual, value_of
from .source import FEATURES, make_program
from .worlds import Inputs, expected, is_tame, make_inputs, tame

STEP = 1e-6
#: Where a function is smooth; arguments are near these.
FUNCTIONS: dict[str, tuple[float, ...]] = dict.fromkeys(
    (
        "sqrt", "cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan",
        "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "erf", "erfc",
        "radians", "degrees", "fabs",
    ),
    (0.4,),
)  # fmt: skip
FUNCTIONS |= {"acosh": (1.7,), "hypot": (0.4, -1.2), "atan2": (0.4, -1.2), "fmod": (7.3, 2.1)}
FUNCTIONS |= {"copysign": (0.4, -1.0), "pow": (1.3, 0.7)}

OPERATORS: dict[str, Any] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
    "/": lambda x, y: x / y, "**": lambda x, y: x**y, "%": lambda x, y: x % y,
    "1 +": lambda x, y: 1 + x - y, "2 -": lambda x, y: 2 - x * y, "3 /": lambda x, y: 3 / x + y,
    "2 **": lambda x, y: 2**x * y, "abs": lambda x, y: abs(-x) * abs(y),
    "x ** 3": lambda x, y: x**3,
    "x ** 0": lambda x, y: x**0 * y, "min": lambda x, y: min(x, y) * max(x, y) ** 2,
}  # fmt: skip


def _agrees(function: Any, at: tuple[float, ...]) -> None:
    given = [Dual(x, np.stack([row, row])) for x, row in zip(at, np.eye(len(at)), strict=True)]
    found = function(*given)
    assert found.value == value_of(function(*at))
    for number in range(len(at)):
        above, below = list(at), list(at)
        above[number] += STEP
        below[number] -= STEP
        slope = (function(*above) - function(*below)) / (2 * STEP)
        assert found.derivatives[number] == pytest.approx(slope, rel=1e-7, abs=1e-9)
        assert found.weights[number] >= abs(found.derivatives[number]) * (1 - 1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_functions(name: str) -> None:
    _agrees(getattr(MATH, name), FUNCTIONS[name])


@pytest.mark.parametrize("name", OPERATORS)
def test_derivatives_of_operators(name: str) -> None:
    _agrees(OPERATORS[name], (1.3, 0.7))


def test_every_function_is_tested() -> None:
    exact = {"pi", "e", "inf", "nan", "tau", "floor", "ceil", "trunc"}
    assert set(vars(MATH)) == set(FUNCTIONS) | exact
    one = Dual(1.7, np.zeros((2, 1)))
    assert (MATH.floor(one), MATH.trunc(-one)) == (1, -1)


def test_vectors_by_components() -> None:
    vec = plain.OA.vec3d
    one, other = vec(1.0, 2.0, 3.0), vec(4.0, 5.0, 6.0)
    assert (one + other * 2.0 - 1.0).parts == (8.0, 11.0, 14.0)
    assert one.dot(other) == 32.0 and one.cross(other).parts == (-3.0, 6.0, -3.0)
    assert one.normalize().length() == pytest.approx(1.0) and (2.0 / vec(4.0)).x == 0.5


@pytest.mark.parametrize("seed", range(4))
def test_gradients_of_programs_are_differences(seed: int) -> None:
    """All inputs moved at once, each by another amount: a derivative along one direction."""
    program = make_program(seed)
    inputs = make_inputs(program, seed)
    found = expected(program, inputs)
    assert is_tame(found)
    rng = np.random.default_rng(seed)
    along = 0.0
    moved: dict[float, Inputs] = {}
    fields = [{n: rng.normal(size=len(v)) for n, v in each.items()} for each in inputs.fields]
    arrays = {n: rng.normal(size=len(v)) for n, v in inputs.arrays.items()}
    for sign in (STEP, -STEP):
        moved[sign] = Inputs(
            [
                {n: v + sign * way[n] for n, v in each.items()}
                for each, way in zip(inputs.fields, fields, strict=True)
            ],
            inputs.counts,
            {n: v + sign * arrays[n] for n, v in inputs.arrays.items()},
        )
    for gradient, way in zip(found.gradient.fields, fields, strict=True):
        along += sum(float(gradient[n] @ way[n]) for n in way)
    along += sum(float(found.gradient.arrays[n] @ arrays[n]) for n in arrays)
    losses = [expected(program, moved[sign]).loss for sign in (STEP, -STEP)]
    assert along == pytest.approx((losses[0] - losses[1]) / (2 * STEP), rel=1e-5, abs=1e-6)


@pytest.mark.slow
def test_programs_have_what_they_are_to_have() -> None:
    """Every feature changes the programs of some seeds, and most programs are usable."""
    texts = [make_program(seed) for seed in range(20)]
    for feature in FEATURES:
        without = [make_program(seed, FEATURES - {feature}) for seed in range(20)]
        assert [p for p, q in zip(texts, without, strict=True) if p != q], feature
    found = [tame(p, make_inputs(p, seed)) for seed, p in enumerate(texts)]
    assert sum(each is not None for each in found) > 15
    counts = {len(set(p.classes)) for p in texts}
    assert counts >= {3, 5, 9}
    assert math.isclose(sum(len(p.launches) for p in texts) / 20, 8, abs_tol=2)


@pytest.mark.parametrize("seed", [60_005, 60_224, 30_003_360])
def test_programs_with_large_numbers_are_told(seed: int) -> None:
    """Products that overflow, of which NumPy warns; a power that Python refuses; an infinite number
    that nobody uses, but a way back multiplies by."""
    program = make_program(seed, is_small=True)
    assert tame(program, make_inputs(program, seed)) is None
