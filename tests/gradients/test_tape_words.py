"""How many words of a tape threads have: known before a launch, or found by trying; and where."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.runtime import gradients, heap_state


@pytest.fixture(autouse=True)
def heap() -> Any:
    with oa.Heap(backend="cpu", capacity="64MiB") as made:
        yield made


@pytest.fixture
def is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is launched to see how much it keeps."""

    def refuse(*given: Any) -> None:
        raise AssertionError("memory is copied, to launch once more")

    monkeypatch.setattr(heap_state, "HeapState", refuse)


@oa.kernel
def grow(values: oa.Array[f64], counts: oa.Array[i32]) -> None:
    i = oa.grid(1)
    total = values[i]
    for _ in range(counts[i]):
        values[i] = values[i] * (1.01 if total != 0.0 else 1.0)  # which is kept: always the first
        total += values[i]
    values[i] = total * total


@oa.kernel
def grow_on(values: oa.Array[f64], counts: oa.Array[i32]) -> None:
    """The same; how often depends on what it writes."""
    i = oa.grid(1)
    start = values[i]
    total, n = start, 0
    while n < counts[i] and (n < 1 or abs(values[i]) > abs(start)):
        values[i] = values[i] * 1.01
        total += values[i]
        n += 1
    values[i] = total * total


def growth(values: list[float], counts: list[int]) -> np.ndarray:
    """The derivatives of the sum of the squares."""
    powers = np.array([sum(1.01**k for k in range(n + 1)) for n in counts])
    return 2.0 * np.array(values) * powers**2


@pytest.mark.parametrize("kernel", [grow, grow_on], ids=["counted", "tried"])
def test_tapes_that_are_too_short_at_first(kernel: Any) -> None:
    start, counts = [1.0, 1.5, -0.5], [400, 3, 0]
    values, given = oa.array(f64, start), oa.array(i32, counts)
    room = []
    for _ in range(2):
        values[:] = start
        with oa.tape() as tape:
            kernel[3](values, given)
            loss = values.sum()
        tape.backward(loss)
        np.testing.assert_allclose(oa.grad(values), growth(start, counts), rtol=1e-12)
        tape.zero()
        room.append(tape.bytes)
    # The second time it is known how much the first one needed.
    assert room[0] == room[1] >= 8 * 3 * 400


@pytest.mark.usefixtures("is_bounded")
def test_words_that_are_counted_before() -> None:
    values = oa.array(f64, [1.0, 1.5, -0.5])
    with oa.tape() as tape:
        grow[3](values, oa.array(i32, [400, 3, 0]))
        loss = values.sum()
    tape.backward(loss)
    np.testing.assert_allclose(oa.grad(values), growth([1.0, 1.5, -0.5], [400, 3, 0]), rtol=1e-12)


class Weight(oa.Object):
    value: f64

    def times(self, x: f64) -> f64:
        return self.value * x

    def power(self, x: f64, n: i32) -> f64:
        y = x
        for _ in range(n):
            y = y * self.value
        return y


class Twice(Weight):
    def times(self, x: f64) -> f64:
        return math.sin(self.value) * self.value * x

    def power(self, x: f64, n: i32) -> f64:
        y = x
        for _ in range(n):
            y = y * math.sin(self.value)
        return y


