"""What frozen objects hold, read for code that is to know it.

It stays as long as they live, so what was read is kept until the layout epoch changes: deleting a
frozen object raises it, as another one may come to lie in its place, and so does moving them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import HeapError
from ..heap.heap import Heap
from ..heap.placement import FieldPath
from ..ir.frozen import FrozenObject, Path
from ..model.classes import ClassType
from ..model.scalars import ScalarType
from ..model.types import InlineType, ReferenceType, Type, ValueType, array_form

MOST_BYTES = 4096
"""Of what code knows of one argument: more would be in no instruction anyway."""
_Key = tuple[ClassType, int]
_known: WeakKeyDictionary[Heap, tuple[int, dict[_Key, FrozenObject | None]]] = WeakKeyDictionary()


def frozen_contents(
    heap: Heap, cls: ClassType, reference: int, reads: bool = True
) -> FrozenObject | None:
    """The object of ``cls`` that ``reference`` leads to; None if it is null, deleted or large.
    ``reads``: whether memory may be looked at, which waits for what a device does."""
    epoch = heap.books.layout_epoch
    since, known = _known.get(heap, (-1, {}))
    if since != epoch:
        known = {}
        _known[heap] = epoch, known
    key = cls, reference
    if key not in known:
        if not reads:
            return None
        try:
            heap.backend.synchronize()
            known[key] = _Reader(heap).read(cls, reference)
        except (HeapError, _TooLargeError):
            known[key] = None
    return known[key]


class _TooLargeError(Exception):
    pass


class _Reader:
    def __init__(self, heap: Heap) -> None:
        self._heap, self._bytes = heap, 0
        self._under_way: set[int] = set()

    def read(self, cls: ClassType, reference: int) -> FrozenObject | None:
        if reference == 0 or reference in self._under_way or self._heap.mode.placement != "by_type":
            return None
        self._under_way.add(reference)
        address = self._heap.encoding.address(reference)
        found: list[tuple[Path, Any]] = []
        for name, type in cls.fields.items():
            for path, place, part in _scalars((name,), FieldPath(name), type):
                self._bytes += self._heap.layout.dtype(part).itemsize
                if self._bytes > MOST_BYTES:
                    raise _TooLargeError
                value = self._heap.placement.read_one(address, place)
                if isinstance(part, ReferenceType):
                    other = self.read(part.cls, int(value))
                    if other is not None:
                        found.append((path, other))
                else:
                    found.append((path, np.asarray(value).tobytes()))
        self._under_way.discard(reference)
        return FrozenObject(reference, tuple(found))


def _scalars(path: Path, place: FieldPath, type: Type) -> Iterator[tuple[Path, FieldPath, Type]]:
    """What of a field code can know: where kernels find it, where the host does, and its type."""
    if isinstance(type, ScalarType) or (isinstance(type, ReferenceType) and type.cls.frozen):
        yield path, place, type
    elif isinstance(type, ValueType) and len(type.shape) < 2:
        for number, (name, each) in enumerate(type.fields.items()):
            inner = place.inside(number if type.shape else name)
            yield from _scalars((*path, name), inner, each)
    elif isinstance(type, InlineType) and len(type.shape) == 1:
        item, lengths = array_form(type)
        for index in range(math.prod(lengths)):
            yield from _scalars((*path, index), place.inside(index), item)
