"""How programs launch their kernels, so that each one can be timed and watched."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import sharedoa as oa


class PopulationCall(NamedTuple):
    """What stands for a kernel where a method of the population of a class is called, or a grid
    is built, which is of no class."""

    name: str
    cls: type | None = None
    method: str = ""


class Launches:
    """Called with a kernel, a number of threads and the arguments. With ``timed`` each kernel's
    time is taken, by the device's own clock where it has one; ``watcher`` is called with each
    kernel before it is launched. A launch without threads runs nothing: it is neither timed nor
    watched, so that what is watched is what runs on the device."""

    def __init__(
        self, heap: Any, timed: bool, watcher: Callable[[Any], None] | None = None
    ) -> None:
        self._heap = heap
        self._steps: dict[Hashable, oa.Capture] = {}
        self._stopwatch = heap.backend.stopwatch() if timed else None
        self._watcher = watcher

    def __call__(self, kernel: Any, threads: Any, *arguments: Any) -> None:
        is_watched = self._watcher is not None or self._stopwatch is not None
        if not is_watched or _is_empty(threads):
            kernel[threads](*arguments)
            return
        if self._watcher is not None:
            self._watcher(kernel)
        if self._stopwatch is None:
            kernel[threads](*arguments)
        else:
            self._stopwatch.time(kernel.name, lambda: kernel[threads](*arguments))

    def for_all(self, cls: type, method: str, *arguments: Any) -> None:
        """Call a method of all objects of a class that live now: one launch, of that name."""
        call = getattr(self._heap.all(cls), method)
        label = PopulationCall(f"{cls.__name__}.{method}", cls, method)
        self._watched(label, lambda: call(*arguments))

    def build(self, grid: oa.HashGrid, objects: Any, field: str) -> None:
        """Build a grid of objects."""
        label = PopulationCall("HashGrid.build")
        self._watched(label, lambda: grid.build(objects, field))

    def _watched(self, label: PopulationCall, call: Callable[[], None]) -> None:
        if self._watcher is not None:
            self._watcher(label)
        if self._stopwatch is None:
            call()
        else:
            self._stopwatch.time(label.name, call)

    def repeat(self, key: Hashable, sequence: Callable[[], None]) -> None:
        """Call ``sequence``, which whenever it is called for ``key`` launches the same kernels with
        the same arguments, and does nothing else. It is captured at the first time and run as one
        step, unless each kernel is timed or watched."""
        if self._stopwatch is not None or self._watcher is not None:
            sequence()
            return
        if key not in self._steps:
            with oa.Capture(self._heap) as step:
                sequence()
            self._steps[key] = step
        self._steps[key].run()

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by kernel name so far; empty if no time is taken."""
        return {} if self._stopwatch is None else self._stopwatch.seconds()


def _is_empty(threads: Any) -> bool:
    """Whether ``kernel[threads]`` has none: a number, (nx, ny), or either of them with a block."""
    if not isinstance(threads, tuple):
        return bool(threads == 0)
    first = threads[0]
    return 0 in (first if isinstance(first, tuple) else threads)
