"""What kernels call that Python does not have: the thread's place, barriers and atomics.

The front end recognises these functions by identity and compiles them. Called from CPython, on the
host or inside a kernel of the ``python`` backend, they do what ``host`` does, which the runtime
fills in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar, cast, overload

Function = TypeVar("Function", bound=Callable[..., Any])
AtomicOperator = Literal["add", "sub", "min", "max", "exch", "cas"]


class HostIntrinsics(Protocol):
    """Meaning of the intrinsics in CPython."""

    def thread_index(self) -> tuple[int, int, int]: ...

    def grid_size(self) -> tuple[int, int, int]: ...

    def barrier(self) -> None: ...

    def tile(self, element: Any, count: int) -> Any: ...

    def atomic(
        self, operator: AtomicOperator, target: Any, place: Any, value: Any, compare: Any = None
    ) -> Any: ...


#: Set when the runtime is imported, which is before anything can be called.
host = cast(HostIntrinsics, None)


def known_in_kernels(name: str) -> Callable[[Function], Function]:
    """Marks a function of the host that kernels may call, too; the front end knows it as
    ``name``."""

    def mark(function: Function) -> Function:
        function.__sharedoa_intrinsic__ = name  # type: ignore[attr-defined]
        return function

    return mark


@overload
def grid(axes: Literal[1]) -> int: ...
@overload
def grid(axes: Literal[2]) -> tuple[int, int]: ...
def grid(axes: int) -> Any:
    """This thread's index: ``i = oa.grid(1)`` ``x, y = oa.grid(2)`` or
    ``x, y, z = oa.grid(3)``; only in a kernel."""
    index = host.thread_index()
    return index[0] if axes == 1 else index[:axes]


@overload
def gridsize(axes: Literal[1]) -> int: ...
@overload
def gridsize(axes: Literal[2]) -> tuple[int, int]: ...
def gridsize(axes: int) -> Any:
    """Number of threads of the launch: ``n = oa.gridsize(1)`` ``nx, ny =
    oa.gridsize(2)`` or ``nx, ny, nz = oa.gridsize(3)``."""
    size = host.grid_size()
    return size[0] if axes == 1 else size[:axes]


def syncthreads() -> None:
    """Wait until every thread of the block has arrived here; only in a kernel."""
    host.barrier()


def fence() -> None:
    """What this thread wrote or has seen is there for whoever sees what it writes or adds after
    this, and called this, too. For kernels of our own, whose blocks tell each other."""


def shared(element: Any, count: int, /) -> Any:
    """Memory that the threads of a block have in common: ``tile = oa.shared(f32, 256)``, in a
    statement of the kernel itself; indexed like an array. What it holds at first is not known, and
    what another thread wrote can be read after ``oa.syncthreads()``. The tiles of a kernel take at
    most 48 KiB."""
    return host.tile(element, count)


def atomic_add(target: Any, place: Any, value: Any) -> Any:
    """Add to a field (``obj, "field", v``) or element (``array, index, v``) in one step, to each
    component of a vector or matrix; the result is the old value."""
    return host.atomic("add", target, place, value)


def count_in_warp(target: Any, place: Any, value: Any) -> Any:
    """``atomic_add`` for all threads of a warp together, one after another in their order, to an
    array in which their places are less than ``COUNTED`` from each other. For kernels of our own,
    on GPUs whose threads run in step: all threads of a warp come to it or none."""
    return host.atomic("add", target, place, value)


COUNTED = 256


def atomic_sub(target: Any, place: Any, value: Any) -> Any:
    """Subtract from a field or element in one step; the result is the old value."""
    return host.atomic("sub", target, place, value)


def atomic_min(target: Any, place: Any, value: Any) -> Any:
    """Keep the smaller of a field or element and ``value``; the result is the old value."""
    return host.atomic("min", target, place, value)


def atomic_max(target: Any, place: Any, value: Any) -> Any:
    """Keep the larger of a field or element and ``value``; the result is the old value."""
    return host.atomic("max", target, place, value)


def atomic_exch(target: Any, place: Any, value: Any) -> Any:
    """Replace a field or element, a reference too; the result is the old value."""
    return host.atomic("exch", target, place, value)


def atomic_cas(target: Any, place: Any, compare: Any, value: Any) -> Any:
    """Write ``value`` where the field or element equals ``compare``; the result is the old
    value."""
    return host.atomic("cas", target, place, value, compare)
