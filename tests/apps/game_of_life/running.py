"""Boards and simulations of the Game of Life that several tests use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import sharedoa as oa
from apps.common.automaton.rule import Flags
from apps.common.automaton.simulation import Simulation
from apps.common.launches import Launches
from apps.game_of_life.program import GAME_OF_LIFE, measure
from apps.registry import AppInfo
from dispatch.mode import MODES

APP = AppInfo(
    name="game-of-life",
    title="Conway's Game of Life, whose live cells and their dead neighbours are agents",
    module="apps.game_of_life",
    unit="cells a side",
    size=400,
    steps=500,
    seed=42,
    paper_size=1680,
    paper_steps=3000,
)
#: In which flavours it runs in which modes.
RUNS = [(mode, natural) for natural in (False, True) for mode in MODES]

#: The Turing machine: alive, candidates and hash after some generations, and alive and candidates
#: as the artifact reads the picture. No code of ours computed these.
TURING_MACHINE = {
    0: (36_549, 102_061, 0x73708F6F8650A741),
    1: (36_345, 115_307, 0x6FB5A5900FE011FB),
    2: (36_648, 114_447, 0x7F6CA542A772AEE9),
    10: (36_285, 115_831, 0x6FEADCEDEB124B6D),
    100: (36_204, 115_511, 0x6A19983682D43202),
    300: (36_567, 114_696, 0x73A31E9E0369E123),
    1000: (36_286, 115_808, 0x6FA85D4E6B69C0B0),
    3000: (36_506, 114_377, 0x70CB7D430C3E3834),
}
TURING_MACHINE_AS_ARTIFACT = {
    0: (36_549, 102_067),
    1: (36_343, 115_315),
    2: (36_646, 114_447),
    10: (36_283, 115_831),
    100: (36_263, 115_666),
    300: (36_618, 114_853),
    1000: (36_359, 116_021),
    3000: (36_460, 114_284),
}


def glider() -> Flags:
    """A board of 200 by 100 cells with a glider 30 cells above its lower edge."""
    board = np.zeros((100, 200), np.bool_)
    for x, y in ((1, 0), (2, 1), (0, 2), (1, 2), (2, 2)):
        board[70 + y, 70 + x] = True
    return board


@contextmanager
def simulation(
    board: Flags, *, mode: str = "sharedoa", backend: Any = "cpu", natural: bool = False
) -> Iterator[Simulation]:
    """A simulation at its start, in a heap of its own."""
    with oa.Heap(mode=mode, backend=backend) as heap:
        flavour = GAME_OF_LIFE.natural if natural else GAME_OF_LIFE.faithful
        yield flavour(heap, board, Launches(heap, timed=False))


def three_counts(running: Simulation) -> tuple[int, int, int]:
    """A row of the table above, both as the agents count and as the board shows."""
    counts = measure(running.states())
    assert running.tally() == {name: counts[name] for name in ("alive", "candidates")}
    return counts["alive"], counts["candidates"], counts["hash"]
