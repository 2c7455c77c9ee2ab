"""Where histories are played: backends, modes, layouts and references, by the seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from random import Random
from typing import Any

import sharedoa as oa
from dispatch.mode import MODES

from ...backends.pretend_device import PretendDevice
from ...codegen.interpreted import InterpretedGpu
from ..effort import layout_for, references_for

CAPACITY = "64MiB"
#: The interpreter has the modes that differ in what threads of a GPU do together, the pretended
#: device that of which runs are planned.
BACKENDS = ("cpu", "python", "interpreted", "pretended", "cuda")


@cache
def _gpu() -> InterpretedGpu:
    gpu = InterpretedGpu()
    # What nobody has written is any bit: LLVM chooses by it where both ways are the same.
    gpu.unwritten = partial(Random(1).getrandbits, 1)
    return gpu


def backend(name: str) -> Any:
    if name == "pretended":
        return PretendDevice(1 << 16)
    return _gpu() if name == "interpreted" else name


def modes_of(name: str) -> tuple[str, ...]:
    return ("auto",) if name in ("interpreted", "pretended") else MODES


def heaps(name: str, mode: str, seed: int) -> Callable[[int], oa.Heap]:
    """Opens heaps: the first in ``mode``, what is loaded from dumps in any."""

    def open_(number: int) -> oa.Heap:
        modes = modes_of(name)
        chosen = mode if number == 0 else modes[number % len(modes)]
        layout, references = (
            layout_for(chosen, seed + number),
            references_for(chosen, seed + number),
        )
        return oa.Heap(chosen, backend(name), layout, CAPACITY, 16, references=references)

    return open_
