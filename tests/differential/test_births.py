"""Random programs that make and end objects do what plain Python does, in every mode, in the same
places everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from dispatch.mode import MODES, parse_mode
from sharedoa.runtime import population_sequence, slot_calls

from ..backends.pretend_device import PretendDevice
from ..codegen.interpreted import InterpretedGpu
from ..modes import half_of, third_of
from .births import play_source
from .effort import IS_THOROUGH, examples, layout_for, references_for

BY_CLASS = [mode for mode in MODES if parse_mode(mode).placement == "by_type"]
ONE_BY_ONE = [mode for mode in MODES if mode not in BY_CLASS]
seeds = st.integers(0, 2**32 - 1)
INITIAL = 4


def played(
    folder: Path, seed: int, captures: bool = True, **options: Any
) -> list[dict[str, list[int]]]:
    with oa.Heap(initial_region=INITIAL, **options) as heap:
        return play_source(folder, seed, heap, captures)


def require_equal(
    folder: Path, seed: int, device: Callable[[], Any], captures: bool = True, **options: Any
) -> None:
    """Where a device lists free slots, objects are in the places that they have on a CPU.
    ``captures``: with captured steps, too."""
    for captured in (True, False) if captures else (False,):
        there = played(folder, seed, captures=captured, backend=device(), **options)
        assert there == played(folder, seed, captures=captured, backend="cpu", **options)


@pytest.mark.parametrize("mode", third_of(MODES, 2))
@settings(max_examples=examples(1))
@given(seed=seeds)
def test_compiled(tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int) -> None:
    seed += MODES.index(mode)  # another program in each mode
    folder = tmp_path_factory.mktemp("births")
    layout, references = layout_for(mode, seed), references_for(mode, seed)
    options = {"mode": mode, "layout": layout, "references": references}
    here = played(folder, seed, backend="cpu", **options)
    if not seed % 3:
        assert here == played(folder, seed, backend="python", **options)


@settings(max_examples=examples(2))
@given(seed=seeds)
def test_debug_mode(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder = tmp_path_factory.mktemp("births")
    mode = MODES[seed % len(MODES)]
    played(folder, seed, backend="cpu", mode=mode, debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=examples(2))
@given(seed=seeds)
def test_on_a_gpu(tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int) -> None:
    folder = tmp_path_factory.mktemp("births")
    options = {"mode": mode, "layout": layout_for(mode, seed), "references": "64"}
    require_equal(folder, seed, lambda: "cuda", **options)


@settings(max_examples=examples(1))
@given(seed=seeds)
def test_in_the_interpreter_of_ptx(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder = tmp_path_factory.mktemp("births")
    mode = MODES[seed % len(MODES)]
    options = {"mode": mode, "layout": layout_for(mode, seed), "references": "64"}
    # The pretended device below runs captured steps of the same code by the same host.
    require_equal(folder, seed, InterpretedGpu, captures=IS_THOROUGH, **options)


@pytest.mark.parametrize("mode", half_of(ONE_BY_ONE, 0))
@settings(max_examples=examples(1))
@given(seed=seeds)
def test_debug_mode_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int
) -> None:
    """Deleted objects are kept for a while, and others are in the same order."""
    folder = tmp_path_factory.mktemp("births")
    there = played(folder, seed, mode=mode, backend="cpu", debug=True)
    assert there == played(folder, seed, mode=mode, backend="cpu")


@settings(max_examples=examples(2))
@given(seed=seeds)
def test_where_a_device_lists_the_slots(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("births")
    mode = BY_CLASS[seed % len(BY_CLASS)]
    options = {"mode": mode, "layout": layout_for(mode, seed), "references": "64"}
    require_equal(folder, seed, lambda: PretendDevice(1 << 16), **options)


def test_calls_by_slot_are_among_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = 0

    def counting(*given: Any) -> Any:
        nonlocal called
        found = slot_calls.called_by_slot(*given)
        called += found is not None
        return found

    monkeypatch.setattr(population_sequence, "called_by_slot", counting)
    played(tmp_path, 1, backend=PretendDevice(1 << 16), mode="auto")
    assert called > 2
