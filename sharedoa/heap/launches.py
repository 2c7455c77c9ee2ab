"""What a heap knows of launches, and how the host waits for them before it looks at memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..uninterrupted import BooksLock
from .automatic import Upkeep
from .distinct_fields import Field
from .memory import HeapMemory
from .recording import is_recorded, note_outside, refuse_access, refuse_change
from .settings import HeapSettings

_get_ident = threading.get_ident


class HeapOfLaunches:
    """The part of a heap that launches and whoever waits for them use."""

    def __init__(self, settings: HeapSettings) -> None:
        self.backend = settings.backend
        #: Held by whatever makes, frees or moves objects or arrays.
        self.lock = BooksLock()
        self.upkeep = Upkeep()
        self.memory = HeapMemory(settings)
        self.residency = self.memory.residency
        self.pieces = self.memory.pieces
        self.distinct = self.memory.distinct
        #: Launches that may have stored references in arrays.
        self.reference_writes = 0
        self._waited_for: object = None
        self._hooks: list[Callable[[], None]] = []

    def launch_state(self, debug: bool = False) -> list[int]:
        """The words of a module's state block that this heap determines (``dispatch.state``);
        ``debug``: for code that checks references."""
        with self.lock:
            return self.memory.launch_words(debug)

    def before_launch(self) -> None:
        """Start moving to the device what the host has used since the last launch."""
        self.residency.before_launch()

    def note_launch(
        self, stores_references: bool = True, stores_fields: Collection[Field] | None = None
    ) -> None:
        """A kernel is about to be launched: from now on the host waits before it looks at anything.
        ``stores_references``: whether it may change elements of arrays of references;
        ``stores_fields``: which watched fields (``distinct``), None: any."""
        if stores_references:
            self.note_reference_writes()
        fields = self.distinct.watched if stores_fields is None else stores_fields
        if fields:
            self.distinct.stored(fields)
        self.memory.last_launch = object()

    def note_reference_writes(self) -> None:
        """Elements of arrays of references may change from now on."""
        self.reference_writes += 1
        self.pieces.forget_all()

    def wait(self) -> None:
        """Wait for launches, of any thread, if there are any that nobody has waited for. Every
        access by the host comes through here; while launches are recorded it is refused with
        HeapError. Not for launches under way where the caller is part of one."""
        memory = self.memory
        if _get_ident() != self.upkeep.thread:
            self.note_thread()
        if (
            memory.last_launch is not self._waited_for
            or (memory.launching and memory.others_are_launching())
            or is_recorded(self)
        ):
            self.synchronize()

    def holding_still(self) -> AbstractContextManager[Any]:
        """In the block objects stay where they are, as do references to them, and an array that
        only a field holds stays one: who reads fields is about to hold it. Who is part of a launch
        waits for nobody, nor is anything moved or freed during one."""
        memory = self.memory
        is_part = memory.launching and not memory.is_apart
        return nullcontext() if is_part else self.lock.plain

    def note_thread(self) -> None:
        """The calling thread, which is not known to use the heap, does so. Raises HeapError if
        another one has it for itself."""
        upkeep, alone = self.upkeep, self.memory.alone
        if alone is not None and self.memory.is_apart:
            alone.launch()
        if upkeep.is_shared:
            return
        upkeep.note_thread()
        # A launch that CPython runs may have the lock, and this thread be one of it.
        if upkeep.thread != _get_ident() and self.memory.is_apart:
            with self.lock:
                upkeep.is_shared = True

    def note_launcher(self) -> None:
        """The caller launches while the block of a tape is open, and is noted if it is another."""
        self.note_thread()
        note_outside(self)

    def wait_for_others(self) -> None:
        """Until the caller lets go of the heap's lock, no launch of another thread is under way, if
        there are other threads: what is free may be somebody else's then."""
        if self.upkeep.is_shared:
            self.memory.stand_still()

    def before_change(self) -> None:
        """Wait, as the host is about to change memory. Raises HeapError within a tape's block."""
        refuse_change(self)
        self.wait()

    def synchronize(self) -> None:
        """Wait for all launches. Raises DeviceError if a kernel failed."""
        if is_recorded(self):
            raise refuse_access()
        self.launch_deferred()
        memory = self.memory
        memory.finish_launching()
        last = memory.last_launch
        self.backend.synchronize()
        self._waited_for = last  # another thread may have launched since
        for hook in self._hooks:
            hook()
        if memory.has_garbage:
            with self.lock:
                if memory.last_launch is last and not memory.launching:
                    memory.collect()

    def launch_deferred(self) -> None:
        """Launch what waits for other launches, whichever thread has asked for it."""
        deferred = self.memory.deferred
        if deferred is not None:
            deferred.launch()

    def add_synchronize_hook(self, hook: Callable[[], None]) -> None:
        """Call ``hook`` after every wait for launches."""
        self._hooks.append(hook)
