"""A field of many objects, seen as NumPy sees an array."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, ExportError, HeapError
from ..model.classes import ClassType
from ..model.frozen import refuse_frozen
from ..model.types import InlineType, ScalarType, Type, ValueType, array_form
from ..model.values import to_host
from . import hooks
from .conversion import block, column, holds_references
from .field_values import FieldValues, Lvalues, choose, position_of
from .numpy_like import MOST_AT_HAND, NumPyLike, advice_for, is_traced
from .placement import Change, FieldPath, References, Selection, Values
from .recording import is_recorded, is_taped

if TYPE_CHECKING:
    from .heap import Heap


def changes_now(heap: Heap) -> tuple[int, int]:
    """How many deletions and moves there have been."""
    placement = heap.placement
    return placement.deletions, placement.moves


class FieldView(NumPyLike):
    """``objects.radius``: read, assign and compute in place, in the objects' own memory.

    Its shape is (objects,), or (objects, N) for an inline array or a vector, with as many more
    lengths as these have. Objects that were created together are read and written as strided
    pieces or row by row, others are gathered and scattered. ``view["x"]`` is the component x of a
    value struct or a vector. An object that occurs several times changes at least once.
    """

    __slots__ = ("_cls", "_deletions", "_heap", "_moves", "_selected", "path", "source")

    def __init__(
        self,
        heap: Heap,
        cls: ClassType,
        selection: Selection,
        path: FieldPath,
        since: tuple[int, int],
        source: Any = None,
    ) -> None:
        """``since``: after how many deletions and moves (``changes_now``) somebody began to look
        for the objects of ``selection``."""
        self._heap = heap
        heap.upkeep.held.add(id(self))
        self._cls = cls
        self._selected = selection
        self._deletions, self._moves = since
        self.path = path
        self.source = source

    def __del__(self) -> None:
        heap = getattr(self, "_heap", None)  # none where a signal came as it was made
        if heap is not None:
            heap.upkeep.held.discard(id(self))

    @property
    def type(self) -> Type:
        """The type of the field of one object."""
        return self.path.type(self._cls)

    @property
    def _item(self) -> Type:
        return self.type

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._heap.layout.dtype(self.type).base

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._selected.count, *self._heap.layout.dtype(self.type).shape)

    def __len__(self) -> int:
        return self._selected.count

    def __iter__(self) -> Iterator[Any]:
        if is_traced(self):
            return iter(hooks.traced_element(self, ...))
        if isinstance(self.type, ScalarType):
            return iter(self.numpy())
        return map(self._one, range(len(self)))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.type.fields) if isinstance(self.type, ValueType) else []

    @property
    def _selection(self) -> Selection:
        """The objects. Raises HeapError if one of them was deleted since the view was made, also
        where another one lies in its place, and if objects of the class have moved."""
        placement = self._heap.placement
        moves = placement.moves
        if moves != self._moves:
            if placement.have_moved(self._cls, self._moves):
                raise HeapError(
                    f"this view of {self._cls.name}.{self.path.name} was made before objects moved "
                    "(oa.compact, oa.sort)",
                    "take it again from the objects, which have followed",
                )
            self._moves = moves
        deletions = placement.deletions
        if deletions != self._deletions:
            references = self._selected.references
            placement.refuse_replaced(references, self._deletions)
            self._selected = placement.select(references)
            self._deletions = deletions
        return self._selected

    @property
    def _since(self) -> tuple[int, int]:
        return self._deletions, self._moves

    def numpy(self) -> Values:
        """The values. One strided piece is a view that shares memory with the objects; several,
        gathered ones, or those of objects in tiles (``SHAREDOA_LAYOUT``) are a copy, which is
        read-only so that no change to it is lost unseen: assign to the view instead, or to
        ``view[...]``, or ``.copy()`` it. Arrays, as ``address`` and ``length``, and what holds
        references are always read-only: assign arrays, what ``oa.split`` makes of one, objects or
        values. What shares memory with objects is theirs until they are deleted, or move."""
        self._heap.wait()
        if not self._selection.count:
            return np.empty(self.shape, self.dtype)
        values = self._selection.read(self.path)
        fixed = self._cls.frozen or holds_references(self.type) or is_taped(self._heap)
        if fixed or not self._selection.is_one_view:
            values.flags.writeable = False
        self._note_numbers()
        return values

    def _at_hand(self) -> Values | None:
        heap, count = self._heap, self._selected.count
        if not 0 < count <= MOST_AT_HAND or heap.backend.target.is_device:
            return None
        if not isinstance(self.type, ScalarType):
            return None
        heap.wait()
        return np.ascontiguousarray(self._selection.read(self.path))

    def _shared(self) -> Values:
        selection = self._selection
        if not selection.count:
            return np.empty(self.shape, self.dtype)
        values = selection.view(self.path)
        if values is None:
            raise ExportError(
                f"the values of {self._description()} do not lie at equal distances in memory: the "
                "objects were not made together, or lie in tiles or one by one",
                'export a copy: oa.array(f32, view); or write class C(oa.Object, layout="aos") and '
                "make the objects at once",
            )
        values.flags.writeable = not holds_references(self.type)
        self._note_numbers()
        return values

    def __getitem__(self, key: Any) -> Any:
        """One value for an int, a ``FieldView`` for a slice or the name of a component, otherwise
        what NumPy's indexing makes of the values.

        Where that shares memory with an array (``view[...]``, ``view[:, 0]``, the row of an inline
        array), assigning to its elements and operators in place change the objects, wherever these
        lie: it is a view of them, or a copy that writes through (``FieldValues``)."""
        if isinstance(key, str):
            return self._component(key)
        if not isinstance(key, slice) and is_traced(self):
            return hooks.traced_element(self, key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return self._one(int(key))
        if isinstance(key, slice):
            references, since = self._selection.references[key], self._since
            part = self._heap.placement.select(references)
            return FieldView(self._heap, self._cls, part, self.path, since)
        return self._through(
            self.numpy()[key], lambda: self._lvalues(lambda: self._selection.references, key)
        )

    def _one(self, index: int) -> Any:
        position, type = position_of(index, len(self)), self.type
        self._heap.wait()
        with self._heap.holding_still():
            references = self._selection.references[position : position + 1]
            address = self._heap.encoding.address(int(references[0]))
            value = self._heap.placement.read_one(address, self.path)
            if not isinstance(type, InlineType):
                return to_host(type, value, self._heap)
        if self._cls.frozen and isinstance(value, np.ndarray):
            value.flags.writeable = False
        self._note_numbers()
        return self._through(
            value,
            lambda: self._lvalues(lambda: self._selection.references[position : position + 1], 0),
        )

    def _lvalues(self, references: Callable[[], References], *keys: Any) -> Lvalues:
        return Lvalues(self._heap, self.path, references, array_form(self.type)[1], keys)

    def _through(self, found: Any, lvalues: Callable[[], Lvalues]) -> Any:
        """What indexing ``found``, such that a change to part of a copy is not lost. What NumPy
        copied itself is the caller's own."""
        is_lost = isinstance(found, np.ndarray) and not found.flags.writeable
        if not is_lost or self._cls.frozen or holds_references(self.type):
            return found
        return FieldValues.of(found.copy(), lvalues())

    def _component(self, name: str) -> FieldView:
        type = self.type
        if not isinstance(type, ValueType) or name not in type.fields or len(type.shape) > 1:
            fields = f"it has {', '.join(type.fields)}" if isinstance(type, ValueType) else ""
            raise ArgumentError(
                f"{self._description()} is {type!r} and has no component {name!r}",
                fields or "only value structs have components",
            )
        path = self.path.inside(list(type.fields).index(name) if type.shape else name)
        selection = self._selection
        return FieldView(self._heap, self._cls, selection, path, self._since)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._cls.frozen:
            refuse_frozen(self._cls, self.path)
        if isinstance(key, str):
            self._component(key)[...] = value
        elif key is Ellipsis or (isinstance(key, slice) and key == slice(None)):
            self._assign(value)
        else:
            self._assign_some(key, value)

    def _assign(self, value: Any) -> None:
        same = isinstance(value, FieldView) and value._selected is self._selected
        if same and value.path == self.path:
            return
        self._heap.before_change()
        if len(self):
            values = column(self.type, value, len(self), self._description(), self._heap)
            self._selection.write(self.path, values)

    def _assign_some(self, key: Any, value: Any) -> None:
        self._heap.before_change()
        key = key if isinstance(key, tuple) else (key,)
        type, what, inner = self.type, self._description(), key[1:]
        chosen = choose(self._selection.references, key)
        item, shape = array_form(type)
        if chosen is None or (inner and not shape):
            lvalues = self._lvalues(lambda: self._selection.references, key)
            lvalues.write(block(item, value, lvalues.shape, what, self._heap))
            return
        references, first = chosen
        if inner:
            is_all = isinstance(key[0], slice) and key[0] == slice(None)
            selection = self._selection if is_all else self._heap.placement.select(references)
            self._assign_items(references, selection, (first, *inner), value)
            return
        given = column(type, value, len(references), what, self._heap)
        self._heap.placement.select(references).write(self.path, given)

    def _assign_items(
        self, references: References, selection: Selection, key: Any, value: Any
    ) -> None:
        """Assign to items of ``selection``, the objects that ``references`` refer to."""
        what, inner = self._description(), key[1:]
        item, lengths = array_form(self.type)
        if any(not isinstance(each, (int, slice)) or isinstance(each, bool) for each in inner):
            lvalues = self._lvalues(lambda: references, key)
            lvalues.write(block(item, value, lvalues.shape, what, self._heap))
            return
        # Columns, which need no index of every place.
        shape = np.broadcast_to(np.False_, (len(references), *lengths))[key].shape
        given = block(item, value, shape, what, self._heap)
        items = np.arange(math.prod(lengths)).reshape(lengths)[inner].reshape(-1)
        # A copy, as one column that is written may be another one's values.
        columns = given.reshape(len(references), len(items)).copy()
        for number, index in enumerate(items):
            selection.write(self.path.inside(int(index)), columns[:, number])

    def _change(self, change: Change) -> None:
        if self._cls.frozen:
            refuse_frozen(self._cls, self.path)
        if holds_references(self.type):
            raise ArgumentError(
                f"{self._description()} is {self.type!r}, which nothing is computed with",
                "assign objects, arrays or values to it",
            )
        self._heap.before_change()
        if len(self):
            self._selection.change(self.path, change)

    def _pieces(self) -> int:
        return 1 if self._selection.is_one_view else 2

    def _description(self) -> str:
        return f"{self._cls.name}.{self.path}"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self._description()} lies in the memory of its heap and cannot be copied or pickled "
            "by itself; .numpy().copy() has the values, oa.dump keeps the heap"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in FieldView.__slots__:
            # Not of this class, or of a view that was never made in full.
            raise AttributeError(name)
        advice = advice_for(name, self.type)
        raise AttributeError(f"{self._description()} has no attribute {name!r}{advice}")

    def __repr__(self) -> str:
        what = f"FieldView of {self._description()}"
        if is_recorded(self._heap):
            return f"<{what} of {len(self)}>"
        try:
            return f"{what}: {self.numpy()!r}"
        except HeapError as error:  # an object was deleted, or has moved
            return f"<{what}: {error.message}>"

    def _repr_html_(self) -> str | None:
        from .tables import table_of_values

        try:
            _ = self._selection
        except HeapError:
            return None  # ``repr`` says why
        return table_of_values(self)
