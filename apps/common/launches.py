"""How programs launch their kernels, so that each one's time can be taken."""

from __future__ import annotations

from typing import Any


class Launches:
    """Called with a kernel, a number of threads and the arguments. With ``timed`` each kernel's
    time is taken, by the device's own clock where it has one."""

    def __init__(self, heap: Any, timed: bool) -> None:
        self._watch = heap.backend.stopwatch() if timed else None

    def __call__(self, kernel: Any, threads: Any, *arguments: Any) -> None:
        if self._watch is None:
            kernel[threads](*arguments)
        else:
            self._watch.time(kernel.name, lambda: kernel[threads](*arguments))

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by kernel name so far; empty if no time is taken."""
        return {} if self._watch is None else self._watch.seconds()
