"""Traffic, which is run from its beginning to its end.

A sample is the mean time of a step among a thirtieth of the steps, by the host's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from bench.traffic import REFERENCE

from ..cases import Case
from ..inputs import WrongResult
from ..program import Measurement, seconds_of
from ..user_lines import count_python

SEED = 42
CLOCK = {"clock": "of the host"}
_COUNTS = ("active", "created", "removed", "velocity_sum")


class Simulation(Protocol):
    """A network with cars, which a tool moves on."""

    def advance(self) -> None:
        """Queue a step."""
        ...

    def counts(self) -> dict[str, int]:
        """Active, created and removed cars and the sum of velocities, of the steps so far."""
        ...


def measure_ours(case: Case, variant: str, heap: Any, repeat: int) -> Measurement:
    """The program of ``apps/traffic`` in ``heap``."""
    import apps.traffic.faithful as program
    from apps.common.launches import Launches
    from apps.traffic.faithful.simulation import FaithfulSimulation

    simulation = FaithfulSimulation(heap, network(case), Launches(heap, timed=False))
    files = sorted(Path(program.__file__).parent.glob("*.py"))
    return _measure(case, variant, repeat, simulation, heap.synchronize, files)


def measure_peer(
    case: Case,
    variant: str,
    repeat: int,
    peer: ModuleType,
    simulation: Simulation,
    wait: Callable[[], None],
) -> Measurement:
    """The program of a module in ``bench.peers``; ``wait`` returns when all steps are done."""
    return _measure(case, variant, repeat, simulation, wait, [Path(str(peer.__file__))])


def _measure(
    case: Case,
    variant: str,
    repeat: int,
    simulation: Simulation,
    wait: Callable[[], None],
    files: Sequence[Path],
) -> Measurement:
    first, samples = sampled(case, repeat, simulation.advance, wait)
    check(case, simulation.counts())
    lines = sum(count_python(file.read_text()) for file in files)
    return Measurement(variant, samples, [], first, lines, CLOCK)


@lru_cache(maxsize=1)
def network(case: Case) -> Any:
    from apps.traffic.generated import generate
    from apps.traffic.network import build

    return build(generate(case.objects, SEED))


def sampled(
    case: Case, repeat: int, step: Callable[[], None], wait: Callable[[], None]
) -> tuple[float, list[float]]:
    """Run all steps of ``case``, at least two: seconds of the first, and samples of the others."""

    def first_step() -> None:
        step()
        wait()

    first = seconds_of(first_step)
    done, samples = 1, []
    parts = min(repeat, case.steps - 1)
    for part in range(1, parts + 1):
        steps = 1 + (case.steps - 1) * part // parts - done

        def some_steps(steps: int = steps) -> None:
            for _ in range(steps):
                step()
            wait()

        samples.append(seconds_of(some_steps) / steps)
        done += steps
    return first, samples


def check(case: Case, counts: dict[str, int]) -> None:
    """Raise WrongResult unless the counts are those of an independent program."""
    expected = dict(zip(_COUNTS, REFERENCE[case.objects, case.steps], strict=True))
    found = {name: counts[name] for name in _COUNTS}
    if found != expected:
        raise WrongResult(f"the counts are {found}, not {expected}")
