"""CUDA graphs: kernels that the driver starts together, with one call."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .base import KernelLaunch
from .cuda_context import CudaContext
from .cuda_launch import PreparedLaunch

if TYPE_CHECKING:
    from .cuda import CudaKernel


@dataclass(eq=False)
class CudaGraph:
    """A graph made ready to start. It keeps its kernels loaded; ``symbols`` are their names."""

    executable: Any
    kernels: tuple[CudaKernel, ...]
    symbols: dict[str, None]
    prints: bool


def capture_graph(context: CudaContext, launches: Sequence[KernelLaunch]) -> CudaGraph:
    """The graph of ``launches``, one after another, with the arguments that are in their slots now.

    They are captured from a stream of their own, so that what other threads launch, copy or
    prefetch meanwhile goes its usual way. Raises ArgumentError for a grid that the device does not
    have.
    """
    context.enter()
    stream = context.call("cuStreamCreate", context.driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    try:
        graph = _captured(context, launches, stream)
    finally:
        context.call("cuStreamDestroy", stream)
    try:
        executable = context.call("cuGraphInstantiate", graph, 0)
    finally:
        context.call("cuGraphDestroy", graph)
    kernels = tuple(each.handle for each in launches)
    symbols = dict.fromkeys(kernel.symbol for kernel in kernels)
    made = CudaGraph(executable, kernels, symbols, any(kernel.prints for kernel in kernels))
    weakref.finalize(made, _destroy, context, executable).atexit = False
    return made


def _captured(context: CudaContext, launches: Sequence[KernelLaunch], stream: Any) -> Any:
    driver = context.driver
    # Relaxed: what Python's collector frees meanwhile, such as a module, must not spoil it.
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    context.call("cuStreamBeginCapture", stream, mode)
    try:
        for each in launches:
            _launch(context, each, stream)
    except BaseException:
        _, graph = driver.cuStreamEndCapture(stream)
        if graph:
            driver.cuGraphDestroy(graph)
        raise
    return context.checked(driver.cuStreamEndCapture(stream), "cuStreamEndCapture")


def _launch(context: CudaContext, launch: KernelLaunch, stream: Any) -> None:
    prepared = PreparedLaunch(launch)
    function = launch.handle.function
    context.call("cuLaunchKernel", function, *prepared.shape, 0, stream, prepared.parameters, 0)


def _destroy(context: CudaContext, executable: Any) -> None:
    """Give back a graph that nobody can start again; what is under way of it ends first."""
    if context.is_lost:
        return
    context.enter()
    context.driver.cuGraphExecDestroy(executable)
