"""The programs by name. A program's module, and with it sharedoa, is imported when it runs."""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass

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

    def run(self, options: RunOptions) -> RunResult:
        """Run with the program's defaults for what ``options`` leaves open."""
        given = dataclasses.replace(
            options,
            size=self.size if options.size is None else options.size,
            steps=self.steps if options.steps is None else options.steps,
            seed=self.seed if options.seed is None else options.seed,
        )
        result: RunResult = importlib.import_module(self.module).run(given)
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
    ]
}
