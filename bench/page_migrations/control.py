"""What page by page looks like on this machine, and what it looks like with memory asked for.

Without it, records that show nothing could as well mean that nobody was looking.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

from apps.common.phases import PhaseWatcher
from sharedoa.backends.gpu_device import GpuDevice
from sharedoa.backends.managed_memory import ManagedProvider

BYTES = 32 << 20


def walk(device: GpuDevice, watcher: PhaseWatcher) -> None:
    """Memory that lies on the device is written by the host and by the device in turn: in the
    first step as it comes, in the second one after asking for it on either side."""
    provider = ManagedProvider(device)
    slab = provider.allocate(BYTES)
    for name, asks in (("first step", False), ("run", True)):
        watcher(name)
        if asks:
            device.prefetch(slab.address, slab.size, to_device=False)
            device.synchronize()
        slab.memory[:: mmap.PAGESIZE] += 1
        if asks:
            device.prefetch(slab.address, slab.size, to_device=True)
        device.call("MemsetD8Async", slab.address, 0, slab.size, device.stream)
        device.synchronize()
        watcher(None)
    provider.free(slab)


def complaints(parts: Sequence[dict[str, Any]]) -> list[str]:
    """What the counts of the walks (``rows_of_parts``) should show, and do not."""
    found = {row["part"]: row for row in parts}
    faulting, asked = found["first step"], found["later steps"]
    wrong = []
    if not faulting["page_by_page"]:
        wrong.append("a walk of the host through memory on the device does not show page by page")
    if not faulting["cpu_faults"]:
        wrong.append("the faults of that walk are not counted")
    if not faulting["gpu_fault_groups"]:
        wrong.append("the faults of the device on memory of the host are not counted")
    if asked["page_by_page"]:
        wrong.append("memory that was asked for shows page by page all the same")
    if not any(each["cause"] == "asked for" for each in asked["migrations"]):
        wrong.append("memory that was asked for does not show as such")
    return [f"control: {text}" for text in wrong]
