"""What test processes that share a GPU take of its memory, each for itself and to its end: a stack
for every thread that the card can run, and the heap of its malloc. As much as a program alone would
take, 8.7 GiB, fills a card of 80 GB with nine."""

from __future__ import annotations

import gc

from sharedoa.backends.gpu_device import GpuDevice

STACK, MALLOC_HEAP = 8 << 10, 1 << 30
"""Bytes: room for a hundred recursive calls, and for the 1.6 million objects of the paper's
traffic."""
_MUCH = 2 << 30


def share(device: GpuDevice) -> None:
    """Let this process take no more than that."""
    device.open_malloc_heap(MALLOC_HEAP)
    raise_stack = device.raise_stack
    device.raise_stack = lambda wanted: raise_stack(min(wanted, STACK))


def give_back(device: GpuDevice) -> None:
    """Between two tests: heaps of earlier ones are in reference cycles, and who needs their room is
    another process."""
    if device.managed_bytes > _MUCH:
        gc.collect()
