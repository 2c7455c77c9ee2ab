"""Loaded kernels: one unit a setting and backend, good for as long as its typed tree holds."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from dispatch import state

from ..backends import Backend
from ..heap.heap import Heap
from .device_errors import ErrorRecords
from .pipeline import Compilation

_records: weakref.WeakKeyDictionary[Backend, ErrorRecords] = weakref.WeakKeyDictionary()
_watched: weakref.WeakSet[Heap] = weakref.WeakSet()


class Unit:
    """A kernel's machine code as a backend loaded it. It does not keep the backend alive."""

    def __init__(self, compilation: Compilation, backend: Backend) -> None:
        self.name = compilation.name
        self.compilation = compilation
        lowered = compilation.lowered
        self.handle: Any = backend.load(
            lowered.kernel_symbol,
            compilation.products,
            uses_barrier=lowered.uses_barrier,
            recursive=lowered.recursive,
            debug=compilation.debug,
        )
        self.stores_references = compilation.stores_references
        self._record = records_of(backend).claim(self)
        self.state: list[int] = []
        """What the module's state block holds; another list after every change."""

    def bind(self, heap: Heap, words: Sequence[int], bounds: Sequence[int]) -> None:
        """Fill the module's state block: the ``words`` that the heap gives, this unit's error
        record, and ``bounds`` of the population that the code was compiled for."""
        words = [*words[: state.ERRORS], self._record, *words[state.ERRORS + 1 :], *bounds]
        if words != self.state:
            heap.backend.set_state(self.handle, words)
            self.state = words
        if heap not in _watched:
            # Whatever waits for the heap's launches looks for what went wrong in them.
            _watched.add(heap)
            heap.add_synchronize_hook(records_of(heap.backend).raise_first)


def release(backend: Backend, units: list[Unit]) -> None:
    """Nothing will launch these units again. What they have under way ends first; if it went wrong
    that is raised here, while their records can still be read."""
    backend.synchronize()
    records = records_of(backend)
    try:
        records.raise_first()
    finally:
        for unit in units:
            records.release(unit)


def records_of(backend: Backend) -> ErrorRecords:
    found = _records.get(backend)
    if found is None:
        found = _records[backend] = ErrorRecords(backend.provider)
    return found
