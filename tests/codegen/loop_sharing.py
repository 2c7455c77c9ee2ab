"""Kernels whose loops threads of a warp share, run by the interpreter and by the CPU backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa.codegen.shared_loops import COST, TOGETHER
from tests.codegen.interpreted import InterpretedGpu
from tests.ptxpass.interpreter.warps import all_of_them

WARP = 32
ROUNDS = "redux.sync.or.b32"
"""What a round of a shared loop does once."""
GPU = InterpretedGpu()
"""One for all tests, as it keeps what it has loaded."""
_CAPACITY = "16MiB"
Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Lists:
    """For each thread a range of numbers below ``size``; many overlap, some end before they begin.
    In the first warp a few are long, so that it shares its loops."""

    begin: Numbers
    end: Numbers
    size: int
    seed: int

    @property
    def count(self) -> int:
        return len(self.begin)

    @property
    def lengths(self) -> list[int]:
        return np.maximum(self.end - self.begin, 0).tolist()  # type: ignore[no-any-return]

    def numbers(self, low: int, high: int, count: int | None = None) -> Numbers:
        """``count`` numbers, as many as lists may name without it; the same at every call."""
        numbers = np.random.default_rng(self.seed)
        return numbers.integers(low, high, self.size if count is None else count)


@st.composite
def lists(draw: st.DrawFn) -> Lists:
    warps = [_skewed(draw)]
    if draw(st.booleans()):
        length = draw(st.sampled_from((None, -1, 0, 1, 20)))
        # Sharing would take these as long as the longest of them does alone.
        warps.append(_skewed(draw) if length is None else [length + 5, *[length] * (WARP - 1)])
    part = draw(st.sampled_from((0, 1, 17, 31)))
    warps.append(_skewed(draw)[:part])
    lengths = np.concatenate(warps)
    seed = draw(st.integers(0, 2**32 - 1))
    begin = np.random.default_rng(seed).integers(3, 40, len(lengths))
    return Lists(begin.astype(np.int32), (begin + lengths).astype(np.int32), 40 + 70, seed)


def _skewed(draw: st.DrawFn) -> list[int]:
    """Lengths of a warp's lists, the longest of which it runs faster together."""
    usual = st.integers(-2, draw(st.integers(0, 2)))
    lengths = draw(st.lists(usual, min_size=WARP, max_size=WARP))
    long = st.dictionaries(st.integers(0, WARP - 1), st.integers(30, 70), min_size=1, max_size=4)
    for lane, length in draw(long).items():
        lengths[lane] = length
    return lengths


def rounds(lengths: list[int], together: int = TOGETHER) -> int:
    """Of loops of these lengths, one a thread: those of whole warps that gain by sharing, which run
    so many ``together``."""
    found = 0
    for start in range(0, len(lengths) - WARP + 1, WARP):
        warp = lengths[start : start + WARP]
        shared = -(-sum(warp) // WARP)
        found += -(-shared // together) * together if COST * shared < max(warp) else 0
    return found


def check(run: Callable[[], list[Any]], expected_rounds: int | None = None) -> None:
    """That ``run``, which makes objects in the current heap and launches, gives the same on both;
    in as many rounds, or with some (None)."""
    check_any(run)
    _check_rounds(expected_rounds)


def check_any(run: Callable[[], list[Any]]) -> None:
    """``check``, whether loops are shared or not."""
    assert _interpreted(run) == _on("cpu", run)


def check_expected(run: Callable[[], list[Any]], expected: list[Any]) -> None:
    """``check`` of what would be a race of the CPU's threads."""
    assert _interpreted(run) == expected
    _check_rounds(None)


def _check_rounds(expected: int | None) -> None:
    found = GPU.collectives[ROUNDS]
    assert found == expected if expected is not None else found > 0


def check_scattered(run: Callable[[], list[Any]], seed: int) -> None:
    """``check`` with warps whose threads are active together by chance, often all of them."""
    random = Random(seed)

    def choose(lanes: Any) -> Any:
        everyone = random.random() < 0.5
        return lanes if everyone else random.sample(lanes, random.randint(1, len(lanes)))

    GPU.choose = choose
    try:
        assert _interpreted(run) == _on("cpu", run)
    finally:
        GPU.choose = all_of_them


def _interpreted(run: Callable[[], list[Any]]) -> list[Any]:
    GPU.collectives.clear()
    return _on(GPU, run)


def _on(backend: Any, run: Callable[[], list[Any]]) -> list[Any]:
    with oa.Heap(mode="auto", backend=backend, capacity=_CAPACITY, initial_region=256):
        return run()
