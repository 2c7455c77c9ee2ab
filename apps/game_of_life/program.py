"""Runs the Game of Life: what the command line calls."""

from __future__ import annotations

import numpy as np

from ..common.automaton.board import read_board
from ..common.automaton.program import Automaton, run_automaton
from ..common.automaton.rule import ALIVE, CANDIDATE, Flags, States
from ..interface import RunOptions, RunResult
from .boards import random_board, shifted
from .faithful.simulation import FaithfulSimulation
from .natural.simulation import NaturalSimulation
from .parameters import RULE

_HASH_FACTOR = np.uint64(2654435761)


def run(options: RunOptions, as_artifact: bool = False) -> RunResult:
    """Run the Game of Life on the picture ``input`` or a random board of ``size`` by ``size``.

    ``as_artifact`` reads pictures with the artifact's mistake, for comparisons with its results;
    ``run_automaton`` says what else there is to know.
    """

    def make_board() -> Flags:
        if options.input is not None:
            board = read_board(options.input)
            return shifted(board) if as_artifact else board
        assert options.size is not None and options.seed is not None
        return random_board(options.size, options.seed)

    return run_automaton(GAME_OF_LIFE, make_board, options)


def measure(states: States) -> dict[str, int]:
    """Live cells and candidates, and the sum of (id + 1) * 2654435761 over live cells, modulo
    2**64; ids count the cells row by row."""
    ids = np.flatnonzero(states == ALIVE).astype(np.uint64)
    return {
        "alive": len(ids),
        "candidates": int(np.count_nonzero(states == CANDIDATE)),
        "hash": int(((ids + np.uint64(1)) * _HASH_FACTOR).sum(dtype=np.uint64)),
    }


GAME_OF_LIFE = Automaton(
    name="Game of Life",
    rule=RULE,
    faithful=FaithfulSimulation,
    natural=NaturalSimulation,
    measure=measure,
)
