"""Agents: wolf_sheep, schelling and flocking at 10^4, 10^6 and 10^7 of them, and three programs
that FLAME GPU 2 is measured by at 10^6: circles and boids, which find neighbours in space, and
*turnover*, where in each step an agent dies with a probability of 0.1 and bears one with 0.1.

Samples are seconds a step, of pieces of a run one after another, each of which ends with a wait for
the device. Before the first, steps are run for compilation, and until launches have been looked at.
Steps are captured where the program captures them: wolf_sheep, circles, boids, turnover; schelling
and flocking launch call by call. Agents are at first as many as said: wolves eat most sheep, and
people of schelling move for fifty steps at most. An agent of turnover has 20 bytes.

On an H200 FLAME GPU 2 takes 2.13 ms for circles, 2.59 for boids and 0.333 for turnover; what is
aimed at is 1.5, 1.8 and 0.15.

Expected before running, on an H200, in ms for 10^4, 10^6, 10^7. Flocking was measured by hand
before: 0.29, 0.45, 6.9. Wolf_sheep: 13 launches, of which two make objects and the host waits: 2.5,
3.5, 9. Schelling: three launches and one wait, eight cells around each looked at: 0.15, 0.3, 3.
Circles at 10^6: the grid 0.25 as it has three coordinates, 216 candidates of which 34 are near,
each with three sectors from the second-level cache: 1.6; boids, with six sectors: 2.1. Turnover: a
list of 10^6 slots, making 10^5, ending 10^5: 0.12. On two CPU cores, at 10^6: flocking 400,
wolf_sheep 500, schelling 120, circles 1,300, boids 1,300, turnover 30.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import sharedoa as oa
from apps.boids.simulation import Simulation as Boids
from apps.circles.program import side_of
from apps.circles.simulation import Simulation as Circles
from apps.common.counter_random import draws, threshold
from apps.common.launches import Launches
from apps.flocking.simulation import Simulation as Flocking
from apps.schelling.simulation import Simulation as Schelling
from apps.wolf_sheep.simulation import Simulation as WolfSheep
from bench.harness import (
    MILLISECONDS,
    Options,
    Result,
    argument_parser,
    errors_in_words,
    named_parts,
    options_from,
    parse_some,
    record,
    show,
    summary,
)
from sharedoa import u32, u64

_SEED = 42
_PIECES = 5
#: Steps before the first piece, by when launches are looked at for the last time; or for so long.
_WARM_STEPS, _WARM_SECONDS = 20, 5.0
#: A piece has no more steps than fit into this, by the time of one.
_PIECE_SECONDS = 1.0
_MILLION = 10**6
#: Of each program where nothing is recorded; and how many steps it then has, before the first piece
#: and in each.
_SMALL, _FEW_STEPS = 500, (3, 2)
_SIGHT = 5.0
#: Of boids in FLAME GPU's measurement, in edges of the cube.
_BOIDS_SIGHT = 0.02


# ---------------------------------------------------------------------- births and deaths


@oa.func
def mixed(state: u64) -> u64:
    """64 random bits of a state, which is itself no random number (Steele et al., SplitMix)."""
    bits = (state ^ state >> 30) * 0xBF58476D1CE4E5B9
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB
    return bits ^ bits >> 31


class Agent(oa.Object):
    """``state`` is that of its random numbers."""

    state: u64
    mother: u64
    age: u32

    def live(self) -> None:
        self.age += 1
        self.state += 0x9E3779B97F4A7C15
        bits = mixed(self.state)
        if u32(bits) < _TENTH:
            oa.new(Agent, state=mixed(bits), mother=self.state)
        if u32(bits >> 32) < _TENTH:
            oa.delete(self)


_TENTH = threshold(0.1)


class Turnover:
    """``count`` agents at first, and about as many after every step."""

    def __init__(self, heap: oa.Heap, count: int, launches: Launches) -> None:
        self._heap, self._launch = heap, launches
        heap.new(Agent, count, state=_states(count))

    def advance(self) -> None:
        self._launch.repeat("step", lambda: self._launch.for_all(Agent, "live"))

    def counts(self) -> dict[str, int]:
        """``born`` are those who live and were not there at the start."""
        agents = self._heap.all(Agent)
        return {"agents": len(agents), "born": int((agents.mother.numpy() != 0).sum())}


def _states(count: int) -> Any:
    numbers = np.arange(count)
    high, low = (draws(_SEED, 0, numbers, purpose).astype(np.uint64) for purpose in range(2))
    return high << np.uint64(32) | low


# ---------------------------------------------------------------------- programs


class _Program(NamedTuple):
    """``make`` takes the heap, the number of agents and launches. ``steps``: of a piece, at most;
    ``warm``: before the first piece, at most."""

    make: Callable[[oa.Heap, int, Launches], Any]
    sizes: tuple[int, ...]
    warm: int = _WARM_STEPS
    steps: int = 20


def _wolf_sheep(heap: oa.Heap, count: int, launches: Launches) -> WolfSheep:
    side = round(math.sqrt(count / 0.16))
    return WolfSheep(heap, side, side, _SEED, launches)


def _schelling(heap: oa.Heap, count: int, launches: Launches) -> Schelling:
    """A town of sides 8 : 5, which has ``count`` people to the last one for 10^(2 n)."""
    height = round(math.sqrt(count))
    return Schelling(heap, count * 8 // (5 * height), height, _SEED, launches)


def _flocking(heap: oa.Heap, count: int, launches: Launches) -> Flocking:
    return Flocking(heap, count, math.sqrt(50.0 * count), _SIGHT, _SEED, launches)


def _circles(heap: oa.Heap, count: int, launches: Launches) -> Circles:
    return Circles(heap, count, side_of(count), _SEED, launches)


def _boids(heap: oa.Heap, count: int, launches: Launches) -> Boids:
    # As many in sight for any number of birds.
    return Boids(heap, count, _BOIDS_SIGHT * (_MILLION / count) ** (1 / 3), _SEED, launches)


_SIZES = 10**4, 10**6, 10**7
PROGRAMS = {
    "wolf_sheep": _Program(_wolf_sheep, _SIZES),
    # A small town comes to rest after 47 steps.
    "schelling": _Program(_schelling, _SIZES, warm=17, steps=5),
    "flocking": _Program(_flocking, _SIZES),
    "circles": _Program(_circles, (_MILLION,)),
    "boids": _Program(_boids, (_MILLION,)),
    "turnover": _Program(Turnover, (1 << 20,)),
}


# ---------------------------------------------------------------------- measurement


def run(
    options: Options, names: Iterable[str] = PROGRAMS, sizes: Sequence[int] | None = None
) -> Result:
    """Time the programs of these names, at their own sizes or at ``sizes``."""
    with oa.Heap(backend=options.backend) as heap:
        result = Result("agents", heap.backend.name, {"pieces": _PIECES, "seed": _SEED})
    for name in names:
        program = PROGRAMS[name]
        for count in sizes or (program.sizes if options.full else (_SMALL,)):
            with result.attempt(f"{name}, {count} agents"):
                result.rows.append(_measured(options.backend, name, program, count))
                _tell(result.rows[-1])
    show(
        "Agents, milliseconds a step",
        ["program", "agents", "median", "least", "most", "first step"],
        [
            [row["program"], row["agents"], *(MILLISECONDS * row[key] for key in _SHOWN)]
            for row in result.rows
        ],
    )
    return result


_SHOWN = "median", "min", "max", "first step"


def _tell(row: dict[str, Any]) -> None:
    """Say at once what was measured: a call that is ended before the rest has shown it."""
    ms = ", ".join(f"{MILLISECONDS * sample:.4g}" for sample in row["samples"])
    print(f"{row['program']}, {row['agents']:,} agents: {ms} ms a step", flush=True)


def _measured(backend: str, name: str, program: _Program, count: int) -> dict[str, Any]:
    with oa.Heap(backend=backend) as heap:
        start = perf_counter()
        simulation = program.make(heap, count, Launches(heap, timed=False))
        heap.synchronize()
        made = perf_counter() - start
        first = _piece(heap, simulation, 1)
        one = warm = 0.0
        done = 1
        most_warm, most = _FEW_STEPS if count == _SMALL else (program.warm, program.steps)
        while done <= most_warm and warm < _WARM_SECONDS:
            one = _piece(heap, simulation, 1)
            warm += one
            done += 1
        steps = max(1, min(most, int(_PIECE_SECONDS / one)))
        samples = [_piece(heap, simulation, steps) for _ in range(_PIECES)]
        counts = simulation.counts()
        busy = counts.get("steps with moves")
        if busy is not None:
            assert busy == done + steps * _PIECES, f"nobody moves after {busy} steps"
    row = {"program": name, "agents": count, "steps before": done, "steps of a piece": steps}
    return row | {"made in": made, "first step": first, "counts": counts} | summary(samples)


def _piece(heap: oa.Heap, simulation: Any, steps: int) -> float:
    """Seconds a step."""
    start = perf_counter()
    for _ in range(steps):
        simulation.advance()
    heap.synchronize()
    return (perf_counter() - start) / steps


# ---------------------------------------------------------------------- command line


def _numbers(text: str) -> tuple[int, ...]:
    if not all(each.isdecimal() and int(each) >= _SMALL for each in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text} are no numbers from {_SMALL} on")
    return tuple(map(int, text.split(",")))


@errors_in_words()
def main() -> None:
    """The command line of this benchmark: as others have it, with parts. The name of the record of
    a part says which one it is."""
    parser = argument_parser(__doc__)
    parser.add_argument("--programs", type=parse_some(PROGRAMS), help="with commas between; all")
    parser.add_argument("--agents", type=_numbers, help="how many, with commas between")
    given = parser.parse_args()
    options = options_from(given)
    result = run(options, given.programs or PROGRAMS, given.agents)
    parts = [*(given.programs or ()), *map(str, given.agents or ())]
    result.name = named_parts(result.name, parts)
    record(result, options)
    if result.failures:
        sys.exit(f"{len(result.failures)} failures")


if __name__ == "__main__":
    main()
