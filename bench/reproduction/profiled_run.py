"""One run of a workload under a profiler that starts and stops when it is told:
``python -m bench.reproduction.profiled_run WORKLOAD MODE STEPS FILE`` (``counters`` calls it)."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sharedoa.heap.heap import current_heap

from .sampling import is_sampled
from .workloads import WORKLOADS, Workload


class Sampler:
    """Called before every launch; lets the profiler look at some of them."""

    def __init__(self, start: Callable[[], Any], stop: Callable[[], Any]) -> None:
        self._start, self._stop = start, stop
        self._looking = False
        #: Launches so far, by the name that the kernel has on the device.
        self.launches: Counter[str] = Counter()
        self._symbols: dict[str, str] = {}

    def __call__(self, kernel: Any) -> None:
        symbol = self._symbols.get(kernel.name)
        if symbol is None:
            symbol = self._symbols[kernel.name] = _symbol(kernel)
        sampled = is_sampled(self.launches[symbol])
        self.launches[symbol] += 1
        if sampled != self._looking:
            (self._start if sampled else self._stop)()
            self._looking = sampled

    def close(self) -> None:
        if self._looking:
            self._stop()


def _symbol(kernel: Any) -> str:
    heap = current_heap()
    compiled = kernel.program.compilation(heap, heap.mode, heap.debug, heap.backend.target)
    symbol: str = compiled.lowered.kernel_symbol
    return symbol


def run(workload: Workload, mode: str, steps: int, file: Path) -> None:
    """Run it at full size on a GPU; write how often each kernel was launched."""
    from sharedoa.backends.cuda_device import cuda_device

    device = cuda_device(0)
    sampler = Sampler(lambda: device.call("ProfilerStart"), lambda: device.call("ProfilerStop"))
    result = workload.run(mode, "cuda", full=True, steps=steps, timed=False, on_launch=sampler)
    sampler.close()
    file.write_text(json.dumps({"launches": sampler.launches, "counts": result.counts}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=[workload.name for workload in WORKLOADS])
    parser.add_argument("mode")
    parser.add_argument("steps", type=int)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    workload = next(each for each in WORKLOADS if each.name == given.workload)
    run(workload, given.mode, given.steps, given.file)


if __name__ == "__main__":
    main()
