"""Structures, simulations and known results that several tests use."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import sharedoa as oa
from apps.common.launches import Launches
from apps.registry import AppInfo
from apps.structure.faithful.simulation import FaithfulSimulation
from apps.structure.generated import generate
from apps.structure.natural.simulation import NaturalSimulation
from apps.structure.simulation import Simulation
from apps.structure.state import check
from apps.structure.structure import Structure
from dispatch.mode import MODES

from .reference import Reference

APP = AppInfo(
    name="structure",
    title="springs between held, pulled and free nodes, which break when stretched too far",
    module="apps.structure",
    unit="nodes",
    size=1500,
    steps=40,
    seed=42,
    paper_size=150_000,
    paper_steps=10,
)
#: In which flavours it runs in which modes.
RUNS = [(mode, natural) for natural in (False, True) for mode in MODES]

#: Nodes, search launches a step, and after some steps: springs broken and cut off so far, springs
#: and nodes left, checksum in thousandths. No code of ours computed these.
Row = tuple[int, int, int, int, int]
SMALL: dict[int, Row] = {10: (16, 3, 2_606, 1_492, 13_609)}
MEDIUM: dict[int, Row] = {10: (182, 11, 26_057, 14_970, 147_023)}
PAPER: dict[int, Row] = {
    1: (0, 154, 262_346, 149_708, 255_997),
    4: (0, 154, 262_346, 149_708, 615_456),
    5: (7, 154, 262_339, 149_707, 766_350),
    6: (90, 154, 262_256, 149_703, 924_617),
    7: (323, 154, 262_023, 149_691, 1_086_192),
    8: (728, 154, 261_618, 149_674, 1_244_178),
    9: (1_254, 158, 261_088, 149_639, 1_398_339),
    10: (1_853, 160, 260_487, 149_601, 1_550_139),
}
TABLES: dict[int, dict[int, Row]] = {1_500: SMALL, 15_000: MEDIUM, 150_000: PAPER}
#: Springs broken in each step with 1,500 nodes.
SMALL_BROKEN = [0, 0, 0, 0, 0, 1, 1, 3, 3, 8]
SEARCH_LAUNCHES = {1_500: 7, 15_000: 8, 150_000: 9}
#: After ten steps of the natural flavour with repairs, as the reference counts them; then how many
#: were repaired.
REPAIRED: dict[int, tuple[Row, int]] = {
    1_500: ((16, 3, 2_634, 1_506, 14_156), 14),
    15_000: ((186, 11, 26_391, 15_137, 154_516), 169),
    150_000: ((1_865, 160, 263_991, 151_361, 1_634_038), 1_758),
}
#: After how many steps ``torn_apart`` is.
TORN = 60
NAMES = ("broken", "cut_off", "springs", "nodes", "checksum_thousandths")


@functools.cache
def generated_structure(size: int) -> Structure:
    """The paper's structure with that many nodes."""
    return generate(size, 42)


@contextmanager
def simulation(
    structure: Structure,
    *,
    mode: str = "sharedoa",
    backend: Any = "cpu",
    natural: bool = False,
    repair: bool = False,
    initial_region: int | None = None,
) -> Iterator[Simulation]:
    """A simulation at its start, in a heap of its own."""
    with oa.Heap(mode=mode, backend=backend, initial_region=initial_region) as heap:
        launches = Launches(heap, timed=False)
        if natural:
            yield NaturalSimulation(heap, structure, launches, repair)
        else:
            yield FaithfulSimulation(heap, structure, launches)


def advance_to(running: Simulation, step: int) -> dict[str, int]:
    """Run up to a step; the counts then."""
    while running.step < step:
        running.advance()
    return running.counts()


@functools.cache
def torn_apart(repair: bool) -> Reference:
    """Most of a structure of 400 nodes has come off."""
    reference = Reference(generated_structure(400), repair=repair)
    for _ in range(TORN):
        reference.advance()
    return reference


def require_table(running: Simulation, size: int) -> None:
    """Run all steps of a table, demand its rows, and the invariants at the end."""
    for step, row in TABLES[size].items():
        counts = advance_to(running, step)
        assert tuple(counts[name] for name in NAMES) == row, f"step {step}"
        assert counts["search_launches"] == step * SEARCH_LAUNCHES[size]
    require_invariants(running, generated_structure(size))


def require_invariants(running: Simulation, structure: Structure) -> None:
    assert len(list(check(running.state(), structure, running.step))) == 5


def require_repaired(size: int, mode: str, backend: str) -> None:
    """Ten steps of the natural flavour with repairs give what REPAIRED says."""
    structure = generated_structure(size)
    with simulation(structure, mode=mode, backend=backend, natural=True, repair=True) as running:
        counts = advance_to(running, 10)
        require_invariants(running, structure)
    row, repaired = REPAIRED[size]
    assert tuple(counts[name] for name in NAMES) == row
    assert counts["repaired"] == repaired


def bits(x: Any, y: Any) -> Any:
    """Places as integers in ascending order: equal for equal places in any order."""
    words = [np.ascontiguousarray(v, np.float32).view(np.uint32).astype(np.uint64) for v in (x, y)]
    return np.sort(words[0] << np.uint64(32) | words[1])
