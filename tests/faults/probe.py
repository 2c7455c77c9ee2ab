"""What still has to work after a fault."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import i32

from .verdicts import Unclear, backend, check_equal, require_words


class Probe(oa.Object):
    number: i32

    def doubled(self) -> i32:
        return self.number * 2


@oa.kernel
def _add(probes: oa.Array[Probe], out: oa.Array[i32]):
    i = oa.grid(1)
    if i < len(probes):
        probes[i].number += i
        out[i] = probes[i].doubled()


def still_works() -> None:
    """Objects, kernels and deletion, in the current heap. A kernel that failed on a GPU costs the
    process the GPU, whatever context is asked for: then a new heap says so, and heaps on the CPU
    work."""
    if backend() != "cuda":
        _work()
        return
    try:
        with oa.Heap():
            _work()
    except oa.DeviceError as error:
        require_words(str(error), ("lost to this process", "start the program", "backend='cpu'"))
        if not error.help:
            raise Unclear("the lost GPU has no cure") from error
        with oa.Heap(backend="cpu"):
            _work()


def _work() -> None:
    count = 1000
    probes = oa.new(Probe, count, number=np.arange(count))
    out = oa.zeros(count, i32)
    _add[count](probes, out)
    check_equal(out.numpy(), 4 * np.arange(count), "a kernel's result after the fault")
    check_equal(probes.number.numpy(), 2 * np.arange(count), "a field after the fault")
    oa.delete(probes)
