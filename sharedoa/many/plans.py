"""What calls need on a device, made ready once for each kind and length: kernels with the geometry
of their launches, and memory between them.

To find memory, and to look at what launches rest on, takes longer than the launches of few
elements.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, Protocol

from ..heap.arrays import Array
from ..heap.heap import Heap
from ..heap.recording import is_recorded
from ..model.scalars import ScalarType
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


_plans: weakref.WeakKeyDictionary[Heap, dict[Hashable, Plan]] = weakref.WeakKeyDictionary()


def planned(heap: Heap, key: Hashable, make: Callable[[], Plan], *given: Any) -> Any:
    """``make()(*given)`` with the plan that an earlier call with this key has left.

    It is this call's alone meanwhile: another thread's, or a signal's, makes one of its own. Of a
    call that does not come to its end nothing is used again, as launches may be under way; what a
    recorded step launches is its own.
    """
    if is_recorded(heap):
        return make()(*given)
    plans = _plans.get(heap)
    if plans is None:
        plans = _plans.setdefault(heap, {})
    plan = plans.pop(key, None)
    if plan is not None:
        found = plan(*given)
    else:
        plan = make()
        found = plan(*given)
        most = min(_MOST_BYTES, heap.capacity // _SHARE)
        if plan.size > most:
            return found
        sizes = [each.size for each in list(plans.values())]
        if len(sizes) >= _MOST_PLANS or sum(sizes) + plan.size > most:
            plans.clear()
    plans[key] = plan
    return found


class Between:
    """Memory for several arrays of numbers that kernels compute for kernels (``scratch``)."""

    def __init__(self, heap: Heap, *wanted: tuple[ScalarType, int]) -> None:
        self._wanted, self.size = [], 0
        for element, length in wanted:
            self._wanted.append((element, self.size, length))
            self.size += -(-length * element.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        self._storage = scratch_storage(heap, max(self.size, 1))

    def arrays(self, heap: Heap) -> list[Array]:
        """They, in the order in which they were wanted."""
        storage = self._storage
        start = storage.address
        return [Array(heap, each, storage, start + at, n) for each, at, n in self._wanted]
