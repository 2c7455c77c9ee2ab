"""``fastmath``: arithmetic of floats may be approximate, where it was asked for and only there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, f64, i32
from sharedoa.targets.ptxas import assemble, find_ptxas

from ..quick_code import optimised_code  # noqa: F401

COUNT = 64
FAST = r"(fadd|fsub|fmul|fdiv) reassoc nsz arcp contract afn"


class Vector(oa.Object):
    x: f32
    y: f32
    result: f32

    def normalise(self, by: f32) -> None:
        self.result = (self.x * by + self.y) / np.sqrt(self.x * self.x + self.y * self.y)

    def turn(self, by: f32) -> None:
        self.result = np.sin(self.x) * by + np.exp(-self.y) + np.cos(by)

    def classify(self, by: f32) -> None:
        quotient = self.x / by
        self.result = 1.0 if np.isnan(quotient) else 2.0 if np.isinf(quotient) else 3.0

    def split(self, by: f32) -> None:
        self.result = (self.x // by) * 1000 + self.y % by


METHODS = ("normalise", "turn")


@oa.kernel
def apply(vectors: oa.Array[Vector], by: f32) -> None:
    vector = vectors[oa.grid(1)]
    vector.normalise(by)
    vector.result += 1.0 / by


@oa.kernel
def mean(values: oa.Array[f64], out: oa.Array[f64]) -> None:
    total = 0.0
    for k in range(len(values)):
        total += values[k]
    out[0] = total / len(values)


def results(method: str, by: float, backend: str, **options: Any) -> np.ndarray[Any, Any]:
    x = np.linspace(0.1, 9, COUNT, dtype=np.float32)
    with oa.Heap(backend=backend, **options) as heap:
        vectors = heap.new(Vector, COUNT, x=x, y=x[::-1].copy())
        getattr(oa.all(Vector), method)(by)
        return np.array(vectors.result.numpy())


@settings(max_examples=15)
@given(by=st.floats(0.125, 100, width=32), method=st.sampled_from(METHODS))
def test_results_differ_in_the_last_digits_only(by: float, method: str) -> None:
    exact = results(method, by, "python")
    strict, fast = (results(method, by, "cpu", fastmath=fast) for fast in (False, True))
    if method == "normalise":
        np.testing.assert_array_equal(strict, exact)
        np.testing.assert_allclose(fast, exact, rtol=2e-6)
    else:
        # Terms up to ``by`` and 1 may cancel, and sines may differ in the last bit of each.
        np.testing.assert_allclose(strict, exact, rtol=0, atol=3e-7 * (by + 2))
        np.testing.assert_allclose(fast, exact, rtol=0, atol=6e-7 * (by + 2))


@pytest.mark.gpu
@settings(max_examples=15)
@given(by=st.floats(0.125, 100, width=32), method=st.sampled_from(METHODS))
def test_results_on_a_gpu(by: float, method: str) -> None:
    np.testing.assert_allclose(
        results(method, by, "cuda", fastmath=True),
        results(method, by, "python"),
        rtol=1e-3,
        atol=1e-3,
    )


@pytest.mark.parametrize("fast", [False, True])
def test_only_where_it_was_asked_for(fast: bool) -> None:
    with oa.Heap(backend="cpu", fastmath=fast) as heap:
        heap.new(Vector, 8)
        ir, explained = str(apply.asm["ll"]), apply.explain()
    assert bool(re.search(FAST, ir)) == fast
    assert ("fast math" in explained) == fast


def test_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAREDOA_FASTMATH", "1")
    with oa.Heap(backend="cpu") as heap:
        assert heap.fastmath
        heap.new(Vector, 8)
        assert re.search(FAST, str(apply.asm["ll"]))
    monkeypatch.setenv("SHAREDOA_FASTMATH", "yes")
    with pytest.raises(oa.ConfigurationError, match="SHAREDOA_FASTMATH 'yes' is not valid"):
        oa.Heap(backend="cpu")


@pytest.mark.parametrize("fast", [False, True])
def test_nan_infinity_and_floors_stay(fast: bool) -> None:
    x = np.array([np.nan, np.inf, 0, 1, 7], np.float32)
    with oa.Heap(backend="cpu", fastmath=fast) as heap:
        vectors = heap.new(Vector, len(x), x=x, y=x)
        oa.all(Vector).classify(0.0)
        assert vectors.result.numpy().tolist() == [1, 2, 1, 2, 2]
        vectors.x = vectors.y = np.arange(len(x), dtype=np.float32)
        oa.all(Vector).split(2.0)
        assert vectors.result.numpy().tolist() == [0, 1, 1000, 1001, 2000]


def test_a_sum_may_be_reordered() -> None:
    values = np.random.default_rng(3).random(10_000)
    for fast in (False, True):
        with oa.Heap(backend="cpu", fastmath=fast) as heap:
            out = heap.zeros(1, f64)
            mean[1](heap.array(f64, values), out)
            assert out.numpy()[0] == pytest.approx(values.mean(), rel=1e-12)
            # Vectors of partial sums.
            assert bool(re.search(r"fadd \S.*<\d+ x double>", str(mean.asm["opt.ll"]))) == fast


def ptx(kernel: oa.Kernel, fast: bool) -> str:
    with oa.Heap(backend="cpu", fastmath=fast) as heap:
        heap.new(Vector, 8)
        return str(kernel.compile("nvptx").products["ptx"])


@oa.kernel
def turn(vectors: oa.Array[Vector], by: f32) -> None:
    vectors[oa.grid(1)].turn(by)


@pytest.mark.parametrize(
    ("kernel", "approximate"),
    [(apply, ("fma.rn.f32", "sqrt.approx", "div.approx")), (turn, ("fma.rn.f32", "sin.approx"))],
)
def test_a_gpu_approximates(kernel: oa.Kernel, approximate: tuple[str, ...]) -> None:
    strict, fast = ptx(kernel, False), ptx(kernel, True)
    for instruction in approximate:
        assert instruction in fast, instruction
    # Strict functions of libdevice fuse and approximate where it changes no result.
    if kernel is apply:
        assert "rcp.approx.ftz.f32" in strict and "div.approx" not in strict
    assert len(fast) < len(strict)
    assert_assembles(fast)


@oa.kernel
def cubes(vectors: oa.Array[Vector], by: f32) -> None:
    vector = vectors[oa.grid(1)]
    vector.result = vector.x**by


def test_powers_of_negative_numbers_stay() -> None:
    """The fast function of libdevice takes the logarithm of any base."""
    found = ptx(cubes, True)
    assert re.search(r"setp\.\S+\s+%p\d+, %r\d+, 0f00000000", found)
    assert_assembles(found)
    with oa.Heap(backend="cpu", fastmath=True) as heap:
        vectors = heap.new(Vector, 3, x=[-2.0, -3.0, 0.0])
        cubes[3](vectors, 3.0)
        assert vectors.result.numpy().tolist() == [-8, -27, 0]


@pytest.mark.gpu
def test_powers_on_a_gpu() -> None:
    with oa.Heap(backend="cuda", fastmath=True) as heap:
        vectors = heap.new(Vector, 3, x=[-2.0, -3.0, 0.0])
        for by, expected in ((3.0, [-8, -27, 0]), (0.0, [1, 1, 1])):
            cubes[3](vectors, by)
            np.testing.assert_allclose(vectors.result.numpy(), expected, rtol=1e-4)


def assert_assembles(ptx: str) -> None:
    try:
        find_ptxas()
    except oa.BackendError:
        pytest.skip("no ptxas on this machine")
    assert assemble(ptx, "sm_90").registers > 0


@oa.kernel
def powers(a: oa.Array[f64], n: oa.Array[i32], out: oa.Array[f64]):
    i = oa.grid(1)
    out[i] = a[i] ** n[i] + a[i] ** 3 - a[i] ** 1000.0


def test_powers_with_whole_exponents() -> None:
    with oa.Heap(backend="cpu", fastmath=True):
        out = oa.zeros(2, f64)
        powers[2](oa.array(f64, [0.5, 0.25]), oa.array(i32, [3, -2]), out)
        assert out.numpy().tolist() == pytest.approx([0.25, 16.015625])
