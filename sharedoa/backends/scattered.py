"""Objects placed one by one by the platform's own allocator, and how the host reaches them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..context_managers import contextmanager
from ..errors import HeapError
from .base import Addresses, Backend, Bytes
from .own_kernels import OwnKernel, OwnKernels
from .scattered_kernels import ALLOCATE, FREE, GATHER, SCATTER

if TYPE_CHECKING:
    from ..heap.provider import Provider, Slab

_WORD = 8
_SMALLEST = 1 << 16
"""Bytes of the first staging slab."""


class ScatteredMemory:
    """Runs the four kernels of ``scattered_kernels`` through a backend.

    Arguments and results go through a staging slab that both sides see: addresses first, then data.
    Heaps and threads share it and the kernels' slots, so there is one operation at a time.
    """

    def __init__(self, backend: Backend, provider: Provider | None = None) -> None:
        """``provider``: of staging slabs, if not the backend's."""
        self._backend = backend
        self._own_provider = provider
        self._kernels = OwnKernels(backend)
        self._staging: Slab | None = None
        #: Held for a whole operation. Not reentrant: what finds it taken may be a finalizer in the
        #: middle of an operation of its own thread.
        self._lock = threading.Lock()
        self._to_free: list[Addresses] = []

    def allocate(self, count: int, size: int, header: bytes) -> Addresses:
        """See ``Backend.allocate_scattered``."""
        with self._operation():
            words, data = self._stage(count, len(header))
            data[: len(header)] = np.frombuffer(header, np.uint8)
            self._run(ALLOCATE, count, (self._words_at, size, self._data_at(count), len(header)))
            addresses = words.copy()
        made = addresses[addresses != 0]
        if len(made) < count:
            self.free(made)
            raise HeapError(
                f"the platform's allocator had room for {len(made):,} of {count:,} objects of "
                f"{size:,} bytes",
                "make fewer objects, give the heap a larger capacity, or use a mode that places "
                "objects by type (any but cuda and concord)",
            )
        return addresses

    def free(self, addresses: Addresses) -> None:
        """Give the objects back: at once, or after the operation that is going on."""
        self._to_free.append(addresses.copy())
        self._free_if_idle()

    def gather(self, addresses: Addresses, offset: int, itemsize: int) -> Bytes:
        """See ``Backend.gather``."""
        count = len(addresses)
        with self._operation():
            data = self._stage_addresses(addresses, count * itemsize)
            leaves = (self._words_at, self._data_at(count), offset, itemsize)
            self._run(GATHER, count, leaves)
            return data.copy().reshape(count, itemsize)

    def scatter(self, addresses: Addresses, offset: int, data: Bytes) -> None:
        """See ``Backend.scatter``."""
        count, itemsize = data.shape
        with self._operation():
            self._stage_addresses(addresses, data.size)[:] = data.reshape(-1)
            leaves = (self._words_at, self._data_at(count), offset, itemsize)
            self._run(SCATTER, count, leaves)

    def close(self) -> None:
        """Give the staging slab back; objects are the heap's to free."""
        with self._operation():
            if self._staging is not None:
                self._provider.free(self._staging)
                self._staging = None
            self._kernels.close()

    @contextmanager
    def _operation(self) -> Iterator[None]:
        try:
            with self._lock:
                # An allocation finds room in what was to be freed before.
                self._free_noted()
                yield
        finally:
            self._free_if_idle()

    def _free_if_idle(self) -> None:
        while self._to_free and self._lock.acquire(blocking=False):
            try:
                self._free_noted()
            finally:
                self._lock.release()

    def _free_noted(self) -> None:
        while self._to_free:
            addresses = self._to_free.pop()
            self._stage_addresses(addresses, 0)
            self._run(FREE, len(addresses), (self._words_at,))

    def _stage(self, count: int, size: int) -> tuple[Addresses, Bytes]:
        """Room for ``count`` addresses and ``size`` bytes after them."""
        needed = count * _WORD + size
        if self._staging is None or self._staging.size < needed:
            if self._staging is not None:
                self._provider.free(self._staging)
                self._staging = None
            size = max(_SMALLEST, 1 << (needed - 1).bit_length())
            self._staging = self._provider.allocate(size)
        memory = self._staging.memory
        return memory[: count * _WORD].view(np.uint64), memory[count * _WORD : needed]

    def _stage_addresses(self, addresses: Addresses, size: int) -> Bytes:
        words, data = self._stage(len(addresses), size)
        words[:] = addresses
        return data

    @property
    def _provider(self) -> Provider:
        return self._own_provider or self._backend.provider

    @property
    def _words_at(self) -> int:
        assert self._staging is not None
        return int(self._staging.address)

    def _data_at(self, count: int) -> int:
        return self._words_at + count * _WORD

    def _run(self, kernel: OwnKernel, count: int, leaves: Sequence[int]) -> None:
        if count:
            self._kernels.launch(kernel, count, leaves)
            self._backend.synchronize()
