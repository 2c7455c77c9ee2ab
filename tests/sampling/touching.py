"""Which fields threads touch: as sampled threads say, and as CPython does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa.runtime.cpython_launches import run_threads
from sharedoa.runtime.geometry import parse_geometry
from sharedoa.runtime.host_intrinsics import current_thread
from sharedoa.sampling.grouping import Touches
from sharedoa.sampling.threads import _spread, sample

#: Thread along both axes, the object's address, the field, the element if it is inline, and whether
#: it is written.
Touched = tuple[tuple[int, int], int, str, int, bool]


def sampled(
    patch: pytest.MonkeyPatch, kernel: Any, size: tuple[int, int], *arguments: Any
) -> dict[Touched, float]:
    """What ``sample`` finds in the current heap, and the weight of each."""
    heap = oa.current_heap()
    found: dict[Touched, float] = {}
    program = kernel.program.translation().ir
    (x, y), _ = _spread(size)
    add = Touches.add

    def noting(self: Touches, lvalue: Any, size: int, weights: Any, is_write: bool) -> None:
        record, name = heap.layout.record(lvalue.owner), lvalue.name
        dtype, start = record.dtypes[name], record.offsets[name]
        objects, offsets = (np.broadcast_to(v, len(weights)) for v in (lvalue.base, lvalue.offset))
        for lane in np.flatnonzero(weights).tolist():
            element = (int(offsets[lane]) - start) // dtype.base.itemsize if dtype.subdtype else 0
            key = (int(x[lane]), int(y[lane])), int(objects[lane]), name, element, is_write
            found[key] = max(found.get(key, 0.0), float(weights[lane]))
        add(self, lvalue, size, weights, is_write)

    with patch.context() as inner, heap.lock:
        inner.setattr(Touches, "add", noting)
        sample(program, heap, size, arguments)
    return found


@contextmanager
def recorded(patch: pytest.MonkeyPatch) -> Iterator[set[Touched]]:
    """What threads that CPython runs touch meanwhile."""
    found: set[Touched] = set()

    def note(heap: oa.Heap, one: Any, name: str, element: int, is_write: bool) -> None:
        thread = current_thread.get()
        if thread is not None:
            address = heap.encoding.address(one._reference)
            found.add((thread.index, address, name, element, is_write))

    def watch(method: str, is_write: bool, is_element: bool) -> None:
        original = getattr(oa.Heap, method)

        def watched(self: oa.Heap, one: Any, owner: Any, name: str, *more: Any) -> Any:
            note(self, one, name, more[0][0] if is_element else 0, is_write)
            return original(self, one, owner, name, *more)

        patch.setattr(oa.Heap, method, watched)

    with patch.context() as inner:
        patch = inner
        for method in ("read_field", "write_field", "read_element", "write_element"):
            watch(method, method.startswith("write"), method.endswith("element"))
        patch.setattr(oa.Heap, "reader", _reader)
        patch.setattr(oa.Heap, "writer", _writer)
        heap = oa.current_heap()
        heap.forget_ways()
        try:
            yield found
        finally:
            heap.forget_ways()


def _reader(heap: oa.Heap, cls: Any, name: str) -> Any:
    return lambda one: one._heap.read_field(one, cls, name)


def _writer(heap: oa.Heap, cls: Any, name: str) -> Any:
    return lambda one, value: one._heap.write_field(one, cls, name, value)


def touched(
    patch: pytest.MonkeyPatch, kernel: Any, size: tuple[int, int], *arguments: Any
) -> set[Touched]:
    """What CPython touches when it runs all threads of a launch."""
    program = kernel.program
    geometry = parse_geometry(size, 2)
    with recorded(patch) as found:
        values = program.plan.host_values(arguments)
        run_threads(program, oa.current_heap(), values, geometry)
    return found
