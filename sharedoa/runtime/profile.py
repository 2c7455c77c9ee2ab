"""What launches and compilations cost, for ``sharedoa profile``.

``profiling()`` puts functions around those through which every launch is made ready, so launches
that nobody profiles take no look at it. What starts launches is kept by their programs: profile
from before the first launch on.
"""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal

from dispatch.dataclass import dataclass, field, fields
from dispatch.mode import Mode

from ..backends.base import KernelLaunch, Slots
from ..backends.cpu import CpuBackend, LoadedKernel
from ..backends.gpu import GpuBackend
from ..backends.gpu_device import GpuDevice
from ..backends.gpu_graph import GpuGraph
from ..backends.perf_map import PerfMap
from ..context_managers import contextmanager
from ..heap.heap import Heap
from ..sampling import Traffic, traffic
from ..targets.base import Stages
from ..tracebacks import is_ours
from . import cpython_launches
from .binding import Binding
from .capture import Capture, count_of
from .geometry import Geometry
from .launch import Program
from .pipeline import Compilation
from .populations import threads_apart_in

if TYPE_CHECKING:
    from .machine_rates import Rates

#: A launch of a kernel, of a method on many objects, a run of a step, launches of one that a GPU
#: starts together, and making code.
Kind = Literal["kernel", "method", "step", "graph", "compile"]

_LINE, _SECTOR = 64, 32
"""Bytes that a processor's cache, and a GPU's, takes from memory at once."""
_STARTS = 3
"""Times what an empty launch takes: shorter ones are mostly that."""
_MOSTLY = 0.5
"""What uses more of something than this is limited by it."""


@dataclass(frozen=True)
class Event:
    """Something that took time, in ns of ``perf_counter_ns``, in a thread of Python."""

    name: str
    kind: Kind
    place: str
    begun: int
    duration: int
    thread: int
    threads: int
    bytes: int | None


@dataclass
class Row:
    """All launches of a program, or all runs of a step; ``threads`` of all of them together, times
    in ns. A row of a step has the time of the launches in it, which have rows of their own."""

    kind: Kind
    name: str
    place: str
    launches: int = 0
    threads: int = 0
    total: int = 0
    least: int | None = None
    #: Bytes and operations of all launches, estimated (``sampling.traffic``), and whether that is
    #: all that they do; None where nothing is known.
    bytes: float = 0.0
    operations: float = 0.0
    is_whole: bool | None = None
    compilations: int = 0
    compiling: int = 0
    found: int = 0
    finding: int = 0

    @property
    def mean(self) -> float:
        return self.total / self.launches if self.launches else 0.0

    def limit(self, rates: Rates) -> tuple[str, float] | None:
        """What takes the time of its launches, and what part of the most that there is of it they
        use: ``launch``, where most of it goes by before and after a kernel runs, ``memory`` or
        ``compute``; or ``latency``, waiting for single loads, other threads or results, where
        neither is used by half. None where nothing is known."""
        if self.is_whole is None or not self.total:
            return None
        if self.mean < _STARTS * rates.launch * 1e9:
            return "launch", rates.launch * 1e9 / self.mean
        used = {
            "memory": self.bytes * 1e9 / self.total / rates.bytes,
            "compute": self.operations * 1e9 / self.total / rates.operations,
        }
        name, part = max(used.items(), key=lambda each: each[1])
        return (name if part >= _MOSTLY else "latency"), part


