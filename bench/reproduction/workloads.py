"""The paper's eleven workloads at the artifact's sizes, and the natural ports beside them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.interface import RunOptions, RunResult
from apps.registry import APPS
from dispatch.mode import parse_mode

#: Names the folder of the paper's inputs. Without it workloads run on generated ones of about the
#: same size.
DATA = "SHAREDOA_DATA"
BOARD, GRAPH = "tm.pgm.gz", "coauthors_synth.graph.gz"
BASELINE = "sharedoa"
PAPER_MODES = ("cuda", "concord", "sharedoa", "coal", "typepointer")
#: Modes of the paper, and the best of ours; ``auto`` knows which classes have objects.
MODES = (*PAPER_MODES, "tag+switch", "range+switch", "bits+switch", "auto")
_KERNEL = "kernel "


@dataclass(frozen=True)
class Workload:
    """A program with its input. ``small`` is (size, steps) of a run that shows that it works;
    ``input`` a file of the data folder; ``size`` and ``steps`` others than the paper's;
    ``arguments`` what the program takes besides."""

    name: str
    app: str
    small: tuple[int, int]
    input: str = ""
    size: int | None = None
    steps: int | None = None
    natural: bool = False
    arguments: tuple[tuple[str, Any], ...] = ()

    def full_steps(self) -> int:
        """Steps of a run at full size."""
        return APPS[self.app].paper_steps if self.steps is None else self.steps

    def run(
        self,
        mode: str,
        backend: str,
        full: bool,
        steps: int | None = None,
        timed: bool = True,
        on_launch: Callable[[Any], None] | None = None,
    ) -> RunResult:
        """Run it once, at full size or small, for ``steps`` where given."""
        app = APPS[self.app]
        small_size, small_steps = self.small
        usual_steps = self.full_steps() if full else small_steps
        options = RunOptions(
            size=(self.size or app.paper_size) if full else small_size,
            steps=usual_steps if steps is None else steps,
            input=data_file(self.input) if full else None,
            natural=self.natural,
            mode=mode,
            backend=backend,
            time_kernels=timed,
            on_launch=on_launch,
        )
        return app.run(options, **dict(self.arguments))


_GRAPH = (1000, 20)
WORKLOADS = (
    Workload("TRAF", "traffic", (20, 50)),
    Workload("GOL", "game_of_life", (60, 20), BOARD),
    Workload("STUT", "structure", (300, 2)),
    Workload("GEN", "generation", (221, 20)),
    Workload("BFS (vE)", "bfs", _GRAPH, GRAPH),
    Workload("CC (vE)", "cc", _GRAPH, GRAPH),
    Workload("PR (vE)", "pagerank", _GRAPH, GRAPH),
    Workload("BFS (vEN)", "bfs_ven", _GRAPH, GRAPH),
    Workload("CC (vEN)", "cc_ven", _GRAPH, GRAPH),
    Workload("PR (vEN)", "pagerank_ven", _GRAPH, GRAPH),
    Workload("RAY", "raytracer", (32, 1), size=512, arguments=(("objects", 100),)),
)
#: Several live classes at a call site, where the faithful ports have one in all but RAY.
NATURAL = (
    Workload("TRAF", "traffic", (20, 50), steps=1000, natural=True),
    Workload("GOL", "game_of_life", (60, 20), BOARD, steps=500, natural=True),
    Workload("STUT", "structure", (300, 2), natural=True),
    Workload("GEN", "generation", (221, 20), steps=300, natural=True),
    Workload("RAY", "raytracer", (32, 1), size=512, steps=8, natural=True),
    Workload("ROUTES", "routes", (200, 2), natural=True),
)
NAMES = tuple(dict.fromkeys(workload.name for workload in (*WORKLOADS, *NATURAL)))


def parse_workloads(text: str) -> tuple[str, ...]:
    """Names with commas between, in any case, with or without blanks and brackets: "TRAF,bfs-ve".

    Raises ValueError, with the valid names, for anything else.
    """
    known = {_plain(name): name for name in NAMES}
    names = [part for part in text.split(",") if part.strip()]
    unknown = [name.strip() for name in names if _plain(name) not in known]
    if unknown or not names:
        wrong = ", ".join(unknown) or "no name"
        raise ValueError(f"{wrong}: the workloads are {', '.join(NAMES)}")
    return tuple(dict.fromkeys(known[_plain(name)] for name in names))


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def data_file(name: str) -> Path | None:
    """A file of the data folder, if it is there."""
    folder = os.environ.get(DATA)
    file = Path(folder) / name if folder and name else None
    return file if file is not None and file.is_file() else None


def inputs() -> list[str]:
    """The files of the paper's inputs that are read; for the others there is a generated one."""
    return [name for name in (BOARD, GRAPH) if data_file(name)]


def is_scattered(mode: str) -> bool:
    """Whether objects are placed one by one, which takes up to a minute on a GPU."""
    return parse_mode(mode).placement == "scattered"


def kernel_seconds(result: RunResult) -> dict[str, float]:
    """Seconds of each kernel of a timed run."""
    return {
        name.removeprefix(_KERNEL): seconds
        for name, seconds in result.timings.items()
        if name.startswith(_KERNEL)
    }
