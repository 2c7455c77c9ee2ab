"""How kernels of a run are timed: by CUPTI's records of them, or by the program's own stopwatch.

Events of the stopwatch add about 3 us to each launch, which is not the same for all: where kernels
are short, taking as much off for each leaves 0.7 to 1 us too much. CUPTI's records say when a
kernel began and ended, as they do of the programs that ours are compared with.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from apps.common.launches import PopulationCall
from apps.interface import RunResult
from bench.cupti.buffers import Buffers
from bench.cupti.kernel_times import KernelSum, KernelTimes
from bench.cupti.library import Cupti, CuptiError, find
from bench.harness import Options, backend_name
from sharedoa.errors import BackendError
from sharedoa.frontend.program import kernel_symbol

from .population_calls import symbols_of
from .records import CUPTI, EVENTS, STEPS
from .workloads import Workload, kernel_seconds

TIMERS = (CUPTI, STEPS, EVENTS)
#: The heap's kernels around launches that make or end objects, and how their names begin.
BOOKS = "slots of objects"
_OF_BOOKS = "sharedoa_slots_"


@dataclass(frozen=True)
class Sample:
    """One run, with seconds and launches of its kernels by their names."""

    result: RunResult
    seconds: dict[str, float]
    launches: dict[str, int]


class Timer(Protocol):
    """Runs workloads and takes the times of their kernels."""

    @property
    def name(self) -> str:
        """One of ``TIMERS``."""
        ...

    @property
    def in_program(self) -> bool:
        """Whether programs take the times themselves."""
        ...

    def settings(self) -> dict[str, Any]:
        """What a record says of it."""
        ...

    def sample(self, workload: Workload, mode: str, backend: str, full: bool) -> Sample:
        """Run it. Raises what the program raises, and AssertionError or CuptiError where the times
        are not those of all launches."""
        ...


class _Launches:
    """Counts launches by kernel, as ``RunOptions.on_launch``."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()
        #: Calls of methods of populations, with the names on the device of what they launch.
        self.populations: dict[str, set[str]] = {}

    def __call__(self, kernel: Any) -> None:
        self.by_name[kernel.name] += 1
        if isinstance(kernel, PopulationCall) and kernel.name not in self.populations:
            self.populations[kernel.name] = symbols_of(kernel)


class EventTimer:
    """By the backend's stopwatch: events on a GPU, elsewhere the host's clock."""

    name, in_program = EVENTS, True

    def settings(self) -> dict[str, Any]:
        return {"timer": self.name}

    def sample(self, workload: Workload, mode: str, backend: str, full: bool) -> Sample:
        launches = _Launches()
        result = workload.run(mode, backend, full, on_launch=launches)
        return Sample(result, kernel_seconds(result), dict(launches.by_name))


class CuptiTimer:
    """By CUPTI's records of the kernels that the program launches. Those of the heap (new objects,
    columns) and kernels that read results are launched by others, and not counted. But where
    methods of populations are called, so are those that find who lives and list free slots, as
    ``BOOKS``: the stopwatch has them in the times of the calls."""

    name, in_program = CUPTI, False

    def __init__(self, times: KernelTimes) -> None:
        self._times = times

    def settings(self) -> dict[str, Any]:
        return {"timer": self.name, "cupti": self._times.version}

    def sample(self, workload: Workload, mode: str, backend: str, full: bool) -> Sample:
        # One that is watched captures no steps, whose launches the watcher would not hear of.
        launches = _Launches()
        self._times.begin()
        result = workload.run(mode, backend, full, timed=False, on_launch=launches)
        found = self._times.end()
        seconds = seconds_by_name(launches.by_name, found, launches.populations)
        counts = dict(launches.by_name)
        books = [found[name] for name in found if name.startswith(_OF_BOOKS)]
        if launches.populations and books:
            seconds[BOOKS] = sum(each.seconds for each in books)
            counts[BOOKS] = sum(each.launches for each in books)
        return Sample(result, seconds, counts)


class CuptiStepTimer(CuptiTimer):
    """The same of programs as they run unless they are watched: with captured steps, whose launches
    may share one. Kernels have the names that they have on the device."""

    name = STEPS

    def sample(self, workload: Workload, mode: str, backend: str, full: bool) -> Sample:
        self._times.begin()
        result = workload.run(mode, backend, full, timed=False)
        every = self._times.end().items()
        found = {name: each for name, each in every if name.startswith(kernel_symbol(""))}
        seconds = {name: each.seconds for name, each in found.items()}
        return Sample(result, seconds, {name: each.launches for name, each in found.items()})


def seconds_by_name(
    launches: Mapping[str, int],
    found: Mapping[str, KernelSum],
    populations: Mapping[str, set[str]] | None = None,
) -> dict[str, float]:
    """Seconds of each kernel that was launched, from sums by the names on the device. Whatever it
    was compiled for, a kernel has one name there, and each launch of it is one on the device. A
    call for a population is any number of launches with the names that ``populations`` has.

    Raises AssertionError unless there is one record of each launch of a kernel.
    """
    seconds = {}
    for name, launched in launches.items():
        if populations is not None and name in populations:
            own = (found.get(symbol, KernelSum()) for symbol in populations[name])
            seconds[name] = sum(each.seconds for each in own)
            continue
        kernel = found.get(kernel_symbol(name), KernelSum())
        if kernel.launches != launched:
            raise AssertionError(
                f"CUPTI has {kernel.launches:,} records of kernel {name}, which was launched "
                f"{launched:,} times"
            )
        seconds[name] = kernel.seconds
    return seconds


def open_timer(wanted: str | None, options: Options) -> tuple[Timer, str]:
    """The timer that is ``wanted``, None for the best one, and the backend that ``options`` mean.
    To be called before anything opens a context, as CUPTI wants to see that.

    Raises CuptiError where CUPTI is wanted and cannot be used. Where it only would be better, a
    line on stderr says why it is not used.
    """
    times, missing = None, None
    if wanted != EVENTS and options.backend in ("auto", "cuda"):
        try:
            times = started()
        except CuptiError as problem:
            missing = problem
    backend = backend_name(options)
    if backend != "cuda":
        if wanted in (CUPTI, STEPS):
            raise CuptiError(
                f"CUPTI times kernels on NVIDIA GPUs, and this runs on {backend}",
                f"leave --timer out, or say --timer {EVENTS}",
            )
        return EventTimer(), backend
    if missing is not None:
        if wanted in (CUPTI, STEPS):
            raise missing
        print(
            f"kernels are timed by events, about 3 us a launch too long: {missing.message} "
            f"({missing.help})",
            file=sys.stderr,
            flush=True,
        )
    if times is None:
        return EventTimer(), backend
    return CuptiStepTimer(times) if wanted == STEPS else CuptiTimer(times), backend


def started() -> KernelTimes | None:
    """Kernels timed from now on; None without a driver, of which opening the backend tells. Raises
    CuptiError where CUPTI cannot be used."""
    from sharedoa.backends.cuda_device import cuda_device
    from sharedoa.backends.cuda_driver import load_driver

    try:
        load_driver()
    except BackendError:
        return None
    cupti = Cupti.load(find())
    times = KernelTimes(cupti, Buffers(), lambda: cuda_device(0).synchronize())
    times.start()
    return times
