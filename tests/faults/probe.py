"""What still has to work after a fault."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import i32

from .verdicts import backend, check_equal


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
    """Objects, kernels and deletion, in the current heap. A failed kernel costs a GPU's heap its
    context; then it is another heap."""
    if backend() == "cuda":
        with oa.Heap():
            _work()
    else:
        _work()


def _work() -> None:
    count = 1000
    probes = oa.new(Probe, count, number=np.arange(count))
    out = oa.zeros(count, i32)
    _add[count](probes, out)
    check_equal(out.numpy(), 4 * np.arange(count), "a kernel's result after the fault")
    check_equal(probes.number.numpy(), 2 * np.arange(count), "a field after the fault")
    oa.delete(probes)
