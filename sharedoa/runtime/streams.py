"""``oa.stream``: launches in a stream of another library."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from ..context_managers import contextmanager
from ..errors import ArgumentError
from ..heap.export import gpu_of
from ..heap.heap import current_heap


@contextmanager
def stream(given: Any) -> Iterator[None]:
    """``with oa.stream(s):`` everything that the current heap's GPU is given in the block goes
    through ``s``, in order with what others give to it: a stream of PyTorch, CuPy, Numba or
    cuda.core, or its address. What was launched before comes first, what is launched after the
    block comes last. On a CPU, which has no streams, nothing changes.

    A device has one such block at a time; what other threads launch on it goes through ``s``, too.
    Raises ArgumentError for what is no stream, and while another thread is in such a block.
    """
    handle = _handle(given)
    device = gpu_of(current_heap())
    if device is None:
        yield
        return
    me, before, owner = threading.get_ident(), device.stream, device.stream_taken_by
    if owner not in (None, me):
        raise ArgumentError(
            f"another thread has a block `with oa.stream(...)` on {device.label}",
            "launch from one thread at a time in streams of others",
        )
    try:
        device.stream_taken_by = me
        device.use_stream(handle)
        yield
    finally:
        device.stream_taken_by = owner
        try:
            device.use_stream(before)
        except BaseException:  # Ctrl-C
            device.use_stream(before)
            raise


def _handle(given: Any) -> int:
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given
    told = getattr(given, "__cuda_stream__", None)
    if told is not None:  # of cuda.core: (version, address)
        return int((told() if callable(told) else told)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba
        found = getattr(given, name, None)
        found = getattr(found, "value", found)
        if isinstance(found, int):
            return found
    raise ArgumentError(
        f"oa.stream takes a stream, not {given!r}",
        "pass torch.cuda.current_stream(), cupy.cuda.get_current_stream(), or a stream's address",
    )
