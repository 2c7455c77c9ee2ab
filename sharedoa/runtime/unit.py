"""Loaded kernels: one unit a setting and backend, good for as long as its typed tree holds."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from dispatch import state
from dispatch.shadow import TABLE_BYTES

from ..backends import Backend, native_code
from ..errors import HeapError
from ..heap.heap import Heap
from ..heap.provider import Slab
from ..uninterrupted import uninterrupted
from . import code_cache
from .code_cache.own_code import own_code
from .device_errors import ErrorRecords, Loaded
from .exit_report import report_at_exit
from .pipeline import Compilation

native_code.keep, native_code.keep_own = code_cache.compiled, own_code

_records: weakref.WeakKeyDictionary[Backend, ErrorRecords] = weakref.WeakKeyDictionary()
_shadow_tables: weakref.WeakKeyDictionary[Backend, Slab] = weakref.WeakKeyDictionary()
_watched: weakref.WeakSet[Heap] = weakref.WeakSet()


class Unit:
    """A kernel's machine code as a backend loaded it. It does not keep the backend alive."""

    def __init__(self, compilation: Compilation, backend: Backend) -> None:
        self.compilation = compilation
        outline = compilation.outline
        records = records_of(backend)
        with uninterrupted:
            handle = backend.load(
                outline.kernel_symbol,
                compilation.products,
                uses_barrier=outline.uses_barrier,
                recursive=outline.recursive,
                debug=compilation.job.debug,
            )
            job = compilation.job
            stretches = job.program.stretches
            self._loaded = Loaded(job.name, outline, job.debug, handle, stretches)
            self._record = records.claim(self._loaded)
            # Not while things are collected: launches of it may be under way.
            self._leaving = weakref.finalize(self, records.left.append, self._loaded)
            self._leaving.atexit = False
        self.state: list[int] = []
        """What the module's state block holds; another list after every change."""

    def bind(
        self, heap: Heap, words: Sequence[int], bounds: Sequence[int], births: int = 0
    ) -> None:
        """Fill the module's state block: the ``words`` that the heap gives, this unit's error
        record, ``bounds`` of the population that the code was compiled for, and the address of the
        table of ``births`` for code that makes objects."""
        self._loaded.heap = weakref.ref(heap)
        words = [*words[: state.ERRORS], self._record, *words[state.ERRORS + 1 :], *bounds]
        if self.compilation.job.debug:
            words = [*words[: state.SHADOW], shadow_table(heap.backend)]
        if births:
            words += [0] * (state.BIRTHS - len(words)) + [births]
        if words != self.state:
            self.state = []  # nobody knows what it holds if this ends in the middle
            heap.backend.set_state(self.handle, words)
            self.state = words
        if heap not in _watched:
            # Whatever waits for the heap's launches looks for what went wrong in them.
            with uninterrupted:
                heap.add_synchronize_hook(records_of(heap.backend).raise_first)
                _watched.add(heap)

    def heap(self) -> Heap | None:
        """The one that it was bound to last."""
        return self._loaded.heap()

    @property
    def handle(self) -> Any:
        """What the backend loaded."""
        return self._loaded.handle

    def forget(self, backend: Backend) -> None:
        """It was never launched, nor will be."""
        with uninterrupted:
            self._leaving.detach()
            records_of(backend).release(self._loaded)


def release(backend: Backend, units: list[Unit]) -> None:
    """Nothing will launch these units again. What they have under way ends first; if it went wrong
    that is raised here, while their records can still be read."""
    backend.synchronize()
    records = records_of(backend)
    try:
        records.raise_first()
    finally:
        with uninterrupted:
            for unit in units:
                unit.forget(backend)


def release_left(backend: Backend) -> None:
    """As ``release``, of units that are no more, as their programs are."""
    records = records_of(backend)
    with uninterrupted:
        # Others may follow whose launches nobody has waited for, and other threads do the same.
        left = records.take_left()
    if not left:
        return
    try:
        backend.synchronize()
    except BaseException:
        records.left.extend(left)
        raise
    try:
        records.raise_first()
    finally:
        with uninterrupted:
            for each in left:
                records.release(each)


def shadow_table(backend: Backend) -> int:
    """The address of the table that finds races in debug mode (``dispatch.shadow``), which all
    kernels of a backend share; 0, with a warning, where there is no memory for it."""
    found = _shadow_tables.get(backend)
    if found is not None:
        return found.address
    problem = ""
    with uninterrupted:
        try:
            found = backend.provider.allocate(TABLE_BYTES)
        except HeapError as error:
            found, problem = Slab(0, 0, np.zeros(0, np.uint8)), error.message
        _shadow_tables[backend] = found
    if problem:
        warnings.warn(f"debug mode does not look for races: {problem}", stacklevel=2)
    return found.address


def records_of(backend: Backend) -> ErrorRecords:
    found = _records.get(backend)
    if found is None:
        found = _records[backend] = ErrorRecords(backend.provider)
        known = weakref.ref(backend)
        report_at_exit(lambda: _wait_at_exit(known()))
    return found


def _wait_at_exit(backend: Backend | None) -> None:
    if backend is not None and not backend.is_lost:
        backend.synchronize()
        _records[backend].raise_first()
