"""Seconds that launches take: by the host's clock, or by events in the device's own stream."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cuda_context import CudaContext

Launch = Callable[[], None]

#: Launches before the first that is timed: code is loaded, memory has moved, and on a device the
#: queue is filled, so that no timed kernel waits for the host to send it.
WARM_UP = 3


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


def time_by_events(context: CudaContext, launch: Launch, repeat: int) -> list[float]:
    """Seconds between an event before and one after each launch, in the stream of ``context``.

    Includes about 3 us for the events, and the gap to the host where a kernel is shorter than its
    launch.
    """
    context.enter()
    events = [context.call("cuEventCreate", 0) for _ in range(2 * repeat)]
    try:
        for _ in range(WARM_UP):
            launch()
        context.synchronize()
        for _ in range(WARM_UP):
            launch()
        for before, after in zip(events[::2], events[1::2], strict=True):
            context.call("cuEventRecord", before, context.stream)
            launch()
            context.call("cuEventRecord", after, context.stream)
        context.synchronize()
        return [
            context.call("cuEventElapsedTime", before, after) / 1000
            for before, after in zip(events[::2], events[1::2], strict=True)
        ]
    finally:
        for event in events:
            context.call("cuEventDestroy", event)
