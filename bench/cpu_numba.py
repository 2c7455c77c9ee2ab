"""The CPU backend beside numba: the same programs as parallel loops over NumPy arrays.

Game of life and traffic in their faithful flavours, and a game of life without agents, against the
sources in ``bench/peers``; both sides get the same cores and must count the same. Rounds of both
alternate, so that whatever else the machine does meets both; the ratio is the median over rounds of
our seconds a step to numba's, below 1 where we are faster. Needs numba, which is no dependency of
the project. Its threads are those of its own pool: OpenMP's go on spinning after a loop, on the
cores that we are measured on then (``NUMBA_THREADING_LAYER`` chooses others).

Expected before running: at most 1.2 with layout aos. Fields of 4 bytes that lie 12 to 160 bytes
apart cost where memory is what a loop waits for.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

import sharedoa as oa
from apps.common.automaton.rule import Flags
from apps.common.launches import Launches
from apps.game_of_life.boards import random_board
from apps.game_of_life.faithful.simulation import FaithfulSimulation as FaithfulLife
from apps.traffic.faithful.simulation import FaithfulSimulation as FaithfulTraffic
from apps.traffic.generated import generate
from apps.traffic.network import build
from bench.harness import MILLISECONDS, Options, Result, main, show, summary
from dispatch.mode import AUTO
from sharedoa.cores import worker_count

LAYOUTS = ("aos", "tile")
SEED = 42
#: Rounds at the sizes that are recorded, and else.
_ROUNDS, _FEW_ROUNDS = 9, 2


class Simulation(Protocol):
    """Either side of a case."""

    def advance(self) -> None: ...

    def counts(self) -> dict[str, int]: ...


@dataclass(frozen=True)
class Case:
    """A program and its input: how either side makes its simulation, and steps of one round."""

    name: str
    steps: int
    numba: Callable[[], Simulation]
    ours: Callable[[Any], Simulation]


class _Life:
    """The faithful game of life, which counts by a tally."""

    def __init__(self, heap: Any, board: Flags) -> None:
        self._simulation = FaithfulLife(heap, board, Launches(heap, timed=False))
        self.advance = self._simulation.advance
        self.counts = self._simulation.tally


def run(options: Options) -> Result:
    """Every case in every layout; counts that differ from numba's are failures."""
    rounds = _ROUNDS if options.full else _FEW_ROUNDS
    settings = {"rounds": rounds, "cores": worker_count(), "seed": SEED}
    result = Result("cpu-numba", "cpu", settings)
    if find_spec("numba") is None:
        print("cpu_numba: skipped, numba is not installed (pip install numba)", flush=True)
        return result
    if options.backend not in ("auto", "cpu"):
        print(f"cpu_numba: skipped on {options.backend}, it is about the CPU backend", flush=True)
        return result
    os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")
    import numba

    numba.set_num_threads(min(worker_count(), numba.config.NUMBA_NUM_THREADS))
    for case in _cases(options.full):
        for layout in LAYOUTS:
            with result.attempt(f"{case.name}, layout {layout}"):
                result.rows.append(_measure(case, layout, rounds))
            gc.collect()
    if result.rows:
        settings |= {"numba": numba.__version__, "numba_threads": numba.threading_layer()}
    _show(result)
    return result


def _cases(full: bool) -> list[Case]:
    from bench.peers import numba_game_of_life, numba_traffic, plain_life

    side, intersections = (1000, 850) if full else (40, 20)
    soup = random_board(side, SEED)
    # A soup in the middle of a board that is 15 sixteenths empty.
    sparse = np.pad(random_board(side // 2, SEED), side // 4 * 3)
    network = build(generate(intersections, SEED))
    few, many = (4, 100) if full else (2, 20)
    cases = [
        Case(
            f"life with agents, {name}",
            few,
            lambda board=board: numba_game_of_life.AgentSimulation(board),
            lambda heap, board=board: _Life(heap, board),
        )
        for name, board in (("soup", soup), ("sparse", sparse))
    ]
    cases.append(
        Case(
            "life without agents, soup",
            few,
            lambda: numba_game_of_life.PlainSimulation(soup),
            lambda heap: plain_life.ObjectSimulation(heap, soup),
        )
    )
    cases.append(
        Case(
            "traffic",
            many,
            lambda: numba_traffic.ArraySimulation(network),
            lambda heap: FaithfulTraffic(heap, network, Launches(heap, timed=False)),
        )
    )
    return cases


def _measure(case: Case, layout: str, rounds: int) -> dict[str, Any]:
    with oa.Heap(mode=AUTO, backend="cpu", layout=layout) as heap:
        sides = {"ours": case.ours(heap), "numba": case.numba()}
        for side in sides.values():
            side.advance()  # compiles
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                begun = time.perf_counter()
                for _ in range(case.steps):
                    side.advance()
                seconds[name].append((time.perf_counter() - begun) / case.steps)
        counts = {name: side.counts() for name, side in sides.items()}
    if counts["ours"] != counts["numba"]:
        raise AssertionError(f"{counts['ours']} are counted, by numba {counts['numba']}")
    return {
        "program": case.name,
        "layout": layout,
        "counts": counts["ours"],
        **summary(seconds["ours"]),
        "numba": summary(seconds["numba"]),
        "ratio": float(np.median(np.divide(seconds["ours"], seconds["numba"]))),
        "ratio_of_minima": min(seconds["ours"]) / min(seconds["numba"]),
    }


def _show(result: Result) -> None:
    show(
        f"CPU backend beside numba, {worker_count()} cores",
        ("program", "layout", "ms a step", "numba ms", "ratio", "of minima"),
        [
            (
                row["program"], row["layout"], row["median"] * MILLISECONDS,
                row["numba"]["median"] * MILLISECONDS, row["ratio"], row["ratio_of_minima"],
            )
            for row in result.rows
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(run, __doc__)
