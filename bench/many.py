"""Reductions, scans and sorting of an array, and of a field of as many objects, beside CuPy on the
same GPU, or NumPy on a processor (and where there is no CuPy).

Each is called until its result is there: a number on the host, or an array on the device. A row has
``repeat`` samples, or as many as a quarter of a second holds after the first call, three at least,
so that all of them end in a minute; a sample of few elements is the mean of several calls, as it
takes half a microsecond to read clocks. ``processor`` is the median of processor time, of all
threads: by this it is compared with NumPy, which has one core. *copy* is of as many bytes by NumPy.
Elements are f32 and i32, 64 Mi of them at full size on a GPU and 16 Mi on a processor.

Expected on an H200 (4.8 TB/s), times of CuPy's: with 64 Mi all about 1, cumsum 0.7, as CuPy copies;
with 1 Mi sum 0.8, cumsum 0.9, sort and argsort 0.8 to 0.9; with 1 Ki 0.5 to 1.1, the host's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

import sharedoa as oa
from bench.harness import (
    MILLISECONDS,
    Options,
    Result,
    backend_name,
    main,
    show,
    summary,
)
from sharedoa import f32, i32

CALLS = ("argsort", "cumsum", "where", "sum", "mean", "min", "argmax", "any", "sort")
"""The last one leaves them sorted."""
_FEWEST, _SECONDS = 3, 0.25
"""Samples of a row, and how long it may take with more."""
_MOST_ON_A_PROCESSOR = 16 << 20
_AT_LEAST = 1 << 16
"""Elements that the calls of a sample go over."""


class Item(oa.Object):
    a: f32
    b: i32


def run(options: Options) -> Result:
    """Time every call on arrays of f32 and i32, and on a field of objects."""
    # What people look at first comes first.
    counts: tuple[int, ...] = (1 << 20, 64 << 20, 1 << 10, 16 << 20, 1 << 16)
    if not options.full:
        counts = (1 << 16,)
    elif backend_name(options) == "cpu":
        counts = tuple(count for count in counts if count <= _MOST_ON_A_PROCESSOR)
    repeat = 2 * options.repeat if options.full else 3
    settings = {"elements": list(counts), "repeat": repeat, "seconds": _SECONDS}
    capacity = max(1 << 28, 64 * max(counts))
    with oa.Heap(backend=options.backend, capacity=capacity) as heap:
        result = Result("many", heap.backend.name, settings)
        for count in counts:
            _run(heap, result, count, repeat)
    show(
        "Many at once",
        ("what", "count", "elements", "library", "ms", "processor, ms", "times as long"),
        [
            (
                *(row[each] for each in ("what", "count", "elements", "library")),
                row["median"] * MILLISECONDS,
                row["processor"] * MILLISECONDS,
                row.get("ratio"),
            )
            for row in result.rows
        ],
    )
    return result


def _run(heap: oa.Heap, result: Result, count: int, repeat: int) -> None:
    values = np.random.default_rng(0).integers(-(2**20), 2**20, count).astype(np.int32)
    on_device = heap.backend.target.is_device
    for name, type in (("i32", i32), ("f32", f32)):
        given = values.astype(np.float32) if name == "f32" else values
        _time(result, "copy", name, "numpy", count, given.copy, repeat)
        libraries = _arrays(heap, type, given)
        before = {library: _copy_of(what, type, given) for library, what in libraries.items()}
        for call in CALLS:
            rows = {}
            for library, what in libraries.items():
                with result.attempt(f"{call} of {count} {name} by {library}"):
                    work = _work(heap, what, call)
                    sorts = call == "sort"
                    restore = _restore(heap, what, before[library]) if sorts else None
                    rows[library] = _time(result, call, name, library, count, work, repeat, restore)
            ours, *theirs = rows.values()
            kind = "median" if on_device else "processor"
            if theirs and theirs[0][kind]:  # a processor's clock may be too coarse to tell
                ours["ratio"] = round(ours[kind] / theirs[0][kind], 3)
    with result.attempt(f"a field of {count}"):
        items = oa.new(Item, count, a=values.astype(np.float32))
        for call in ("sum", "argmax", "cumsum"):
            work = _work(heap, items.a, call)
            _time(result, call, "field f32", "sharedoa", count, work, repeat)
        oa.delete(items)


def _arrays(heap: oa.Heap, type: Any, values: Any) -> dict[str, Any]:
    """Ours first, then what it is compared with."""
    ours = {"sharedoa": oa.array(type, values)}
    if heap.backend.name == "cuda":
        with suppress(ImportError):
            import cupy

            return {**ours, "cupy": cupy.asarray(values)}
    return {**ours, "numpy": values.copy()}


def _copy_of(what: Any, type: Any, given: Any) -> Any:
    return oa.array(type, given) if isinstance(what, oa.Array) else what.copy()


def _work(heap: oa.Heap, values: Any, call: str) -> Callable[[], Any]:
    """What calls it, and waits."""
    if call == "where":
        where = _where_of(values)
        compute = partial(where, values, values, values)
    else:
        compute = getattr(values, call)

    def work() -> None:
        found = compute()
        if getattr(found, "ndim", 1) == 0:
            found.item()
        else:  # what is sorted in place returns nothing
            _wait(heap, values)

    return work


def _where_of(values: Any) -> Callable[..., Any]:
    if isinstance(values, oa.Array):
        return oa.where
    found: Callable[..., Any] = sys.modules[type(values).__module__.split(".")[0]].where
    return found


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
) -> dict[str, Any]:
    """The row. ``restore`` is called before each call, each of which is a sample then."""
    times = 1 if restore else max(1, _AT_LEAST // count)
    samples: list[float] = []
    of_processor = []
    end = 0.0
    for round in range(1 + repeat):
        if len(samples) >= _FEWEST and perf_counter() > end:
            break
        if restore is not None:
            restore()
        used, begun = process_time(), perf_counter()
        for _ in range(times):
            work()
        taken = (perf_counter() - begun) / times
        if round:  # the first one compiles
            samples.append(taken)
            of_processor.append((process_time() - used) / times)
        else:
            end = perf_counter() + _SECONDS
    named = {"what": what, "count": count, "elements": elements, "library": library}
    row = {**named, **summary(samples), "processor": float(np.median(of_processor))}
    result.rows.append(row)
    return row


if __name__ == "__main__":
    main(run, __doc__)
