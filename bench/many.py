"""Reductions, scans and sorting of an array, and of a field of as many objects, beside NumPy on the
host and, where it is installed, CuPy on the same GPU.

Each is called until its result is there: a number on the host, or an array on the device. *copy* is
of as many bytes on the host. Elements are f32 and i32, 64 Mi of them at full size. NumPy has one
core; where memory is what limits it, so does this with all of them.

Expected on an H200 (4.8 TB/s), 64 Mi elements of 4 bytes: CuPy's sum 75 us with the number on the
host, ours 1.2 times that, of a field twice as long, as its values become an array first; cumsum 1.5
times CuPy's, which reads once what is read twice here; sort and argsort, by four bits at a time and
not by eight, three times CuPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    count = 64 << 20 if options.full else 1 << 16
    repeat = 5 if options.full else 3
    capacity = max(1 << 28, 64 * count)
    with oa.Heap(backend=options.backend, capacity=capacity) as heap:
        result = Result("many", heap.backend.name, {"elements": count, "repeat": repeat})
        values = np.random.default_rng(0).integers(-(2**20), 2**20, count).astype(np.int32)
        for name, type in (("f32", f32), ("i32", i32)):
            given = values.astype(np.float32) if name == "f32" else values
            _time(result, "copy", name, "numpy", given.copy, repeat)
            for what, library in _arrays(heap, type, given):
                for call in CALLS:
                    with result.attempt(f"{call} of {name} by {library}"):
                        before = what.copy() if library != "sharedoa" else given
                        work = _work(heap, what, call)
                        _time(result, call, name, library, work, repeat, (what, before))
        with result.attempt("a field"):
            items = oa.new(Item, count, a=values.astype(np.float32))
            for call in ("sum", "argmax", "cumsum"):
                work = _work(heap, items.a, call)
                _time(result, call, "field f32", "sharedoa", work, repeat)
    show(
        f"Many at once: {count:,} elements",
        ("what", "elements", "library", "ms"),
        [
            (row["what"], row["elements"], row["library"], row["median"] * MILLISECONDS)
            for row in result.rows
        ],
    )
    return result


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
        if type(values).__module__.startswith("cupy"):
            # What is sorted in place returns nothing.
            found.item() if getattr(found, "ndim", 1) == 0 else values.device.synchronize()
        else:
            heap.synchronize()

    return work


def _time(
    result: Result,
    what: str,
    elements: str,
    library: str,
    work: Callable[[], Any],
    repeat: int,
    restore: tuple[Any, Any] | None = None,
) -> None:
    """``restore``: an array, and what it holds before each call."""
    work()
    samples = []
    for _ in range(repeat):
        if restore is not None and what == "sort":
            restore[0][:] = restore[1]
        begun = perf_counter()
        work()
        samples.append(perf_counter() - begun)
    result.rows.append({"what": what, "elements": elements, "library": library, **summary(samples)})


if __name__ == "__main__":
    main(run, __doc__)
