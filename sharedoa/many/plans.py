"""What calls need on a device, made ready once for each kind and length: kernels with the geometry
of their launches, and memory between them.

To find memory, and to look at what launches rest on, takes longer than the launches of few
elements.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol, cast
from weakref import ref

from ..heap.arrays import Array
from ..heap.heap import Heap
from ..heap.numpy_like import NumPyLike
from ..heap.recording import is_recorded, recording, taping
from ..model.scalars import ScalarType
from ..model.type_names import T_co
from .scratch import scratch_storage

_MOST_PLANS, _MOST_BYTES, _SHARE = 64, 256 << 20, 32
"""Of a heap, and of its capacity. Where kernels need more memory, to find it takes no time beside
theirs."""
_ALIGNMENT = 64


class Plan(Protocol):
    """It keeps no heap, which keeps it."""

    size: int
    """Bytes that it keeps."""

    def __call__(self, *given: Any) -> Any: ...


def of_row(name: str, element: ScalarType, length: int) -> Hashable:
    """The key of the plan for ``array.name()`` with so many numbers."""
    return name, element.name, length


def again(values: NumPyLike, name: str) -> Any:
    """``values.name()`` by the plan that an earlier call has left; NotImplemented where there is
    none, or more has to be looked at. To look at everything takes longer than some launches."""
    if type(values) is not Array:
        return NotImplemented
    element = values.__sharedoa_element__
    if not isinstance(element, ScalarType):
        return NotImplemented
    return by_ready(values._heap, of_row(name, element, values._length), values)


def by_ready(heap: Heap, key: Hashable, *given: Any) -> Any:
    """``planned`` where there is such a plan, and nobody records; else NotImplemented."""
    if recording.get() is not None or taping:
        return NotImplemented
    return _by_kept(heap.plans, key, given)


def _by_kept(plans: dict[Hashable, Plan], key: Hashable, given: tuple[Any, ...]) -> Any:
    plan = plans.pop(key, None)
    if plan is None:
        return NotImplemented
    found = plan(*given)
    plans[key] = plan
    return found


def planned(heap: Heap, key: Hashable, make: Callable[[], Plan], *given: Any) -> Any:
    """``make()(*given)`` with the plan that an earlier call with this key has left.

    It is this call's alone meanwhile: another thread's, or a signal's, makes one of its own. Of a
    call that does not come to its end nothing is used again, as launches may be under way; what a
    recorded step launches is its own.
    """
    if is_recorded(heap):
        return make()(*given)
    plans = heap.plans
    found = _by_kept(plans, key, given)
    if found is not NotImplemented:
        return found
    plan = make()
    found = plan(*given)
    most = min(_MOST_BYTES, heap.capacity // _SHARE)
    if plan.size <= most:
        sizes = [each.size for each in list(plans.values())]
        if len(sizes) >= _MOST_PLANS or sum(sizes) + plan.size > most:
            plans.clear()
        plans[key] = plan
    return found


class Lent(Array[T_co]):
    """An array of a plan, which is the heap's and keeps it not."""

    __slots__ = ("_weak_heap",)
    _weak_heap: ref[Heap]

    @property
    def _heap(self) -> Heap:
        return cast(Heap, self._weak_heap())

    @_heap.setter
    def _heap(self, heap: Heap) -> None:
        object.__setattr__(self, "_weak_heap", heap.weak)


class Between:
    """Memory for several arrays of numbers that kernels compute for kernels (``scratch``). It is
    taken when they are first asked for, behind the result: what others left is used again only
    until more is taken."""

    def __init__(self, *wanted: tuple[ScalarType, int]) -> None:
        self._wanted: list[tuple[ScalarType, int, int]] = []
        self._arrays: list[Array] = []
        self.size = 0
        for element, length in wanted:
            self._wanted.append((element, self.size, length))
            self.size += -(-length * element.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT

    def arrays(self, heap: Heap) -> list[Array]:
        """They, in the order in which they were wanted."""
        if not self._arrays:
            storage = scratch_storage(heap, self.size)
            start = storage.address
            self._arrays = [Lent(heap, e, storage, start + at, n) for e, at, n in self._wanted]
        return self._arrays
