"""Kernels' own times, from their start to their end on the device, for one sample after another.

Events around a launch count also what passes before the kernel starts and after it has ended, which
is more than a microsecond; these are the times that profilers show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .buffers import Buffers, dropped_records, flush, records_in
from .kernel_records import KERNEL, KernelHead, read_kernel
from .library import Cupti, CuptiError

_WITHOUT = "time a shorter run, or time it without CUPTI"


@dataclass
class KernelSum:
    """All launches of one kernel."""

    seconds: float = 0.0
    launches: int = 0


class KernelTimes:
    """Times of all kernels that this process launches between ``begin`` and ``end``."""

    def __init__(self, cupti: Cupti, buffers: Buffers, synchronize: Callable[[], None]) -> None:
        """``synchronize`` waits for everything that was launched."""
        self._cupti, self._buffers, self._synchronize = cupti, buffers, synchronize

    @property
    def version(self) -> int:
        """CUPTI's."""
        return self._cupti.version

    def start(self) -> None:
        """Have kernels timed from now on: once a process, with the driver initialised and no
        context yet. Kernels may still run beside each other.

        Raises CuptiError if CUPTI refuses.
        """
        self._buffers.register(self._cupti)
        self._cupti.call("cuptiActivityEnable", KERNEL)

    def begin(self) -> None:
        """Forget what ran until now. Raises CuptiError if its records do not come."""
        self._fetch()
        self._buffers.reuse()
        dropped_records(self._cupti)  # counted anew from here

    def end(self) -> dict[str, KernelSum]:
        """What ran since ``begin``, by the names that kernels have on the device.

        Raises CuptiError where records are missing, have no times or cannot be what they should be:
        a sum of the others would be too small, and nobody would see it.
        """
        self._fetch()
        dropped = dropped_records(self._cupti)
        if dropped or self._buffers.ran_out:
            raise CuptiError(
                f"{dropped:,} of CUPTI's records were dropped; there was room for "
                f"{self._buffers.room:,} bytes of them",
                f"{_WITHOUT}, or raise BUFFERS in bench/cupti/buffers.py",
            )
        found: dict[str, KernelSum] = {}
        untimed = 0
        for buffer, valid in self._buffers.filled():
            for record in records_in(self._cupti, buffer, valid):
                head = KernelHead.from_address(record)
                if head.kind != KERNEL:
                    continue
                run = read_kernel(head)
                if run is None:
                    untimed += 1
                    continue
                kernel = found.setdefault(run.name, KernelSum())
                kernel.seconds += run.seconds
                kernel.launches += 1
        if untimed:
            raise CuptiError(f"CUPTI has no times of {untimed:,} launches", _WITHOUT)
        return found

    def _fetch(self) -> None:
        self._synchronize()
        flush(self._cupti)
