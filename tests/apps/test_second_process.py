"""What a program compiles in a process of its own is on disk for the next one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apps.registry import APPS

from .. import forked
from ..source_files import environment

SIZES = {
    "traffic": 8, "game_of_life": 48, "structure": 300, "generation": 221, "wator": 32,
    "sugarscape": 24, "wolf_sheep": 32, "forest_fire": 32, "wealth": 200, "schelling": 32,
    "flocking": 100, "circles": 64, "boids": 100, "nbody": 64, "collision": 64, "barnes_hut": 200,
    "routes": 200, "raytracer": 16, "scalability": 2048,
}  # fmt: skip
"""Those of graphs have 200 vertices."""
QUICK = ("barnes_hut", "wator", "structure")
RUN = """
import json, sys
from apps.interface import RunOptions
from apps.registry import APPS
from sharedoa.runtime import background, launch
missed, compile = [], launch.compile
def noting(*given):
    made = compile(*given)
    if made.found is None:
        missed.append(made.job.name)
    return made
launch.compile = noting
app = APPS[sys.argv[1]]
app.run(RunOptions(size=int(sys.argv[2]), steps=3, backend="cpu", natural=app.has_natural))
background.wait()
print(json.dumps(missed))
"""


def missed(app: str, folder: Path) -> list[str]:
    """The kernels that a process that runs a program does not find."""
    script = folder / "run.py"
    script.write_text(RUN)
    done = forked.run([script, app, SIZES.get(app, 200)], environment())
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "app",
    [pytest.param(app, marks=() if app in QUICK else pytest.mark.slow) for app in APPS],
)
def test_the_second_process_finds_everything(app: str, tmp_path: Path) -> None:
    missed(app, tmp_path)
    assert missed(app, tmp_path) == []
