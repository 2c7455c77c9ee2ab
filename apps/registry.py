"""The programs by name. A program's module, and with it sharedoa, is imported when it runs."""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass
from typing import Any

from .interface import RunOptions, RunResult


@dataclass(frozen=True)
class AppInfo:
    """A program: its name on the command line, what it does, and the size it runs at by itself."""

    name: str
    title: str
    #: Holds ``run(options: RunOptions) -> RunResult``.
    module: str
    #: What ``size`` counts.
    unit: str
    size: int
    steps: int
    seed: int
    #: The size and steps of the paper's measurements.
    paper_size: int
    paper_steps: int

    def run(self, options: RunOptions, **arguments: Any) -> RunResult:
        """Run with the program's defaults for what ``options`` leaves open; ``arguments`` are what
        this program takes besides."""
        given = dataclasses.replace(
            options,
            size=self.size if options.size is None else options.size,
            steps=self.steps if options.steps is None else options.steps,
            seed=self.seed if options.seed is None else options.seed,
        )
        result: RunResult = importlib.import_module(self.module).run(given, **arguments)
        return result


APPS: dict[str, AppInfo] = {
    app.name: app
    for app in [
        AppInfo(
            name="traffic",
            title="Nagel-Schreckenberg road traffic with lights, on a generated or a real network",
            module="apps.traffic",
            unit="intersections",
            size=200,
            steps=500,
            seed=42,
            paper_size=850,
            paper_steps=5000,
        ),
        AppInfo(
            name="game_of_life",
            title="Conway's Game of Life, whose live cells and their dead neighbours are agents",
            module="apps.game_of_life",
            unit="cells a side",
            size=400,
            steps=500,
            seed=42,
            paper_size=1680,
            paper_steps=3000,
        ),
        AppInfo(
            name="structure",
            title="springs between held, pulled and free nodes, which break when stretched too far",
            module="apps.structure",
            unit="nodes",
            size=1500,
            steps=40,
            seed=42,
            paper_size=150_000,
            paper_steps=10,
        ),
        AppInfo(
            name="generation",
            title="automaton whose cells decay for 255 steps before they are dead, with agents",
            module="apps.generation",
            unit="cells a side",
            size=300,
            steps=400,
            seed=42,
            paper_size=1024,
            paper_steps=1000,
        ),
        AppInfo(
            name="bfs",
            title="breadth-first levels of a graph, virtual edges",
            module="apps.graphs.ve.bfs",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
        ),
        AppInfo(
            name="cc",
            title="connected components of a graph, virtual edges",
            module="apps.graphs.ve.cc",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
        ),
        AppInfo(
            name="pagerank",
            title="PageRank of a graph, virtual edges",
            module="apps.graphs.ve.pagerank",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
        ),
        AppInfo(
            name="bfs_ven",
            title="breadth-first levels, virtual edges and vertices",
            module="apps.graphs.ven.bfs",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
        ),
        AppInfo(
            name="cc_ven",
            title="connected components, virtual edges and vertices",
            module="apps.graphs.ven.cc",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
        ),
        AppInfo(
            name="pagerank_ven",
            title="PageRank, virtual edges and vertices",
            module="apps.graphs.ven.pagerank",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
        ),
        AppInfo(
            name="routes",
            title="fastest routes by road, ferry and on foot, in a town or a real network",
            module="apps.routes",
            unit="nodes",
            size=5_000,
            steps=20,
            seed=1,
            paper_size=100_000,
            paper_steps=20,
        ),
        AppInfo(
            name="raytracer",
            title="ray tracing: mirror-like spheres, or shapes of glass, metal and matt colours",
            module="apps.raytracer",
            unit="pixels a side",
            size=200,
            steps=8,
            seed=47,
            paper_size=64,
            paper_steps=1,
        ),
        AppInfo(
            name="scalability",
            title="one virtual call a thread on objects of several classes, beside a mere branch",
            module="apps.scalability",
            unit="objects",
            size=1 << 20,
            steps=10,
            seed=1,
            paper_size=32 << 20,
            paper_steps=1,
        ),
    ]
}
