"""Automata beside their reference on arrays, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from hypothesis.extra.numpy import array_shapes, arrays

from apps.common.automaton.reference import Reference
from apps.common.automaton.rule import Rule
from apps.common.automaton.simulation import Simulation

BOARDS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12))


def comparing(
    rule: Rule, simulation: Callable[..., AbstractContextManager[Simulation]]
) -> Callable[..., int]:
    """What compares an automaton with the reference after every step, and gives the number of live
    cells at the end."""

    def compare(board: np.ndarray, steps: int, mode: str, backend: Any, natural: bool) -> int:
        reference = Reference(rule, board)
        with simulation(board, mode=mode, backend=backend, natural=natural) as running:
            for step in range(steps + 1):
                if step > 0:
                    running.advance()
                    reference.advance()
                found = running.states()
                assert np.array_equal(found, reference.states()), f"step {step}"
        return int((found > 0).sum())

    return compare
