"""Reductions, scans and sorting of an array, and of a field of as many objects, beside NumPy on the
host and, where it is installed, CuPy on the same GPU.

Each is called until its result is there: a number on the host, or an array on the device. *copy* is
of as many bytes on the host. Elements are f32 and i32, 64 Mi of them at full size. NumPy has one
core; where memory is what limits it, so does this with all of them.

Expected on an H200 (4.8 TB/s), 64 Mi elements of 4 bytes: CuPy's sum 75 us with the number on the
host, ours 1.1 times that, of a field as long where it lies in tiles, else twice; cumsum 1.5 times
CuPy's, which reads once what is read twice here; sort and argsort 1.0 to 1.4 times CuPy's: as many
bytes, but digits of four bits at a time in shared memory. Of 1 Mi elements sums take 15 us more
than their launches, and cumsum, sort and argsort twice what CuPy's take; of 1 Ki, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

import sharedoa as oa
from bench.harness import MILLISECONDS, Options, Result, main, show, summary
from sharedoa import f32, i32

CALLS = ("sum", "min", "argmax", "any", "cumsum", "argsort", "sort")


class Item(oa.Object):
    a: f32
    b: i32


def run(options: Options) -> Result:
    """Time every call on arrays of f32 and i32, and on a field of objects."""
    counts = (1 << 10, 1 << 20, 16 << 20, 64 << 20) if options.full else (1 << 16,)
    repeat = 9 if options.full else 3
    settings = {"elements": list(counts), "repeat": repeat}
    capacity = max(1 << 28, 64 * counts[-1])
    with oa.Heap(backend=options.backend, capacity=capacity) as heap:
        result = Result("many", heap.backend.name, settings)
        for count in counts:
            _run(heap, result, count, repeat)
    show(
        "Many at once",
        ("what", "count", "elements", "library", "ms"),
        [
            (
                *(row[each] for each in ("what", "count", "elements", "library")),
                row["median"] * MILLISECONDS,
            )
            for row in result.rows
        ],
    )
    return result


def _run(heap: oa.Heap, result: Result, count: int, repeat: int) -> None:
    values = np.random.default_rng(0).integers(-(2**20), 2**20, count).astype(np.int32)
    for name, type in (("f32", f32), ("i32", i32)):
        given = values.astype(np.float32) if name == "f32" else values
        _time(result, "copy", name, "numpy", count, given.copy, repeat)
        for what, library in _arrays(heap, type, given):
            before = oa.array(type, given) if library == "sharedoa" else what.copy()
            for call in CALLS:
                with result.attempt(f"{call} of {count} {name} by {library}"):
                    work = _work(heap, what, call)
                    restore = _restore(heap, what, before) if call == "sort" else None
                    _time(result, call, name, library, count, work, repeat, restore)
    with result.attempt(f"a field of {count}"):
        items = oa.new(Item, count, a=values.astype(np.float32))
        for call in ("sum", "argmax", "cumsum"):
            work = _work(heap, items.a, call)
            _time(result, call, "field f32", "sharedoa", count, work, repeat)
        oa.delete(items)


def _arrays(heap: oa.Heap, type: Any, values: Any) -> Iterator[tuple[Any, str]]:
    yield oa.array(type, values), "sharedoa"
    yield values, "numpy"
    try:
        import cupy
    except ImportError:
        return
    if heap.backend.name == "cuda":
        yield cupy.asarray(values), "cupy"


def _work(heap: oa.Heap, values: Any, call: str) -> Callable[[], Any]:
    """What calls it, and waits."""

    def work() -> None:
        found = getattr(values, call)()
        if getattr(found, "ndim", 1) == 0:
            found.item()
        else:  # what is sorted in place returns nothing
            _wait(heap, values)

    return work


def _wait(heap: oa.Heap, values: Any) -> None:
    if type(values).__module__.startswith("cupy"):
        values.device.synchronize()
    else:
        heap.synchronize()


def _restore(heap: oa.Heap, values: Any, before: Any) -> Callable[[], None]:
    """What makes them what they were, where they are."""

    def restore() -> None:
        if isinstance(values, oa.Array):
            _copy(values.__sharedoa_element__)[len(values)](before, values)
        else:
            values[:] = before
        _wait(heap, values)

    return restore


@cache
def _copy(T: Any) -> Any:
    @oa.kernel
    def kernel_copy(source: oa.Array[T], target: oa.Array[T]) -> None:
        i = oa.grid(1)
        target[i] = source[i]

    return kernel_copy


def _time(
    result: Result,
    what: str,
    elements: str,
    library: str,
    count: int,
    work: Callable[[], Any],
    repeat: int,
    restore: Callable[[], None] | None = None,
) -> None:
    """``restore`` is called before each call."""
    work()
    samples = []
    for _ in range(repeat):
        if restore is not None:
            restore()
        begun = perf_counter()
        work()
        samples.append(perf_counter() - begun)
    named = {"what": what, "count": count, "elements": elements, "library": library}
    result.rows.append({**named, **summary(samples)})


if __name__ == "__main__":
    main(run, __doc__)
