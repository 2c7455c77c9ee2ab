"""Many threads make an object each, and end it: 16 Mi objects of 16 bytes, of 1, 2 and 8 classes,
by all threads of a warp or by one of 32, in free memory and in the holes that a random half of
twice as many objects have left.

Each step makes and ends them, as captured: the device lists free slots, in order, and notes what
lives. *Plain* writes fields of as many objects that are there already, and goes over them once
more. Both are of the same run; samples are seconds a step.

On a GPU there are also the times of kernels by CUPTI: of what makes objects and of what ends them,
each a captured step of its own, with all lists and notes; of plain writes alone, and of a pass that
reads and writes the objects' bytes.

Hand-written CUDA on an H200: plain writes take 139 us, places from one counter for all 440 with one
class and 1,660 with eight, from a stack of freed places 2,450; squeezing half of the places in the
order of threads 385. DynaSOAr takes 17,270 for objects of 64 bytes.

Expected before running, on an H200: plain 0.14 and 0.1 ms, in all 0.25. Making writes and reads a
list of 64 MiB and bytes that say what lives, so 0.3 ms for one class, as much to end them: 0.6.
Where each thread has a place for an object of each class, eight classes have eight lists, 2 ms to
make objects and 0.75 to end them. Which threads make an object of which class follows from their
numbers here, so there is one place a thread; then kernels take, in us: with one class 150 to make
and 220 to end objects, by one thread of 32 40 and 50, into holes 190 and 370; with two classes 225
and 235, with eight 400 and 240. Where threads of a block stand by turns, as they do since
(``sharedoa.ir.regrouping``), eight classes take 190 to make. Where threads go by slots
(``sharedoa.runtime.slot_calls``) to end them takes 120 to 130, into holes 200 to 270.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import sharedoa as oa
from bench.cupti.kernel_times import KernelTimes
from bench.harness import MILLISECONDS, Options, Result, main, show, summary
from bench.reproduction.timers import started
from sharedoa import f32, i32

_RUNS = 8
_NEW = 3
"""Of field ``d`` of the objects that a step makes."""


class Thing(oa.Object):
    a: f32
    b: f32
    c: i32
    d: i32

    def write(self) -> None:
        self.a, self.b, self.c, self.d = f32(1.0), f32(2.0), i32(5), i32(0)

    def add(self) -> None:
        self.a += 1.0
        self.b += 1.0
        self.c += 1
        self.d += 1

    def end(self) -> None:
        if self.d == _NEW:
            oa.delete(self)


class T0(Thing): ...


class T1(Thing): ...


class T2(Thing): ...


class T3(Thing): ...


class T4(Thing): ...


class T5(Thing): ...


class T6(Thing): ...


class T7(Thing): ...


_CLASSES = (T0, T1, T2, T3, T4, T5, T6, T7)


@oa.kernel
def make_one(every: i32) -> None:
    i = oa.grid(1)
    if i % every == 0:
        oa.new(T0, a=f32(i), b=f32(2.0), c=i, d=_NEW)


@oa.kernel
def make_two(every: i32) -> None:
    i = oa.grid(1)
    if i % every == 0:
        if i * 7 % 2 == 0:
            oa.new(T0, a=f32(i), b=f32(2.0), c=i, d=_NEW)
        else:
            oa.new(T1, a=f32(i), b=f32(2.0), c=i, d=_NEW)


@oa.kernel
def make_eight(every: i32) -> None:
    i = oa.grid(1)
    if i % every == 0:
        kind = i * 7 % 8
        if kind == 0:
            oa.new(T0, a=f32(i), b=f32(2.0), c=i, d=_NEW)
        elif kind == 1:
            oa.new(T1, a=f32(i), b=f32(2.0), c=i, d=_NEW)
        elif kind == 2:
            oa.new(T2, a=f32(i), b=f32(2.0), c=i, d=_NEW)
        elif kind == 3:
            oa.new(T3, a=f32(i), b=f32(2.0), c=i, d=_NEW)
        elif kind == 4:
            oa.new(T4, a=f32(i), b=f32(2.0), c=i, d=_NEW)
        elif kind == 5:
            oa.new(T5, a=f32(i), b=f32(2.0), c=i, d=_NEW)
        elif kind == 6:
            oa.new(T6, a=f32(i), b=f32(2.0), c=i, d=_NEW)
        else:
            oa.new(T7, a=f32(i), b=f32(2.0), c=i, d=_NEW)


_MAKE = {1: make_one, 2: make_two, 8: make_eight}


def run(options: Options) -> Result:
    """Time each way to make and end as many objects as there are threads."""
    threads = 16 << 20 if options.full else 1 << 12
    times = started() if options.backend in ("auto", "cuda") else None
    with oa.Heap(backend=options.backend) as heap:
        result = Result("allocation", heap.backend.name, {"threads": threads, "runs": _RUNS})
        oa.new(T0, threads)
        samples = _timed(heap, lambda: (heap.all(T0).write(), heap.all(T0).add()), options.repeat)
        result.rows.append({"what": "plain", "objects": threads} | summary(samples))
        for what, call in (("written", heap.all(T0).write), ("passed", heap.all(T0).add)):
            with oa.Capture(heap) as captured:
                call()
            result.rows += _kernels(times, options.repeat, {what: captured}, {"objects": threads})
    for classes, make in _MAKE.items():
        for every in (1, 32):
            for holes in (False, True):
                with oa.Heap(backend=options.backend) as heap:
                    row = {"what": "made and ended", "objects": threads // every}
                    row |= {"classes": classes, "of lanes": f"1 in {every}", "holes": holes}
                    if holes:
                        _leave_holes(heap, 2 * threads // every, classes)
                    step = partial(_step, heap, make, threads, every)
                    samples = _timed(heap, step, options.repeat)
                    result.rows.append(row | summary(samples))
                    with oa.Capture(heap) as making:
                        make[threads](every)
                    with oa.Capture(heap) as ending:
                        heap.all(Thing).end()
                    parts = {"made": making, "ended": ending}
                    result.rows += _kernels(times, options.repeat, parts, row)
                    with result.attempt(f"{row}"):
                        found = len(heap.all(Thing))
                        wanted = threads // every if holes else 0
                        assert found == wanted, f"{found} objects are left, not {wanted}"
    plain = result.rows[0]["median"]
    show(
        f"{threads:,} threads make objects of 16 bytes and end them, ms a step",
        ["what", "objects", "classes", "lanes", "holes", "median", "least", "of plain"],
        [
            [
                row["what"], row["objects"], row.get("classes", ""), row.get("of lanes", ""),
                row.get("holes", ""), MILLISECONDS * row["median"], MILLISECONDS * row["min"],
                row["median"] / plain,
            ]
            for row in result.rows
        ],
    )  # fmt: skip
    return result


def _kernels(
    times: KernelTimes | None, repeat: int, parts: dict[str, oa.Capture], about: dict[str, Any]
) -> list[dict[str, Any]]:
    """Seconds of the kernels of each captured part, which run one after another; what they are, in
    the last run."""
    samples: dict[str, list[float]] = {what: [] for what in parts}
    kernels: dict[str, dict[str, tuple[int, float]]] = {}
    for number in range(repeat // 2 + 2 if times is not None else 0):
        for what, captured in parts.items():
            assert times is not None
            times.begin()
            captured.run()
            found = times.end()
            kernels[what] = {name: (one.launches, one.seconds) for name, one in found.items()}
            if number >= 2:
                samples[what].append(sum(one.seconds for one in found.values()))
    return [
        about | {"what": f"kernels, {what}", "kernels": kernels[what]} | summary(each)
        for what, each in samples.items()
        if each
    ]


def _step(heap: oa.Heap, make: Any, threads: int, every: int) -> None:
    make[threads](every)
    heap.all(Thing).end()


def _leave_holes(heap: oa.Heap, count: int, classes: int) -> None:
    """So many objects, of which every other one, at random, is deleted."""
    for cls in _CLASSES[:classes]:
        objects = oa.new(cls, count // classes)
        order = np.random.default_rng(1).permutation(count // classes)
        oa.delete(objects[np.sort(order[::2])])


def _timed(heap: oa.Heap, step: Callable[[], Any], repeat: int) -> list[float]:
    """Seconds a run of the captured step, of _RUNS runs at a time."""
    with oa.Capture(heap) as captured:
        step()
    samples = []
    for number in range(repeat // 2 + 2):
        start = perf_counter()
        captured.run(_RUNS)
        heap.synchronize()
        if number >= 2:  # the first ones compile
            samples.append((perf_counter() - start) / _RUNS)
    return samples


if __name__ == "__main__":
    main(run, __doc__)
