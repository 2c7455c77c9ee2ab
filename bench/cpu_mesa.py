"""The CPU backend beside Mesa 3: wolf_sheep, flocking and schelling, the same rules and numbers.

Mesa's programs (``bench/peers/mesa_*.py``) run in a process of their own, with the interpreter that
``PEER_MESA_PYTHON`` names, one at a time with ours. Its agents act one after another where ours act
in phases, and it draws other random numbers, so that counts are alike, not equal; both are in the
record. Each step is a sample, the same steps of both, of ours in a second heap, after code was
compiled. Mesa runs on one core, ours on all.

Expected before running, on two cores: an agent of Mesa takes 15 us a step of wolf_sheep or
schelling, so 150 ms for 10^4 of them, where ours take 5 and 0.5 ms: 30 and 300 times as long. Its
space compares each bird with all, so flocking takes 100 ms for 10^3 birds, 2.5 s for 10^4 and 300 s
for 10^5, where ours take 0.4, 2.3 and 30 ms: 250, 1,000 and 10,000 times as long.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import sharedoa as oa
from apps.common.launches import Launches
from bench.agents import PROGRAMS
from bench.comparison.toolset import ROOT, Tool
from bench.harness import MILLISECONDS, Options, Result, main, show, summary
from sharedoa.cores import worker_count
from sharedoa.errors import ConfigurationError

_MESA = Tool("Mesa", "", "agents in Python, one after another", "MESA")
_SEED = 42
#: Of the interpreter, when Mesa is not there.
_MISSING = "No module named 'mesa'"


class _Case(NamedTuple):
    program: str
    agents: int
    steps: int


_CASES = (
    _Case("wolf_sheep", 10**3, 10),
    _Case("wolf_sheep", 10**4, 10),
    _Case("wolf_sheep", 10**5, 5),
    _Case("flocking", 10**3, 10),
    _Case("flocking", 10**4, 5),
    _Case("flocking", 10**5, 1),
    _Case("schelling", 10**3, 10),
    _Case("schelling", 10**4, 10),
    _Case("schelling", 10**5, 5),
)
_SMALL = tuple(_Case(name, 500, 3) for name in ("wolf_sheep", "flocking", "schelling"))


def run(options: Options) -> Result:
    """Time every case on both sides; nothing where Mesa is not installed."""
    result = Result("cpu-mesa", "cpu", {"seed": _SEED, "cores": worker_count()})
    if options.backend not in ("auto", "cpu"):
        print(f"cpu_mesa: skipped on {options.backend}, it is about the CPU backend", flush=True)
        return result
    for case in _CASES if options.full else _SMALL:
        mesa = _by_mesa(case)
        if mesa is None:
            print("cpu_mesa: skipped, Mesa is not installed (pip install mesa)", flush=True)
            return result
        result.settings["mesa"] = mesa.pop("versions")
        with result.attempt(f"{case.program}, {case.agents} agents"):
            ours = _by_us(case)
            row = {"program": case.program, "agents": case.agents, "steps": case.steps}
            for tool, found in (("sharedoa", ours), ("mesa", mesa)):
                samples = summary(found.pop("samples"))
                result.rows.append({**row, "tool": tool, **found, **samples})
    _show(result)
    return result


def _by_us(case: _Case) -> dict[str, Any]:
    """As Mesa's process prints it."""
    found: dict[str, Any] = {}
    for _ in range(2):  # the first one compiles
        with oa.Heap(backend="cpu") as heap:
            start = perf_counter()
            simulation = PROGRAMS[case.program].make(heap, case.agents, Launches(heap, timed=False))
            heap.synchronize()
            times = [perf_counter() - start]
            for _ in range(case.steps):
                start = perf_counter()
                simulation.advance()
                heap.synchronize()
                times.append(perf_counter() - start)
            counts = simulation.counts()
            found = {"made in": times[0], "samples": times[1:], "counts": counts}
    return found


def _by_mesa(case: _Case) -> dict[str, Any] | None:
    """What Mesa's process prints; None without Mesa. Raises ConfigurationError for one that ends
    in another way."""
    arguments = case.program, str(case.agents), str(case.steps), str(_SEED)
    with tempfile.TemporaryDirectory(prefix="mesa-") as folder:
        try:
            done = subprocess.run(
                [_MESA.interpreter, "-m", "bench.peers.mesa_run", *arguments],
                cwd=ROOT,
                env=_MESA.environment(Path(folder)),
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise ConfigurationError(
                f"{_MESA.interpreter} cannot be run: {error}",
                "have PEER_MESA_PYTHON name the interpreter of an environment with Mesa",
            ) from error
    if _MISSING in done.stderr:
        return None
    if done.returncode != 0:
        raise ConfigurationError(
            f"Mesa's {case.program} ended with status {done.returncode}: {done.stderr[-500:]}",
            "run it with Mesa 3.3: pip install mesa==3.3.1",
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _show(result: Result) -> None:
    pairs = zip(result.rows[::2], result.rows[1::2], strict=True)
    show(
        "Beside Mesa, milliseconds a step (median)",
        ["program", "agents", "sharedoa", "Mesa", "times as long"],
        [
            [
                ours["program"], ours["agents"], MILLISECONDS * ours["median"],
                MILLISECONDS * mesa["median"], mesa["median"] / ours["median"],
            ]
            for ours, mesa in pairs
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(run, __doc__)
