"""Runs Barnes-Hut: what the command line calls."""

from __future__ import annotations

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.stepwise import require_generated, run_steps
from ..interface import CheckFailed, RunOptions, RunResult
from .classes import HALVINGS
from .picture import frame
from .simulation import Simulation

#: The largest mass of a body.
MASS = 1000


def run(options: RunOptions, mass: int = MASS) -> RunResult:
    """Run ``size`` bodies with masses from half of ``mass`` to ``mass``.

    Raises ArgumentError for numbers that make no bodies, an input, or output that cannot be
    written, before anything runs, and CheckFailed.
    """
    assert options.size is not None and options.seed is not None
    require_generated(options, "barnes_hut")
    count, seed = options.size, options.seed
    if not 1 <= count < 1 << 31:
        raise ArgumentError(f"{count} bodies have no tree", "give a size from 1 to 2^31 - 1")
    if not 1 <= mass < 1 << 63:
        raise ArgumentError(
            f"bodies cannot have a mass of {mass}", "give a mass from 1 to 2^63 - 1"
        )
    return run_steps(
        options,
        lambda heap, launches: Simulation(heap, count, float(mass), seed, launches),
        _check,
        frame,
    )


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    bodies, tree = simulation.bodies(), simulation.tree()
    inner = tree.parents != -1

    def require(holds: bool, complaint: str) -> None:
        if not holds:
            raise CheckFailed(f"step {step}: {complaint}")

    low, high, level = (each[bodies.parents] for each in (tree.lows, tree.highs, tree.levels))
    inside = (low < bodies.positions) & (bodies.positions <= high)
    quadrants = (bodies.positions > (low + high) / 2) @ (1, 2)
    placed = (quadrants == bodies.quadrants) | (level >= HALVINGS)
    require(bool(inside.all() and placed.all()), "a body is not in its quadrant")
    places = 4 * bodies.parents.astype(np.int64) + bodies.quadrants
    inner_places = 4 * tree.parents[inner].astype(np.int64) + tree.quadrants[inner]
    together = np.concatenate([places, inner_places])
    require(len(np.unique(together)) == len(together), "a quadrant has two in it")
    require(bool((tree.bodies[inner] >= 2).all()), "a node has less than two bodies")
    for what, found, of_bodies in (
        ("bodies", tree.bodies, np.ones(len(bodies.masses))),
        ("mass", tree.masses, bodies.masses),
    ):
        parts = np.bincount(bodies.parents, of_bodies, len(found))
        parts += np.bincount(tree.parents[inner], found[inner], len(found))
        require(np.allclose(parts, found, rtol=1e-12, atol=0), f"a node has another {what}")
    return [
        "bodies are in their quadrants",
        "quadrants have one body or node",
        "nodes have two bodies or more",
        "nodes have the mass of what is in them",
    ]
