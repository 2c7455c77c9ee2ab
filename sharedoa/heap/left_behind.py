"""A heap's memory in a process that was forked from the one which has the device."""

from __future__ import annotations

from typing import Any


class LeftBehind:
    """Stands for a heap's memory where its backend can no longer be used, and says why."""

    def __init__(self, backend: Any, memory: Any) -> None:
        self._backend = backend
        self._memory = memory  # to finalize it is the parent's business

    def __getattr__(self, name: str) -> Any:
        self._backend.synchronize()
        raise AttributeError(name)
