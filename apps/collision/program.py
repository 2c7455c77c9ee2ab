"""Runs collision: what the command line calls."""

from __future__ import annotations

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.stepwise import require_generated, run_steps
from ..interface import CheckFailed, RunOptions, RunResult
from .picture import frame
from .simulation import Simulation

#: How far apart bodies merge, in thousandths of the unit of length.
CONTACT = 5
#: By which part the sum of the masses may change, as masses are rounded whenever two merge.
ROUNDED = 1e-5


def run(options: RunOptions, contact: int = CONTACT) -> RunResult:
    """Run ``size`` bodies, which merge where they are less than ``contact`` thousandths apart.

    Raises ArgumentError for fewer than one body, a contact that is negative, an input, or output
    that cannot be written, before anything runs, and CheckFailed.
    """
    require_generated(options, "collision")
    assert options.size is not None and options.seed is not None
    count, seed = options.size, options.seed
    if not 1 <= count < (1 << 31) - 1:
        raise ArgumentError(f"there cannot be {count} bodies", "give a size from 1 to 2^31 - 2")
    if not 0 <= contact < 1 << 31:
        raise ArgumentError(
            f"bodies cannot merge within {contact} thousandths", "give a contact from 0 on"
        )
    return run_steps(
        options,
        lambda heap, launches: Simulation(heap, count, contact / 1000, seed, launches),
        _check,
        frame,
    )


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    state, shown = simulation.state(), simulation.shown_masses()
    mass = float(state.masses.sum(dtype=np.float64))
    if not abs(mass - simulation.whole_mass) <= ROUNDED * simulation.whole_mass:
        raise CheckFailed(f"step {step}: bodies weigh {mass}, not {simulation.whole_mass}")
    expected = np.zeros_like(shown)
    expected[state.numbers] = state.masses
    if not np.array_equal(shown, expected):
        wrong = int((shown != expected).sum())
        raise CheckFailed(f"step {step}: of {wrong} bodies others see another mass")
    return ["mass is kept", "others see the bodies that are left"]
