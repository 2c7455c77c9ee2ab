"""The registry of a heap where kernels find it (``dispatch.registry``)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dispatch.registry import PLACE_BYTES, stored_registry

from .extents import Extent, Extents
from .registry import Addresses, Registry, States
from .residency import Residency


class ShownRegistry:
    """A copy of a registry in heap memory. Kernels change the bytes that say which objects live;
    ``fetch`` takes that into the registry."""

    def __init__(
        self,
        registry: Registry,
        extents: Extents,
        residency: Residency,
        retire: Callable[[Extent], None],
    ) -> None:
        """``retire`` frees an extent once launches under way have finished."""
        self._registry = registry
        self._extents = extents
        self._residency = residency
        self._retire = retire
        self._extent: Extent | None = None
        #: Of the registry when it was copied.
        self._version = self._changes = -1
        self._addresses: Addresses = np.zeros(0, np.uint64)
        self._states: States = np.zeros(0, np.uint8)
        #: The bytes in heap memory.
        self._bytes: States = self._states
        self._is_lent = False

    @property
    def address(self) -> int:
        """Where kernels find it; 0 if there are no places."""
        return 0 if self._extent is None else self._extent.address

    @property
    def count(self) -> int:
        """How many places it has."""
        return len(self._addresses)

    def write(self) -> bool:
        """Let kernels see what the registry says; whether they find it elsewhere, or longer, now.
        From ``lend`` to ``give_back`` nothing happens. Raises NoRoom, having changed nothing."""
        if self._is_lent:
            return False
        registry = self._registry
        addresses = registry.addresses()
        if self._version == registry.version:
            if self._changes != registry.changes:
                self._states = registry.states()
                self._host_uses_bytes()
                self._bytes[:] = self._states
                self._changes = registry.changes
            return False
        extent = None
        if len(addresses):
            extent = self._extents.allocate(len(addresses) * PLACE_BYTES, from_top=True)
        self._drop()
        self._extent, self._addresses = extent, addresses
        self._states = self._bytes = registry.states()
        if extent is not None:
            start = extent.address
            self._residency.host_uses(start, start, start + len(addresses) * PLACE_BYTES)
            self._bytes = stored_registry(extent.memory, addresses, registry.types(), self._states)
        self._version, self._changes = registry.version, registry.changes
        return True

    def lend(self) -> None:
        """A launch is about to change bytes; it stays as it is until ``give_back``."""
        self._is_lent = True

    def fetch(self) -> None:
        """The launch has ended: what it has changed goes into the registry."""
        if self._is_lent:
            self._host_uses_bytes()
            changed = np.flatnonzero(self._bytes != self._states)
            self._registry.set_states(self._addresses[changed], self._bytes[changed])

    def give_back(self) -> None:
        """No launch changes bytes any more."""
        self._is_lent = False

    def byte_addresses(self, addresses: Addresses) -> Addresses:
        """Where the bytes of these places are."""
        first = self.address + len(self._addresses) * PLACE_BYTES - len(self._addresses)
        found: Addresses = np.searchsorted(self._addresses, addresses).astype(np.uint64)
        return found + np.uint64(first)

    def drop_stale(self) -> None:
        """Free it if it is to be written anew anyway. No launch may be under way."""
        if not self._is_lent and self._version != self._registry.version:
            self._drop()
            self._addresses, self._states = self._addresses[:0], self._states[:0]
            self._bytes, self._version = self._states, -1

    def _drop(self) -> None:
        if self._extent is not None:
            self._retire(self._extent)
            self._extent = None

    def _host_uses_bytes(self) -> None:
        if self._extent is not None:
            start, count = self._extent.address, len(self._addresses)
            end = start + count * PLACE_BYTES
            self._residency.host_uses(start, end - count, end)
