"""Boards and simulations of the generations automaton that several tests use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import sharedoa as oa
from apps.common.automaton.rule import Flags
from apps.common.automaton.simulation import Simulation
from apps.common.launches import Launches
from apps.generation.program import GENERATION, measure
from apps.registry import AppInfo
from dispatch.mode import MODES

APP = AppInfo(
    name="generation",
    title="automaton whose cells decay for 255 steps before they are dead, with agents",
    module="apps.generation",
    unit="cells a side",
    size=300,
    steps=400,
    seed=42,
    paper_size=1024,
    paper_steps=1000,
)
#: In which flavours it runs in which modes.
RUNS = [(mode, natural) for natural in (False, True) for mode in MODES]

#: Undecayed and live cells, candidates and weighted sum after some generations, by the side of the
#: board; None for what is not known. No code of ours computed these.
Row = tuple[int, int, int, int | None]
ROWS: dict[int, dict[int, Row]] = {
    300: {
        10: (7_261, 7_609, 820, None),
        300: (13_297, 19_849, 1_080, 0xA0935DCA7),
    },
    600: {
        300: (119_864, 154_904, 6_750, None),
    },
    1024: {
        0: (14_496, 14_496, 25_856, 0x1A6E39710),
        1: (38_048, 38_560, 25_856, 0x473D70710),
        10: (232_352, 243_488, 25_750, 0x2106FAD9D0),
        100: (531_986, 714_882, 2_776, 0x53440C9E64D),
        255: (516_286, 714_882, 2_520, 0x12C093A6CB6B),
        256: (516_286, 714_370, 3_032, 0x12C836946A45),
        300: (501_328, 614_000, 24_270, 0x8CC3272F75B),
        500: (455_794, 569_254, 28_604, 0x6915A4914E3),
        1000: (395_208, 510_460, 40_520, 0x3CAF95C49B4),
    },
}


def small_star() -> Flags:
    """A cross on a board of 9 by 9 cells."""
    board = np.zeros((9, 9), np.bool_)
    board[4, 2:7] = board[2:7, 4] = True
    return board


@contextmanager
def simulation(
    board: Flags, *, mode: str = "sharedoa", backend: Any = "cpu", natural: bool = False
) -> Iterator[Simulation]:
    """A simulation at its start, in a heap of its own."""
    with oa.Heap(mode=mode, backend=backend) as heap:
        flavour = GENERATION.natural if natural else GENERATION.faithful
        yield flavour(heap, board, Launches(heap, timed=False))


def check_row(running: Simulation, row: Row) -> None:
    """Compare with a row of the table above what the agents count and what the board shows."""
    undecayed, alive, candidates, weighted = row
    counts = measure(running.states())
    assert counts["undecayed"] == undecayed
    assert counts["alive"] == alive
    assert counts["candidates"] == candidates
    assert counts["checksum"] == running.tally()["checksum"] == alive + candidates
    assert weighted in (None, counts["weighted"])
