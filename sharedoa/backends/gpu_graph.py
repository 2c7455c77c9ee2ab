"""Graphs: kernels that the driver starts together, with one call."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dispatch.dataclass import dataclass

from .base import KernelLaunch, MemoryCopy, Recordable
from .gpu_device import UNTIMED, GpuDevice
from .gpu_launch import PreparedLaunch, native_launch

if TYPE_CHECKING:
    from .gpu import GpuKernel


@dataclass(eq=False)
class GpuGraph:
    """A graph made ready to start. It keeps its kernels loaded; ``symbols`` are their names."""

    executable: Any
    kernels: tuple[GpuKernel, ...]
    symbols: dict[str, None]
    prints: bool


def capture_graph(device: GpuDevice, launches: Sequence[Recordable]) -> GpuGraph:
    """The graph of ``launches``, one after another, with the arguments that are in their slots now;
    those that may run side by side are branches of it.

    They are captured from a stream of their own, so that what other threads launch, copy or
    prefetch meanwhile goes its usual way. Raises ArgumentError for a grid that the device does not
    have.
    """
    stream = device.new_stream()
    try:
        graph = _captured(device, launches, stream)
    finally:
        device.call("StreamDestroy", stream)
    try:
        executable = device.call("GraphInstantiate", graph, 0)
    finally:
        device.call("GraphDestroy", graph)
    kernels = tuple(each.handle for each in launches if isinstance(each, KernelLaunch))
    symbols = dict.fromkeys(kernel.symbol for kernel in kernels)
    made = GpuGraph(executable, kernels, symbols, any(kernel.prints for kernel in kernels))
    weakref.finalize(made, _destroy, device, executable).atexit = False
    return made


def _captured(device: GpuDevice, launches: Sequence[Recordable], stream: Any) -> Any:
    # What branches are captured with goes when nothing is captured any more.
    with ExitStack() as later:
        # Relaxed: what Python's collector frees meanwhile, such as a module, must not spoil it.
        device.call("StreamBeginCapture", stream, device.constant("relaxed"))
        try:
            for side, every in groupby(launches, lambda launch: launch.side):
                row = [*every]
                if side >= 0 and len(row) > 1:
                    _launch_side_by_side(device, row, stream, later)
                    continue
                for each in row:
                    _launch(device, each, stream)
        except BaseException:
            _, graph = device.call_quietly("StreamEndCapture", stream)
            if graph:
                device.call_quietly("GraphDestroy", graph)
            raise
        return device.call("StreamEndCapture", stream)


def _launch_side_by_side(
    device: GpuDevice, launches: Sequence[Recordable], stream: Any, later: ExitStack
) -> None:
    """Each but the first in a stream of its own, which waits for what came before and for which
    what comes after waits: so the graph has a branch for each."""

    def reached(at: Any) -> Any:
        event = device.call("EventCreate", UNTIMED)
        later.callback(device.call_quietly, "EventDestroy", event)
        device.call("EventRecord", event, at)
        return event

    start = reached(stream)
    ends = []
    for launch in launches[1:]:
        side = device.new_stream()
        later.callback(device.call_quietly, "StreamDestroy", side)
        device.call("StreamWaitEvent", side, start, 0)
        _launch(device, launch, side)
        ends.append(reached(side))
    _launch(device, launches[0], stream)
    for end in ends:
        device.call("StreamWaitEvent", stream, end, 0)


def _launch(device: GpuDevice, launch: Recordable, stream: Any) -> None:
    if isinstance(launch, MemoryCopy):
        device.call("MemcpyDtoDAsync", launch.target, launch.source, launch.size, stream)
        return
    prepared = PreparedLaunch(launch)
    device.enter()
    error = native_launch()(prepared.words(device.launch_function, stream))
    if error:
        device.fail(error, f"capturing {launch.handle.symbol}")


def _destroy(device: GpuDevice, executable: Any) -> None:
    """Give back a graph that nobody can start again; what is under way of it ends first."""
    if not device.is_lost:
        device.enter()
        device.call_quietly("GraphExecDestroy", executable)
