"""The Python instances (proxies) of a heap's objects: an object has at most one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..errors import HeapError
from ..forks import renew_in_child
from ..model.object import buried_proxy, bury_proxy, make_proxy
from ..model.reference import ReferenceEncoding
from ..uninterrupted import uninterrupted
from . import hooks
from .region_index import RegionIndex

if TYPE_CHECKING:
    from .heap import Heap

_FEW = 1024
"""So many are kept without a look at which of them nobody holds any more."""


class Proxies:
    """By reference. Those of objects that do not live are *buried*: told so, and not in here.

    They are held weakly, and without callbacks, which take longer than all the rest: when there are
    twice as many as were held last, those that nobody holds are forgotten.
    """

    def __init__(self) -> None:
        self._known: dict[int, ref[Any]] = {}
        self._most = _FEW
        #: Held while one is noted or forgotten.
        self._lock = renew_in_child(threading.RLock())

    def __len__(self) -> int:
        """No fewer than there are."""
        return len(self._known)

    def get(self, reference: int) -> Any:
        """None if nobody holds one."""
        found = self._known.get(reference)
        return None if found is None else found()

    def note(self, reference: int, proxy: Any) -> Any:
        """``proxy``, or the one of the same class that another thread has noted meanwhile."""
        with self._lock:
            known = self.get(reference)
            if known is not None and type(known) is type(proxy):
                return known
            self._known[reference] = ref(proxy)
            if len(self._known) > self._most:
                with uninterrupted:
                    self._forget_unheld()
        return proxy

    def _forget_unheld(self) -> None:
        self._known = {key: each for key, each in [*self._known.items()] if each() is not None}
        self._most = max(_FEW, 2 * len(self._known))

    def all(self) -> list[tuple[int, Any]]:
        """Those that somebody holds."""
        found = ((reference, each()) for reference, each in [*self._known.items()])
        return [(reference, proxy) for reference, proxy in found if proxy is not None]

    def follow(self, before: Sequence[tuple[int, Any]], now: Sequence[int]) -> None:
        """Of the objects that all have found ``before``, these are the references now. Others may
        have been noted since, which have not moved."""
        moved = [(old, new, proxy) for (old, proxy), new in zip(before, now, strict=True)]
        moved = [each for each in moved if each[0] != each[1]]
        with self._lock:
            for old, _, _ in moved:
                self._known.pop(old, None)
            for _, new, proxy in moved:
                proxy._reference = new
                self._known[new] = ref(proxy)

    def bury(self, gone: np.ndarray[Any, Any], lives: Callable[[int], bool]) -> None:
        """The objects with these references were deleted; ``lives``: whether one was not."""
        if len(gone) > len(self._known):
            self.bury_dead(lives)
        else:
            self.bury_these(gone.tolist())

    def bury_dead(self, lives: Callable[[int], bool]) -> None:
        """Bury all whose objects do not live."""
        self.bury_these([each for each in [*self._known] if not lives(each)])

    def burial(
        self, placement: RegionIndex, encoding: ReferenceEncoding
    ) -> Callable[[int], object]:
        """What buries all whose objects have gone after so many deletions, also where others live
        now. It keeps no heap."""

        def bury(deletions: int) -> None:
            is_same = placement.is_same
            self.bury_dead(lambda reference: is_same(encoding.address(reference), deletions))

        return bury

    def bury_these(self, gone: Iterable[int]) -> None:
        with self._lock:
            found = [self._known.pop(each, None) for each in gone]
        for each in found:
            proxy = None if each is None else each()
            if proxy is not None:
                bury_proxy(proxy)


def proxy_of(heap: Heap, reference: int) -> Any:
    """That of a live object, which the heap knows from now on. Raises HeapError for a reference to
    no live object; a kernel that CPython runs gets a buried one."""
    try:
        cls = heap.class_of(reference)
    except HeapError:
        if hooks.kernel_objects() is None:
            raise
        return buried_proxy(heap, reference)
    address = heap.encoding.address(reference)
    encoded = heap.encoding.encode(address, cls.type_index)
    if reference not in (encoded, address):
        raise HeapError(
            f"the object at {address:#x} was deleted, and a {cls.name} lies there now",
            "drop every reference to an object when deleting it",
        )
    return heap.proxies.note(encoded, make_proxy(cls, heap, encoded))
