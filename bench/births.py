"""Objects that are born and die in kernels: wa-tor, sugarscape, collision and Barnes-Hut at
DynaSOAr's sizes, a launch a call and captured steps.

Samples are seconds a step, of pieces of a run one after another, so that populations differ
between them; both ways make the same steps. Each ends with a wait for the device. DynaSOAr takes
1.59 ms for wa-tor and 1.50 for sugarscape on an H200, arrays without objects 0.77 and 0.55; for
collision, in the mean of its first 50 steps, 22.3 and 24.3. Its Barnes-Hut does not end there.

Expected before running, on an H200: kernels of the programs take 0.8 ms of a step of wa-tor and 0.8
of sugarscape; lists and settling 0.5 and 0.2; so captured steps 1.5 and 1.0, and step by step as
much again for the host, which waits for each launch that makes objects: 2.5 and 3.5. Of collision,
from the machine code: 200 cycles for each of 40,000 bodies to move, 35 to look who is near, so 5 ms
in both ways while most bodies are left. Barnes-Hut: 60 ms for walks, in which each of 300,000
bodies meets 25,000 bodies and nodes, and 5 for the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import sharedoa as oa
from apps.barnes_hut.program import MASS
from apps.barnes_hut.simulation import Simulation as BarnesHut
from apps.collision.simulation import Simulation as Collision
from apps.common.launches import Launches
from apps.sugarscape.simulation import Simulation as Sugarscape
from apps.wator.simulation import Simulation as Wator
from bench.harness import Options, Result, main, show, summary

_SEED = 42
_PIECES = 5
_SHOWN = "median", "min", "max", "first step"
#: Of collision: how far apart bodies merge.
_CONTACT = 0.005


class _Program(NamedTuple):
    """``make`` takes the heap, ``size`` by position, the seed and launches."""

    make: Callable[..., Any]
    size: dict[str, Any]
    steps: int


class _OneByOne(Launches):
    """Captures nothing."""

    def repeat(self, key: Any, sequence: Callable[[], None]) -> None:
        sequence()


def _shape(width: int, height: int) -> dict[str, Any]:
    return {"width": width, "height": height}


#: By name: the program at its full size, or its small one.
PROGRAMS: dict[str, Callable[[bool], _Program]] = {
    "wator": lambda full: _Program(Wator, _shape(2048, 2560) if full else _shape(64, 48), 40),
    "sugarscape": lambda full: _Program(
        Sugarscape, _shape(1700, 1700) if full else _shape(48, 40), 40
    ),
    "collision": lambda full: _Program(
        Collision, {"bodies": 40_000 if full else 300, "contact": _CONTACT}, 10
    ),
    "barnes_hut": lambda full: _Program(
        BarnesHut, {"bodies": 300_000 if full else 300, "mass": float(MASS)}, 10
    ),
}


def run(options: Options) -> Result:
    """Time all programs, in both ways."""
    with oa.Heap(backend=options.backend) as heap:
        result = Result("births", heap.backend.name, {"pieces": _PIECES, "seed": _SEED})
    for name, make in PROGRAMS.items():
        program, counts = make(options.full), []
        steps = program.steps if options.full else 3
        for way, launches in (("step by step", _OneByOne), ("captured", Launches)):
            with oa.Heap(backend=options.backend) as heap:
                given = *program.size.values(), _SEED, launches(heap, timed=False)
                simulation = program.make(heap, *given)
                samples = [
                    _piece(heap, simulation, 1),
                    *(_piece(heap, simulation, steps) for _ in range(_PIECES)),
                ]
                counts.append(simulation.counts())
            first, *others = samples
            row = {"program": name, **program.size, "steps of a piece": steps, "way": way}
            row |= {"first step": first, "counts": counts[-1]} | summary(others)
            result.rows.append(row)
        with result.attempt(f"{name}, captured"):
            assert counts[0] == counts[1], f"{counts[1]} live, not {counts[0]}"
    show(
        "Births and deaths, milliseconds a step",
        ["program", "way", "median", "least", "most", "first step"],
        [[row["program"], row["way"], *(1e3 * row[key] for key in _SHOWN)] for row in result.rows],
    )
    return result


def _piece(heap: oa.Heap, simulation: Any, steps: int) -> float:
    """Seconds a step."""
    start = perf_counter()
    for _ in range(steps):
        simulation.advance()
    heap.synchronize()
    return (perf_counter() - start) / steps


if __name__ == "__main__":
    main(run, __doc__)