@dataclass
class Profile:
    """What was measured. ``events`` in the order in which they ended, if ``keeps_events``."""

    keeps_events: bool
    rows: dict[tuple[Kind, str, str], Row] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    #: Whether a GPU was waited for before and after its launches.
    waited: bool = False
    #: The backend of the last launch that was looked at.
    backend: str | None = None
    #: Of each program what its threads do on average, and how many there were of them.
    looked_at: weakref.WeakKeyDictionary[Program, tuple[int, Traffic]] = field(
        default_factory=weakref.WeakKeyDictionary
    )
    # A handler of signals may launch while this thread has it.
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def timed(
        self,
        row: Row,
        threads: int,
        work: Callable[[], None],
        count: int = 1,
        moved: Traffic | None = None,
    ) -> None:
        """Do ``work``, which is ``count`` launches at once, and note what it took; ``moved``: what
        all threads together do."""
        begun = perf_counter_ns()
        try:
            work()
        finally:
            taken = perf_counter_ns() - begun
            with self._lock:
                row.launches += count
                row.threads += threads
                row.total += taken
                if moved is not None:
                    row.bytes += moved.bytes
                    row.operations += moved.operations
                    row.is_whole = moved.is_whole and row.is_whole is not False
                if count:
                    each = taken // count
                    row.least = each if row.least is None else min(row.least, each)
                self._note(row.kind, row, begun, taken, threads, moved)

    def compiled(self, program: Program, made: Compilation) -> None:
        """``made`` was just compiled, or found in the cache."""
        row, taken = self.row_of(program), int(made.seconds * 1e9)
        with self._lock:
            if made.found is None:
                row.compilations += 1
                row.compiling += taken
            else:
                row.found += 1
                row.finding += taken
            self._note("compile", row, perf_counter_ns() - taken, taken, 0)

    def row_of(self, program: Program) -> Row:
        source = program.source
        kind: Kind = "method" if source.receivers else "kernel"
        code = getattr(source.origin, "__code__", None)
        place = "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"
        return self.row(kind, source.name, place)

    def row(self, kind: Kind, name: str, place: str) -> Row:
        with self._lock:
            return self.rows.setdefault((kind, name, place), Row(kind, name, place))

    def traffic_of(self, program: Program, threads: int) -> Traffic | None:
        """What all threads of a launch do together, as far as it was looked at."""
        known = self.looked_at.get(program)
        if known is None:
            return None
        bytes, operations, is_whole = known[1]
        return Traffic(bytes * threads, operations * threads, is_whole)

    def _note(
        self,
        kind: Kind,
        row: Row,
        begun: int,
        taken: int,
        threads: int,
        moved: Traffic | None = None,
    ) -> None:
        if self.keeps_events:
            thread = threading.get_ident()
            bytes = None if moved is None else round(moved.bytes)
            event = Event(row.name, kind, row.place, begun, taken, thread, threads, bytes)
            self.events.append(event)


@dataclass(frozen=True, eq=False)
class _Known(KernelLaunch):
    """A launch of a program, not one of the backend's own."""

    row: Row = field(kw_only=True)
    moved: Traffic | None = field(kw_only=True)


@contextmanager
def profiling(keeps_events: bool = False) -> Iterator[Profile]:
    """Note what is launched and compiled in the block for the first time, and every launch of it.

    On a processor a launch takes the time between its start and its end. A GPU is waited for before
    and after each launch, so that its launches take their own time and the host's to start them.
    """
    profile = Profile(keeps_events)
    with ExitStack() as undo:

        def around(owner: Any, name: str, made: Callable[..., Any]) -> None:
            whole = getattr(owner, name)
            undo.callback(setattr, owner, name, whole)
            setattr(owner, name, made(profile, whole))

        around(Program, "bind", _bind)
        around(Program, "prepared", _prepared)
        around(cpython_launches, "run_threads", _run_threads)
        around(Program, "_keep", _keep)
        around(Capture, "__init__", _begun)
        around(Capture, "run", _run)
        around(CpuBackend, "prepare", _on_cpu)
        around(GpuBackend, "prepare", _on_gpu)
        around(GpuBackend, "record", _record)
        around(GpuBackend, "replay", _replay)
        yield profile


@contextmanager
def naming(perf_map: PerfMap) -> Iterator[None]:
    """Code that a processor loads in the block is added to ``perf_map``."""
    whole = CpuBackend.load

    def load(
        backend: CpuBackend, symbol: str, stages: Stages, *given: bool, **named: bool
    ) -> LoadedKernel:
        loaded = whole(backend, symbol, stages, *given, **named)
        code = stages["o"]
        assert isinstance(code, bytes)
        perf_map.add(code, symbol, loaded.library.address(symbol))
        return loaded

    CpuBackend.load = load  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        CpuBackend.load = whole  # type: ignore[method-assign]


# ---------------------------------------------------------------- what is put around what


def _bind(profile: Profile, whole: Callable[..., Binding]) -> Any:
    def bind(
        program: Program,
        heap: Heap,
        mode: Mode,
        debug: bool,
        slots: Slots,
        arguments: tuple[Any, ...],
        geometry: Geometry,
        *flags: bool,
        **named: bool,
    ) -> Binding:
        if mode.by_population and not program.source.is_derived:
            _look(profile, program, heap, geometry, arguments)
        return whole(program, heap, mode, debug, slots, arguments, geometry, *flags, **named)

    return bind


def _look(
    profile: Profile,
    program: Program,
    heap: Heap,
    geometry: Geometry,
    arguments: tuple[Any, ...],
) -> None:
    """See what a launch is going to do, unless one of about as many threads was seen."""
    threads = math.prod(geometry.threads)
    known = profile.looked_at.get(program)
    if not threads or (known is not None and known[0] <= threads < 2 * known[0]):
        return
    piece = _SECTOR if heap.backend.target.is_device else _LINE
    with heap.lock:
        heap.before_launch()
        apart = threads_apart_in(program, heap, geometry, arguments)
        found = traffic(program.uses().program, heap, geometry.threads, arguments, piece, apart)
    profile.looked_at[program] = threads, found
    profile.backend = heap.backend.label


