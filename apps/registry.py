"""The programs by name. A program's module, and with it sharedoa, is imported when it runs."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .interface import RunOptions, RunResult


@dataclass(frozen=True)
class Setting:
    """What one program takes besides the options of all."""

    name: str
    kind: type[int] | type[bool]
    title: str

    def value_of(self, text: str) -> Any:
        """Raises ValueError unless it is a number, 0 or 1 for what is on or off."""
        value = int(text)
        if self.kind is bool and value not in (0, 1):
            raise ValueError(text)
        return self.kind(value)


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
    settings: tuple[Setting, ...] = ()
    #: Whether it has the classes that a user would write: ``RunOptions.natural``.
    has_natural: bool = True

    def settings_from(self, texts: Sequence[str]) -> dict[str, Any]:
        """``NAME=VALUE`` each. Raises ValueError, with what there is, for anything else."""
        known = {setting.name: setting for setting in self.settings}
        found = {}
        for text in texts:
            name, _, value = text.partition("=")
            try:
                found[name] = known[name].value_of(value)
            except (KeyError, ValueError):
                takes = ", ".join(f"{s.name} ({s.title})" for s in self.settings) or "nothing"
                raise ValueError(
                    f"{text!r} is no setting of {self.name}: it takes {takes}"
                ) from None
        return found

    def with_defaults(self, options: RunOptions) -> RunOptions:
        """``options`` with the program's own size, steps and seed for those left open."""
        return dataclasses.replace(
            options,
            size=self.size if options.size is None else options.size,
            steps=self.steps if options.steps is None else options.steps,
            seed=self.seed if options.seed is None else options.seed,
        )

    def run(self, options: RunOptions, **arguments: Any) -> RunResult:
        """Run with the program's defaults for what ``options`` leaves open; ``arguments`` are what
        this program takes besides."""
        given = self.with_defaults(options)
        program = importlib.import_module(self.module)
        result: RunResult = program.run(given, **{**options.settings, **arguments})
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
            settings=(
                Setting("as_artifact", bool, "1: read pictures with the artifact's mistake"),
            ),
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
            settings=(Setting("repair", bool, "0: what breaks stays so, natural flavour"),),
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
            name="wator",
            title="fish and sharks that are born, move and die on a torus",
            module="apps.wator",
            unit="cells a side",
            size=256,
            steps=300,
            seed=42,
            paper_size=2048,
            paper_steps=500,
            settings=(
                Setting("width", int, "cells in x, if not the size"),
                Setting("height", int, "cells in y, if not the size"),
            ),
            has_natural=False,
        ),
        AppInfo(
            name="sugarscape",
            title="males and females that look for sugar, grow old and have children",
            module="apps.sugarscape",
            unit="cells a side",
            size=200,
            steps=200,
            seed=42,
            paper_size=1700,
            paper_steps=500,
            settings=(
                Setting("width", int, "cells in x, if not the size"),
                Setting("height", int, "cells in y, if not the size"),
            ),
            has_natural=False,
        ),
        AppInfo(
            name="wolf_sheep",
            title="sheep that eat grass and wolves that eat sheep, both born and dying, on a torus",
            module="apps.wolf_sheep",
            unit="cells a side",
            size=250,
            steps=1000,
            seed=42,
            paper_size=2500,
            paper_steps=1000,
            settings=(
                Setting("width", int, "cells in x, if not the size"),
                Setting("height", int, "cells in y, if not the size"),
            ),
            has_natural=False,
        ),
        AppInfo(
            name="forest_fire",
            title="trees that light each other; each fire is an object for one step",
            module="apps.forest_fire",
            unit="cells a side",
            size=300,
            steps=300,
            seed=42,
            paper_size=1000,
            paper_steps=1000,
            settings=(Setting("density", int, "percent of the cells that have trees"),),
            has_natural=False,
        ),
        AppInfo(
            name="wealth",
            title="people who give to each other at random, until few have much",
            module="apps.wealth",
            unit="people",
            size=100_000,
            steps=1000,
            seed=42,
            paper_size=1_000_000,
            paper_steps=1000,
            has_natural=False,
        ),
        AppInfo(
            name="schelling",
            title="Schelling's model: people of two groups, who move to be among their own",
            module="apps.schelling",
            unit="cells a side",
            size=200,
            steps=1000,
            seed=42,
            paper_size=1000,
            paper_steps=1000,
            settings=(
                Setting("width", int, "cells in x, if not the size"),
                Setting("height", int, "cells in y, if not the size"),
            ),
            has_natural=False,
        ),
        AppInfo(
            name="flocking",
            title="birds that fly with those they see, after Reynolds",
            module="apps.flocking",
            unit="birds",
            size=2000,
            steps=300,
            seed=42,
            paper_size=1_000_000,
            paper_steps=100,
            settings=(
                Setting("side", int, "of the plane, if each bird is not to have an area of 50"),
                Setting("sight", int, "how far birds see"),
            ),
            has_natural=False,
        ),
        AppInfo(
            name="circles",
            title="circles in space that keep a distance from each other",
            module="apps.circles",
            unit="circles",
            size=4096,
            steps=300,
            seed=42,
            paper_size=1_000_000,
            paper_steps=100,
            has_natural=False,
        ),
        AppInfo(
            name="boids",
            title="birds in a cube that fly with those they see, after Reynolds",
            module="apps.boids",
            unit="birds",
            size=4000,
            steps=1000,
            seed=42,
            paper_size=1_000_000,
            paper_steps=100,
            settings=(Setting("sight", int, "how far birds see, in thousandths of the edge"),),
            has_natural=False,
        ),
        AppInfo(
            name="nbody",
            title="bodies that all pull each other",
            module="apps.nbody",
            unit="bodies",
            size=2000,
            steps=100,
            seed=42,
            paper_size=20_000,
            paper_steps=100,
            has_natural=False,
        ),
        AppInfo(
            name="collision",
            title="bodies that pull each other, and merge where they meet",
            module="apps.collision",
            unit="bodies",
            size=3000,
            steps=100,
            seed=42,
            paper_size=40_000,
            paper_steps=50,
            settings=(
                Setting("contact", int, "thousandths of the unit within which bodies merge"),
            ),
            has_natural=False,
        ),
        AppInfo(
            name="barnes_hut",
            title="bodies that attract each other, in a quadtree of objects, after Barnes and Hut",
            module="apps.barnes_hut",
            unit="bodies",
            size=3000,
            steps=300,
            seed=42,
            paper_size=300_000,
            paper_steps=4000,
            settings=(Setting("mass", int, "of the heaviest body; 1000 if not given"),),
            has_natural=False,
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
            has_natural=False,
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
            has_natural=False,
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
            has_natural=False,
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
            has_natural=False,
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
            has_natural=False,
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
            has_natural=False,
        ),
        AppInfo(
            name="sssp",
            title="shortest paths of a graph whose edges have random lengths",
            module="apps.graphs.natural.sssp",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
            settings=(Setting("longest", int, "length of an edge; 255 if not given"),),
            has_natural=False,
        ),
        AppInfo(
            name="kcore",
            title="core numbers of a graph, by removing who has the fewest neighbours",
            module="apps.graphs.natural.kcore",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
            has_natural=False,
        ),
        AppInfo(
            name="triangles",
            title="triangles of a graph, and how many each vertex is in",
            module="apps.graphs.natural.triangles",
            unit="vertices",
            size=20_000,
            steps=1,
            seed=0,
            paper_size=299_067,
            paper_steps=1,
            has_natural=False,
        ),
        AppInfo(
            name="label_propagation",
            title="communities of a graph, by taking the label that most neighbours have",
            module="apps.graphs.natural.label_propagation",
            unit="vertices",
            size=20_000,
            steps=20,
            seed=0,
            paper_size=299_067,
            paper_steps=20,
            has_natural=False,
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
            settings=(Setting("objects", int, "of the scene, faithful flavour"),),
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
            has_natural=False,
            settings=(
                Setting("num_classes", int, "classes"),
                Setting("threads_per_block", int, "threads of a block"),
                Setting("num_compute", int, "additions of a call"),
            ),
        ),
    ]
}
