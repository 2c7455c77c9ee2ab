"""How programs launch their kernels, so that each one's time can be taken."""

from __future__ import annotations

import time
from typing import Any


class Launches:
    """Called with a kernel, a number of threads and the arguments. With ``timed`` it waits for each
    kernel, and ``seconds`` sums up the time by kernel name."""

    def __init__(self, heap: Any, timed: bool) -> None:
        self._heap = heap
        self._timed = timed
        self.seconds: dict[str, float] = {}

    def __call__(self, kernel: Any, threads: int, *arguments: Any) -> None:
        if not self._timed:
            kernel[threads](*arguments)
            return
        start = time.perf_counter()
        kernel[threads](*arguments)
        self._heap.synchronize()
        passed = time.perf_counter() - start
        self.seconds[kernel.name] = self.seconds.get(kernel.name, 0.0) + passed
