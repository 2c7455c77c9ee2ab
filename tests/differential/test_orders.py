"""Objects stand in the same order on every backend, in every mode that has regions for classes, and
in every layout, whatever captured steps and the host do to them, and whatever moves by itself."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from dispatch.mode import MODES, parse_mode

from ..backends.pretend_device import PretendDevice
from ..codegen.interpreted import InterpretedGpu
from .effort import IS_THOROUGH, examples
from .orders import played

_BY_CLASS = [mode for mode in MODES if parse_mode(mode).placement == "by_type"]
_ONE_BY_ONE = [mode for mode in MODES if mode not in _BY_CLASS]
seeds = st.integers(0, 2**32 - 1)


def order(seed: int, backend: Any, mode: str, layout: str) -> list[list[int]]:
    initial = (4, 32, 64)[seed % 3]
    with oa.Heap(mode, backend, layout, initial_region=initial) as heap:
        return played(heap, seed)


@settings(max_examples=examples(6))
@given(seed=seeds)
def test_regions(seed: int) -> None:
    here = order(seed, "cpu", "auto", "aos")
    others = [_BY_CLASS[(seed + number) % len(_BY_CLASS)] for number in range(3)]
    assert order(seed, PretendDevice(1 << 16), "auto", "tile") == here
    assert order(seed, PretendDevice(1 << 16), others[0], "aos") == here
    assert order(seed, "python", others[1], ("aos", "tile")[seed % 2]) == here
    assert order(seed, "cpu", others[2], "tile") == here
    if IS_THOROUGH:
        assert order(seed, InterpretedGpu(), others[0], "tile") == here


@settings(max_examples=examples(2))
@given(seed=seeds)
def test_one_by_one(seed: int) -> None:
    here = order(seed, "cpu", _ONE_BY_ONE[0], "aos")
    assert order(seed, "python", _ONE_BY_ONE[-1], "aos") == here
    assert order(seed, PretendDevice(1 << 16), _ONE_BY_ONE[seed % 2], "aos") == here
