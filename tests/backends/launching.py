"""Loading and launching hand-written kernels over memory of a backend's provider."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from sharedoa.backends import Backend
from sharedoa.backends.base import KernelLaunch
from sharedoa.targets.base import I64

from ..targets.hand_written import Emit, kernel_text


class Launcher:
    """One kernel of i64 leaves on a backend."""

    def __init__(
        self,
        backend: Backend,
        emit: Emit,
        leaves: int = 1,
        debug: bool = False,
        uses_barrier: bool = False,
        recursive: bool = False,
        symbol: str = "kernel",
    ) -> None:
        text = kernel_text(backend.target, emit, [I64] * leaves, symbol, debug, uses_barrier)
        self.backend = backend
        self.handle = backend.load(
            symbol, backend.target.compile(text), uses_barrier, recursive, debug=debug
        )
        self.leaves = leaves
        self.slots = (ctypes.c_uint64 * leaves)()

    def __call__(
        self,
        *leaves: int,
        threads: int | tuple[int, int],
        block: tuple[int, int] = (64, 1),
    ) -> None:
        """Launch and wait."""
        self.slots[: self.leaves] = list(leaves)
        shape = threads if isinstance(threads, tuple) else (threads, 1), block
        launch = KernelLaunch(self.handle, *shape, self.slots, self.leaves)
        self.backend.prepare(launch)()
        self.backend.synchronize()


def shared_words(backend: Backend, values: Sequence[int] | np.ndarray[Any, Any]) -> Any:
    """An int64 array in memory that kernels of the backend reach; its address is ``address_of``."""
    data = np.asarray(values, np.int64)
    slab = backend.provider.allocate(max(1 << 16, data.nbytes))
    words = slab.memory[: data.nbytes].view(np.int64)
    words[:] = data.reshape(-1)
    return words


def address_of(words: np.ndarray[Any, Any]) -> int:
    return int(words.ctypes.data)
