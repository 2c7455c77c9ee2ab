"""Seconds that launches take: by the host's clock, or by events in the device's own stream."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from ..targets.base import I64, VOID, Target, declare
from .base import KernelLaunch, Timing
from .gpu_wait import NOT_READY

if TYPE_CHECKING:
    from .gpu import GpuBackend, GpuKernel

Launch = Callable[[], None]

#: Launches before the first that is timed: code is loaded and memory is where it is used.
WARM_UP = 3
OCCUPY = "sharedoa_occupy"
#: Clock cycles for which the device is kept busy while the host queues one launch: 30 to 50 us.
_CYCLES_A_LAUNCH = 60_000
#: Hz; more than GPUs have.
_HIGHEST_CLOCK = 2.5e9
#: Launches that the host queues while the device is kept busy once, and pairs of events in use.
_LAUNCHES_AHEAD, _EVENTS = 64, 4096


def time_by_clock(launch: Launch, repeat: int, synchronize: Callable[[], None]) -> list[float]:
    """Seconds of each of ``repeat`` launches, waiting for each."""
    for _ in range(WARM_UP):
        launch()
    synchronize()
    samples = []
    for _ in range(repeat):
        begun = perf_counter()
        launch()
        synchronize()
        samples.append(perf_counter() - begun)
    return samples


def time_by_events(backend: GpuBackend, launch: Launch, repeat: int) -> list[float]:
    """Seconds between an event before and one after each of ``repeat`` launches.

    All are queued while another kernel occupies the device, so that none waits for the host, also
    where ``launch`` queues several kernels. The events add about 3 us to each.
    """
    device = backend.device
    for _ in range(WARM_UP):
        begun = perf_counter()
        launch()
        queueing = perf_counter() - begun
    backend.synchronize()
    events = [device.call("EventCreate", 0) for _ in range(2 * repeat)]
    pairs = list(zip(events[::2], events[1::2], strict=True))
    try:
        cycles = max(_CYCLES_A_LAUNCH, int(2 * queueing * _HIGHEST_CLOCK))
        _occupy(backend, repeat * cycles)
        for before, after in pairs:
            device.call("EventRecord", before, device.stream)
            launch()
            device.call("EventRecord", after, device.stream)
        backend.synchronize()
        return [device.call("EventElapsedTime", *pair) / 1000 for pair in pairs]
    finally:
        for event in events:
            device.call("EventDestroy", event)


def timed_by_clock(start: Launch) -> Timing:
    """``Backend.timed`` where launches have ended on return."""
    begun = perf_counter()
    start()
    seconds = perf_counter() - begun
    return lambda: seconds


class LaunchTimer:
    """``Backend.timed`` by an event before and one after each launch."""

    def __init__(self, backend: GpuBackend) -> None:
        self._backend = backend
        self._free: list[tuple[Any, Any]] = []
        weakref.finalize(self, _destroy, backend, self._free).atexit = False

    def time(self, start: Launch) -> Timing:
        device = self._backend.device
        if device.stream_taken_by is not None:  # who may be recording what is launched
            start()
            return lambda: math.nan
        if not self._free:
            self._free.append((device.call("EventCreate", 0), device.call("EventCreate", 0)))
        before, after = events = self._free.pop()
        device.call("EventRecord", before, device.stream)
        start()
        device.call("EventRecord", after, device.stream)

        def seconds() -> float | None:
            device.enter()
            error = device.call_quietly("EventQuery", after)[0]
            if error and int(error) == NOT_READY:
                return None
            passed = device.call("EventElapsedTime", *events) / 1000
            return float(passed)

        # Whether or not somebody asked.
        weakref.finalize(seconds, self._free.append, events).atexit = False
        return seconds


class ClockStopwatch:
    """By the host's clock: waits before and after each launch."""

    def __init__(self, synchronize: Callable[[], None]) -> None:
        self._synchronize = synchronize
        self._seconds: dict[str, float] = {}

    def time(self, name: str, launch: Launch) -> None:
        self._synchronize()
        begun = perf_counter()
        launch()
        self._synchronize()
        self._seconds[name] = self._seconds.get(name, 0.0) + perf_counter() - begun

    def seconds(self) -> dict[str, float]:
        return dict(self._seconds)


