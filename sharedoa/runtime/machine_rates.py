"""How fast the device of a heap copies, computes and starts launches, measured by kernels."""

from __future__ import annotations

from typing import NamedTuple

from ..heap.arrays import Array
from ..heap.heap import Heap
from ..model.intrinsics import grid
from ..model.type_names import f32, i32
from ..sampling import traffic
from . import knobs
from .kernel import kernel
from .profile import profiling

_COUNT = 1 << 25
_ON_CPU, _ON_GPU = 1 << 17, 1 << 22
"""Threads that compute: some hundredths of a second, and tenths of a millisecond."""
_REPEAT, _PIECE = 5, 64
_ROUNDS = 64
_HEADROOM = 1 << 27


class Rates(NamedTuple):
    """Bytes and operations (``sampling.traffic``) a second, and seconds from a launch's start to
    its end that it takes to do nothing."""

    bytes: float
    operations: float
    launch: float


@kernel
def copy_all(source: Array[f32], target: Array[f32]) -> None:
    target[grid(1)] = source[grid(1)]


@kernel
def compute(numbers: Array[f32], rounds: i32) -> None:
    """Products and sums in eight chains, of which none waits for another."""
    a = numbers[grid(1)]
    b, c, d, e = a + f32(1.0), a + f32(2.0), a + f32(3.0), a + f32(4.0)
    f, g, h = a + f32(5.0), a + f32(6.0), a + f32(7.0)
    for _ in range(rounds):
        a = a * f32(0.5) + f32(1.0)
        b = b * f32(0.5) + f32(1.0)
        c = c * f32(0.5) + f32(1.0)
        d = d * f32(0.5) + f32(1.0)
        e = e * f32(0.5) + f32(1.0)
        f = f * f32(0.5) + f32(1.0)
        g = g * f32(0.5) + f32(1.0)
        h = h * f32(0.5) + f32(1.0)
    numbers[grid(1)] = a + b + c + d + e + f + g + h


@kernel
def nothing(numbers: Array[f32]) -> None:
    pass


def rates(backend: str) -> Rates:
    """Those of a backend, by its name with the device's number. Raises HeapError where there is no
    memory for two arrays of 128 MiB."""
    size = 2 * 4 * _COUNT + _HEADROOM
    with knobs.scope(specialise=False), Heap(backend=backend, capacity=size) as heap:
        time = heap.backend.time_launches
        chains = _ON_GPU if heap.backend.target.is_device else _ON_CPU
        source, target = heap.zeros(_COUNT, f32), heap.zeros(_COUNT, f32)
        copied = min(time(lambda: copy_all[_COUNT](source, target), _REPEAT))
        computed = min(time(lambda: compute[chains](source, _ROUNDS), _REPEAT))
        with heap.lock:
            program = compute.program.uses().program
            done = traffic(program, heap, (chains, 1), (source, _ROUNDS), _PIECE)
        with profiling() as profiled:
            for _ in range(_REPEAT):
                nothing[1](source)
        (row,) = profiled.rows.values()
        started = (row.least or 0) / 1e9
        return Rates(8 * _COUNT / copied, done.operations * chains / computed, started)
