"""Runs forest fire: what the command line calls."""

from __future__ import annotations

from sharedoa.errors import ArgumentError

from ..common.stepwise import require_generated, run_steps
from ..interface import CheckFailed, RunOptions, RunResult
from .picture import frame
from .simulation import BURNING, BURNT, GREEN, Simulation


def run(options: RunOptions, density: int = 90) -> RunResult:
    """Run a forest of ``size`` by ``size`` cells, of which ``density`` percent have trees.

    Raises ArgumentError for numbers that make no forest, an input, or output that cannot be
    written, before anything runs, and CheckFailed.
    """
    assert options.size is not None and options.seed is not None
    require_generated(options, "forest_fire")
    size, seed = options.size, options.seed
    if not (1 <= size < 1 << 15 and 0 <= density <= 100):
        raise ArgumentError(
            f"a forest cannot have {size} by {size} cells and trees on {density} % of them",
            "give a size from 1 to 32767, and a density from 0 to 100",
        )
    return run_steps(
        options,
        lambda heap, launches: Simulation(heap, size, density / 100, seed, launches),
        _check,
        frame,
    )


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    states = simulation.states()
    shown = {"green": GREEN, "burning": BURNING, "burnt": BURNT}
    shown = {name: int((states == state).sum()) for name, state in shown.items()}
    counts = simulation.counts()
    if shown != counts:
        raise CheckFailed(f"step {step}: cells show {shown}, but there are {counts}")
    left, right = states[:, :-1], states[:, 1:]
    upper, lower = states[:-1], states[1:]
    for first, second in ((left, right), (right, left), (upper, lower), (lower, upper)):
        if ((first == BURNT) & (second == GREEN)).any():
            raise CheckFailed(f"step {step}: a green tree stands beside a burnt one")
    return ["each fire has a tree", "fire leaves no tree out"]