class EventStopwatch:
    """By events around each kernel, which waits for nothing; they add about 3 us to each.

    What a launch does before its kernel, such as moving memory that the host used, is not counted.
    From time to time another kernel occupies the device, so that the host stays ahead of it and no
    time between launches is counted.
    """

    def __init__(self, backend: GpuBackend) -> None:
        self._backend = backend
        self._seconds: dict[str, float] = {}
        self._free: list[tuple[Any, Any]] = []
        self._under_way: list[tuple[str, tuple[Any, Any]]] = []
        self._name = ""
        weakref.finalize(self, _destroy, backend, self._free).atexit = False

    def time(self, name: str, launch: Launch) -> None:
        if len(self._under_way) % _LAUNCHES_AHEAD == 0:
            if len(self._under_way) >= _EVENTS:
                self.seconds()
            _occupy(self._backend, _LAUNCHES_AHEAD * _CYCLES_A_LAUNCH)
        self._name = name
        self._seconds.setdefault(name, 0.0)  # a launch over nobody queues no kernel
        self._backend.device.stopwatch_running = self
        try:
            launch()
        finally:
            self._backend.device.stopwatch_running = None

    def before_kernel(self) -> None:
        """The backend is about to queue a kernel, while ``time`` runs."""
        device = self._backend.device
        if not self._free:
            self._free.append((device.call("EventCreate", 0), device.call("EventCreate", 0)))
        events = self._free.pop()
        device.call("EventRecord", events[0], device.stream)
        self._under_way.append((self._name, events))

    def after_kernel(self) -> None:
        device = self._backend.device
        device.call("EventRecord", self._under_way[-1][1][1], device.stream)

    def seconds(self) -> dict[str, float]:
        self._backend.synchronize()
        device = self._backend.device
        for name, events in self._under_way:
            passed = device.call("EventElapsedTime", *events) / 1000
            self._seconds[name] = self._seconds.get(name, 0.0) + passed
            self._free.append(events)
        self._under_way.clear()
        return dict(self._seconds)


def _destroy(backend: GpuBackend, pairs: list[tuple[Any, Any]]) -> None:
    if backend.device.is_lost:
        return
    for pair in pairs:
        for event in pair:
            backend.device.call("EventDestroy", event)


def _occupy(backend: GpuBackend, cycles: int) -> None:
    """Queue a kernel of one thread that takes ``cycles`` clock cycles."""
    slots = (ctypes.c_uint64 * 1)(cycles)
    backend.prepare(KernelLaunch(backend.occupying_kernel, (1, 1), (1, 1), slots, 1))()


def load_occupying_kernel(backend: GpuBackend) -> GpuKernel:
    """The kernel that keeps the device busy."""
    stages = backend.target.compile(occupying_ir(backend.target))
    return backend.load(OCCUPY, stages, uses_barrier=False, recursive=False)


def occupying_ir(target: Target) -> str:
    """LLVM text of a kernel that returns when as many clock cycles as its argument have passed."""
    module = target.new_module(OCCUPY)
    body = ir.Function(module, ir.FunctionType(VOID, [I64] * 5), f"{OCCUPY}.body")
    body.linkage = "internal"
    clock = declare(module, "llvm.readcyclecounter", I64, [])
    builder = ir.IRBuilder(body.append_basic_block("entry"))
    begun: Any = builder.call(clock, [])
    wait, done = body.append_basic_block("wait"), body.append_basic_block("done")
    builder.branch(wait)
    builder.position_at_end(wait)
    passed = builder.sub(builder.call(clock, []), begun)
    builder.cbranch(builder.icmp_unsigned("<", passed, body.args[0]), wait, done)
    builder.position_at_end(done)
    builder.ret_void()
    target.emit_entry(module, OCCUPY, body, [I64], False, False)
    return str(module)
