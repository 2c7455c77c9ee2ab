"""Runs the generations automaton: what the command line calls."""

from __future__ import annotations

import numpy as np

from ..common.automaton.board import read_board
from ..common.automaton.program import Automaton, run_automaton
from ..common.automaton.rule import ALIVE, CANDIDATE, DEAD, Flags, States
from ..interface import RunOptions, RunResult
from .burst import burst
from .faithful.simulation import FaithfulSimulation
from .natural.simulation import NaturalSimulation
from .parameters import RULE


def run(options: RunOptions) -> RunResult:
    """Run the automaton on the picture ``input``, or on the artifact's pattern on a board of
    ``size`` by ``size``; the seed has nothing to draw. ``run_automaton`` says what else there is to
    know.
    """

    def make_board() -> Flags:
        if options.input is not None:
            return read_board(options.input)
        assert options.size is not None
        return burst(options.size)

    return run_automaton(GENERATION, make_board, options)


def measure(states: States) -> dict[str, int]:
    """Cells that are undecayed, or decaying as well, and candidates; the artifact's checksum; and
    the sum of state * (id + 1) over all but candidates, where ids count the cells row by row."""
    undecayed = int(np.count_nonzero(states == ALIVE))
    alive = int(np.count_nonzero(states > DEAD))
    candidates = int(np.count_nonzero(states == CANDIDATE))
    ages = np.maximum(states.ravel(), DEAD).astype(np.int64)
    return {
        "undecayed": undecayed,
        "alive": alive,
        "candidates": candidates,
        "checksum": alive + candidates,
        "weighted": int(ages @ np.arange(1, states.size + 1)),
    }


GENERATION = Automaton(
    name="Generation",
    rule=RULE,
    faithful=FaithfulSimulation,
    natural=NaturalSimulation,
    measure=measure,
)