def _prepared(profile: Profile, whole: Callable[..., KernelLaunch]) -> Any:
    def prepared(program: Program, *given: Any) -> KernelLaunch:
        launch = whole(program, *given)
        known = {each.name: getattr(launch, each.name) for each in fields(KernelLaunch)}
        moved = profile.traffic_of(program, math.prod(launch.threads))
        return _Known(**known, row=profile.row_of(program), moved=moved)

    return prepared


def _run_threads(profile: Profile, whole: Callable[..., None]) -> Any:
    def run_threads(
        program: Program, heap: Heap, values: tuple[Any, ...], geometry: Geometry
    ) -> None:
        work = partial(whole, program, heap, values, geometry)
        profile.timed(profile.row_of(program), math.prod(geometry.threads), work)

    return run_threads


def _keep(profile: Profile, whole: Callable[..., Compilation]) -> Any:
    seen: weakref.WeakSet[Compilation] = weakref.WeakSet()

    def keep(program: Program, made: Compilation) -> Compilation:
        if made not in seen:
            seen.add(made)
            profile.compiled(program, made)
        return whole(program, made)

    return keep


#: Where steps were captured.
_places: weakref.WeakKeyDictionary[Capture, str] = weakref.WeakKeyDictionary()


def _begun(profile: Profile, whole: Callable[..., None]) -> Any:
    def begun(step: Capture, heap: Heap) -> None:
        whole(step, heap)
        frame = sys._getframe(1)
        while is_ours(frame.f_code.co_filename) and frame.f_back is not None:
            frame = frame.f_back
        _places[step] = f"{frame.f_code.co_filename}:{frame.f_lineno}"

    return begun


def _run(profile: Profile, whole: Callable[..., None]) -> Any:
    def run(step: Capture, n: int = 1) -> None:
        row = profile.row("step", "captured step", _places.get(step, ""))
        profile.timed(row, 0, partial(whole, step, n), count=count_of(n))

    return run


def _on_cpu(profile: Profile, whole: Callable[..., Callable[[], None]]) -> Any:
    def prepare(backend: CpuBackend, launch: KernelLaunch) -> Callable[[], None]:
        start = whole(backend, launch)
        if not isinstance(launch, _Known):
            return start
        threads = math.prod(launch.threads)
        return partial(profile.timed, launch.row, threads, start, moved=launch.moved)

    return prepare


def _on_gpu(profile: Profile, whole: Callable[..., Callable[[], None]]) -> Any:
    def prepare(backend: GpuBackend, launch: KernelLaunch) -> Callable[[], None]:
        start = whole(backend, launch)
        if not isinstance(launch, _Known):
            return start
        threads = math.prod(launch.threads)
        device = backend.device
        return partial(_timed_on_gpu, profile, device, launch.row, threads, start, launch.moved)

    return prepare


def _record(profile: Profile, whole: Callable[..., GpuGraph]) -> Any:
    def record(backend: GpuBackend, launches: Sequence[KernelLaunch]) -> GpuGraph:
        graph = whole(backend, launches)
        known = [each for each in launches if isinstance(each, _Known)]
        row = profile.row("graph", ", ".join(each.row.name for each in known), "")
        moved = None
        if known and all(each.moved is not None for each in known):
            parts = [each.moved for each in known if each.moved is not None]
            bytes, operations = (sum(each[at] for each in parts) for at in (0, 1))
            moved = Traffic(bytes, operations, all(each.is_whole for each in parts))
        _graphs[graph] = row, sum(math.prod(each.threads) for each in known), moved
        return graph

    return record


def _replay(profile: Profile, whole: Callable[..., None]) -> Any:
    def replay(backend: GpuBackend, graph: GpuGraph, times: int) -> None:
        row, threads, moved = _graphs[graph]
        for _ in range(times):
            start = partial(whole, backend, graph, 1)
            _timed_on_gpu(profile, backend.device, row, threads, start, moved)

    return replay


#: What graphs are in the table, their threads, and what these do.
_graphs: weakref.WeakKeyDictionary[GpuGraph, tuple[Row, int, Traffic | None]]
_graphs = weakref.WeakKeyDictionary()


def _timed_on_gpu(
    profile: Profile,
    device: GpuDevice,
    row: Row,
    threads: int,
    start: Callable[[], None],
    moved: Traffic | None,
) -> None:
    def work() -> None:
        start()
        device.synchronize()

    device.synchronize()
    profile.timed(row, threads, work, moved=moved)
    profile.waited = True