@oa.kernel
def through_all(weights: oa.Array[Weight], n: i32, out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    x = 1.0 + f64(i)
    for _ in range(2 * n - 1):
        for weight in weights:
            if weight.value > 0.0:
                x = weight.times(x)
    oa.atomic_add(out, 0, x)


@pytest.mark.usefixtures("is_bounded")
@pytest.mark.parametrize("n", [0, 1, 3])
def test_loops_over_arrays_and_to_numbers(n: int) -> None:
    weights = oa.concat(oa.new(Weight, 2, value=[0.5, -2.0]), oa.new(Twice, 1, value=0.75))
    out = oa.zeros(1, f64)
    with oa.tape() as tape:
        through_all[4](weights, n, out)
    tape.backward(out)
    rounds = max(2 * n - 1, 0)
    one, two, starts = 0.5**rounds, (math.sin(0.75) * 0.75) ** rounds, 10.0
    assert out[0] == pytest.approx(one * two * starts)
    by_two = rounds * (1 / math.tan(0.75) + 1 / 0.75) if rounds else 0.0
    expected = [one * two * starts * rounds / 0.5, 0.0, one * two * starts * by_two]
    np.testing.assert_allclose(weights.grad.value, expected, rtol=1e-12)


class Path(oa.Object):
    at: f64
    slope: f64

    def walk(self, steps: i32, slopes: oa.Array[f64]) -> None:
        for k in range(1, steps, 2):
            self.at += self.slope * slopes[k] * self.at


@pytest.mark.usefixtures("is_bounded")
def test_methods_that_count_to_their_arguments() -> None:
    paths = oa.new(Path, 2, at=[1.0, 2.0], slope=[0.5, 0.25])
    slopes = oa.array(f64, np.linspace(0.1, 0.9, 9))
    with oa.tape() as tape:
        oa.all(Path).walk(9, slopes)
        loss = paths.at.sum()
    tape.backward(loss)
    used = slopes.numpy()[1:9:2]
    ways = np.array([np.prod(1 + slope * used) for slope in (0.5, 0.25)])
    np.testing.assert_allclose(paths.grad.at, ways, rtol=1e-12)
    by_slope = [at * way * (used / (1 + slope * used)).sum()
                for at, way, slope in zip((1.0, 2.0), ways, (0.5, 0.25), strict=True)]  # fmt: skip
    np.testing.assert_allclose(paths.grad.slope, by_slope, rtol=1e-12)


@oa.func
def kept(x: f64, weights: oa.Array[Weight]) -> f64:
    y = x
    for weight in weights:
        y = y * weight.value * weight.value
    return y


@oa.kernel
def asks(weights: oa.Array[Weight], counts: oa.Array[i32], out: oa.Array[f64]) -> None:
    """What a function keeps is of use once, and a hundred times it is not."""
    i = oa.grid(1)
    total = kept(1.0 + f64(i), weights)
    above = 0
    for k in range(counts[i]):
        if kept(f64(k), weights) > 2.0:
            above += 1
    oa.atomic_add(out, 0, total * f64(above))


def test_calls_that_no_way_leads_back_through_keep_nothing() -> None:
    weights = oa.new(Weight, 3, value=[0.5, 2.0, 1.5])
    out, counts = oa.zeros(1, f64), oa.array(i32, [100, 7, 50])
    with oa.tape() as tape:
        asks[3](weights, counts, out)
    tape.backward(out)
    values = weights.value.numpy()
    above = np.array([sum(k * (values**2).prod() > 2.0 for k in range(n)) for n in (100, 7, 50)])
    expected = 2 * (values**2).prod() / values * (np.arange(1, 4) * above).sum()
    np.testing.assert_allclose(weights.grad.value, expected, rtol=1e-12)
    assert tape.bytes <= 8 * 3 * gradients._FIRST_ROOM


# ------------------------------------------------------------- threads of their own


@oa.kernel
def by_place(x: oa.Array[f64], y: oa.Array[f64], width: i32) -> None:
    i, j = oa.grid(2)
    y[j * width + i] = x[i + width * j] * x[j * width + i]
    y[j * width + i] *= 2.0


@oa.kernel
def by_column(x: oa.Array[f64], height: i32) -> None:
    i, j = oa.grid(2)
    x[i * height + j] = x[i * height + j] * 3.0


@oa.kernel
def by_byte(x: oa.Array[f64]) -> None:
    i = oa.u8(oa.grid(1))
    x[i] = x[i] * 2.0


def is_looked_at(kernel: Any, *given: Any) -> bool:
    """Whether a launch in a tape runs in debug mode, to see whether threads race."""
    modes = []
    before = gradients.launch_taped

    def launch(
        program: Any, heap: Any, geometry: Any, arguments: Any, mode: Any, debug: Any, *more: Any
    ) -> Any:
        modes.append(debug)
        return before(program, heap, geometry, arguments, mode, debug, *more)

    with pytest.MonkeyPatch.context() as patch, oa.tape():
        patch.setattr(gradients, "launch_taped", launch)
        kernel(*given)
    return True in modes


def test_elements_of_threads_along_two_axes() -> None:
    x, y = oa.array(f64, np.arange(1.0, 13.0)), oa.zeros(12, f64)
    assert not is_looked_at(by_place[4, 3], x, y, 4)
    assert not is_looked_at(by_place[3, 2], x, y, 4)
    assert not is_looked_at(by_column[3, 4], x, 4)
    assert not is_looked_at(by_byte[1], x)
    # Threads may meet, but do not.
    assert is_looked_at(by_byte[4], x)
    x[:] = np.arange(1.0, 13.0)
    with oa.tape() as tape:
        by_place[4, 3](x, y, 4)
        loss = y.sum()
    tape.backward(loss)
    np.testing.assert_allclose(oa.grad(x), 4 * np.arange(1.0, 13.0))


def test_threads_that_meet_along_two_axes() -> None:
    x = oa.array(f64, np.arange(1.0, 13.0))
    with oa.tape(), pytest.raises(oa.DeviceError, match="thread"):
        by_column[3, 4](x, 3)
    many = oa.array(f64, np.ones(300))
    with oa.tape(), pytest.raises(oa.DeviceError, match="thread"):
        by_byte[300](many)


@oa.kernel
def asks_methods(weights: oa.Array[Weight], counts: oa.Array[i32], out: oa.Array[f64]) -> None:
    """The same with methods of which classes have their own."""
    i = oa.grid(1)
    total = 1.0 + f64(i)
    for weight in weights:
        total = weight.power(total, 2)
    above = 0
    for k in range(counts[i]):
        if weights[k % 2].power(f64(k), 3) > 2.0:
            above += 1
    oa.atomic_add(out, 0, total * f64(above))


@oa.kernel
def asks_as_often(weights: oa.Array[Weight], counts: oa.Array[i32], out: oa.Array[f64]) -> None:
    """The same after as many calls that are of use."""
    i = oa.grid(1)
    total = 1.0 + f64(i)
    for k in range(counts[i]):
        total = weights[k % 3].power(total, 2)
    above = 0
    for k in range(counts[i]):
        if weights[k % 2].power(f64(k), 3) > 2.0:
            above += 1
    oa.atomic_add(out, 0, total * f64(above))


@oa.kernel
def asks_until(weights: oa.Array[Weight], counts: oa.Array[i32], out: oa.Array[f64]) -> None:
    """The same where what it writes might say how often."""
    i = oa.grid(1)
    total = 1.0 + f64(i)
    k = 0
    while k < counts[i] and out[i] == 0.0:
        total = weights[k % 3].power(total, 2)
        k += 1
    above = 0
    for k in range(counts[i]):
        if weights[k % 2].power(f64(k), 3) > 2.0:
            above += 1
    out[i] = total * f64(above)


@pytest.mark.parametrize("mode", ["sharedoa", "range+switch"])
@pytest.mark.parametrize(
    ("kernel", "uses"),
    [(asks_methods, [3, 3, 3]), (asks_as_often, [9, 7, 8]), (asks_until, [9, 7, 8])],
    ids=["bounded", "counted", "tried"],
)
def test_methods_that_no_way_leads_back_through(
    kernel: Any, uses: list[int], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they keep overwrites nothing of use."""
    monkeypatch.setattr(gradients, "_FIRST_ROOM", 1)
    with oa.Heap(backend="cpu", mode=mode, capacity="64MiB"):
        weights = oa.concat(oa.new(Weight, 2, value=[0.5, 2.0]), oa.new(Twice, 1, value=0.75))
        out, counts = oa.zeros(3, f64), oa.array(i32, [9, 7, 8])
        with oa.tape() as tape:
            kernel[3](weights, counts, out)
            loss = out.sum()
        tape.backward(loss)
        found = weights.grad.value.numpy()
    factors, slopes = np.array([0.5, 2.0, math.sin(0.75)]), np.array([1.0, 1.0, math.cos(0.75)])
    above = [sum(factors[k % 2] ** 3 * k > 2.0 for k in range(n)) for n in (9, 7, 8)]
    often = np.array([[len(range(k, n, 3)) for k in range(3)] for n in uses])
    totals = np.arange(1, 4) * above * (factors ** (2 * often)).prod(axis=1)
    np.testing.assert_allclose(found, 2 * totals @ often / factors * slopes, rtol=1e-12)
