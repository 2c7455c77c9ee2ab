"""Graphs: kernels that the driver starts together, with one call."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dispatch.dataclass import dataclass

from .base import KernelLaunch, MemoryCopy, Recordable
from .gpu_device import GpuDevice
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
    """The graph of ``launches``, one after another, with the arguments that are in their slots now.

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
    # Relaxed: what Python's collector frees meanwhile, such as a module, must not spoil it.
    device.call("StreamBeginCapture", stream, device.constant("relaxed"))
    try:
        for launch in launches:
            _launch(device, launch, stream)
    except BaseException:
        _, graph = device.call_quietly("StreamEndCapture", stream)
        if graph:
            device.call_quietly("GraphDestroy", graph)
        raise
    return device.call("StreamEndCapture", stream)


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
