"""Threads that make objects in turn make those that plain Python makes, in the order of the
threads, and there are no more places than that; in the same places everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from dispatch.mode import MODES
from sharedoa.runtime.geometry import parse_geometry
from sharedoa.runtime.populations import turns_in

from ..backends.pretend_device import PretendDevice
from ..codegen.interpreted import InterpretedGpu
from .effort import examples, layout_for, references_for
from .turning import CLASSES, Turning

seeds = st.integers(0, 2**32 - 1)
LAUNCHES = ((37, 3, 2), (37, 2, 3), (37, 1, 4), (7, 5, 3), (1, 2, 2))
"""Threads, and the two numbers."""
MARKS = [2, 0, 1, 2]


def test_places_of_random_kernels(tmp_path: Path) -> None:
    """Without compiling any."""
    in_turn = 0
    for seed in range(30 * examples(1)):
        program = Turning(tmp_path, seed)
        uses = program.module.make.program.uses()
        for threads, a, b in LAUNCHES:
            geometry = parse_geometry(threads, 1)
            found = turns_in(uses, geometry, (a, b, None))
            assert turns_in(uses, geometry, (a, b, None)) == found
            made = program.made(threads, a, b, MARKS)
            for number in range(CLASSES):
                cls = getattr(program.module, f"Made{number}").__sharedoa__
                if cls not in found:
                    continue
                turns, own = found[cls], made[number]
                places = [*map(turns.number, range(threads))]
                used = [place for place in places if place is not None]
                assert used == [*range(turns.count(threads))], program.text
                assert None not in [places[thread] for thread in own], program.text
                in_turn += threads > 1 and len(used) == len(own)
    assert in_turn > 45 * examples(1)


def ids(program: Turning) -> list[list[int]]:
    classes = [getattr(program.module, f"Made{number}") for number in range(CLASSES)]
    return [[int(each.id) for each in oa.all(cls)] for cls in classes]


def played(program: Turning, **options: Any) -> list[list[list[int]]]:
    """Who lives, in order, after each of the launches; between them a third is deleted."""
    found = []
    with oa.Heap(initial_region=4, **options):
        marks = oa.array(oa.i32, MARKS)
        for place, (threads, a, b) in enumerate(LAUNCHES):
            program.module.make[threads](a, b, marks)
            found.append(ids(program))
            if not place:
                assert found[0] == program.made(threads, a, b, MARKS)
            for number in range(CLASSES):
                objects = [*oa.all(getattr(program.module, f"Made{number}"))]
                oa.delete(objects[place % 3 :: 3])
    return found


def require_captured(program: Turning, backend: Any) -> None:
    """A captured step, which runs without the host."""
    with oa.Heap(backend=backend) as heap:
        marks = oa.array(oa.i32, MARKS)
        threads, a, b = LAUNCHES[1]
        with oa.Capture(heap) as step:
            program.module.make[threads](a, b, marks)
        made = program.made(threads, a, b, MARKS)
        for _ in range(3):
            step.run()
            assert ids(program) == made
            oa.delete([*oa.all(program.module.Made)])


@settings(max_examples=examples(2))
@given(seed=seeds)
def test_random_kernels(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    program = Turning(tmp_path_factory.mktemp("turns"), seed)
    mode = MODES[seed % len(MODES)]
    options = {
        "mode": mode, "layout": layout_for(mode, seed), "references": references_for(mode, seed),
    }  # fmt: skip
    here = played(program, backend="cpu", **options)
    assert played(program, backend="python", **options) == here
    if layout_for(mode, seed) == "tile" or not seed % 2:
        there = {**options, "references": "64"}
        assert played(program, backend=PretendDevice(1 << 16), **there) == here
    require_captured(program, PretendDevice(1 << 16))


@settings(max_examples=examples(1))
@given(seed=seeds)
def test_in_the_interpreter_of_ptx(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """In every second program threads of a block may change places, as in no mode but this."""
    program = Turning(tmp_path_factory.mktemp("turns"), seed)
    mode = MODES[seed // 2 % len(MODES)] if seed % 2 else "auto"
    options = {"mode": mode, "layout": layout_for(mode, seed), "references": "64"}
    here = played(program, backend="cpu", **options)
    assert played(program, backend=InterpretedGpu(), **options) == here
    require_captured(program, InterpretedGpu())


@pytest.mark.gpu
@settings(max_examples=examples(4))
@given(seed=seeds)
def test_on_a_gpu(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    program = Turning(tmp_path_factory.mktemp("turns"), seed)
    mode = MODES[seed % len(MODES)]
    options = {"mode": mode, "layout": layout_for(mode, seed), "references": "64"}
    assert played(program, backend="cuda", **options) == played(program, backend="cpu", **options)
    require_captured(program, "cuda")
