"""``oa.Array[T]`` on the host: elements one after another in memory that kernels reach too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from ..errors import ArgumentError
from ..model.annotations import ArrayAnnotation
from ..model.classes import ClassType
from ..model.layout import pack_array
from ..model.object import Object
from ..model.scalars import ScalarType
from ..model.type_names import T_co
from ..model.types import ReferenceType, Type, ValueType, array_form
from ..model.values import to_host
from . import hooks
from .array_memory import ArrayStorage, elements_in
from .conversion import block, column, holds_references, raw_value
from .element_access import element_at, put_element
from .field_values import position_of
from .field_view import FieldView
from .numpy_like import MOST_IN_PLACE, NumPyLike, One, Several, advice_for, is_traced
from .objects import ManyObjects
from .pieces import WholeArray
from .placement import Change, References, Selection, Values
from .recording import is_recorded, is_taped, refuse_change
from .run import Run
from .run_detection import MOST_RUNS

if TYPE_CHECKING:
    from .heap import Heap

__all__ = ["Array", "FieldView", "ObjectArray", "make_array"]
_AMONG = "an array of {} elements"


class Array(NumPyLike, Generic[T_co]):
    """Scalars, values or references; made by ``oa.array``, ``oa.zeros``, ``oa.concat``, ``oa.new``.

    Every access by the host first waits for launches. A slice of step 1 shares memory.

    What this package itself uses of an array has an underscore, public names besides: those give
    way to fields and methods of that name on arrays of objects (``ManyObjects``).
    """

    __slots__ = (
        "__sharedoa_element__",
        "__weakref__",
        "_address",
        "_few",
        "_heap",
        "_length",
        "_packed",
        "_storage",
    )
    __sharedoa_element__: Type
    _heap: Heap
    _address: int
    #: What kernels take for it.
    _packed: bytes
    _storage: ArrayStorage | None
    _length: int
    #: What ``_at_hand`` has once somebody has asked for it: memory of an array stays where it is.
    _few: Values | None

    def __init__(
        self, heap: Heap, element: Type, storage: ArrayStorage | None, address: int, length: int
    ) -> None:
        # Arrays of objects define attributes of their own; these are the array's.
        put = object.__setattr__
        put(self, "_heap", heap)
        put(self, "__sharedoa_element__", element)
        put(self, "_storage", storage)
        put(self, "_address", address)
        put(self, "_length", length)
        put(self, "_packed", pack_array(address, length))
        put(self, "_few", None)

    if not TYPE_CHECKING:

        def __class_getitem__(cls, element: Any) -> Any:
            # With its own type variable it is the base of a class, else an annotation.
            if isinstance(element, TypeVar):
                return cls
            is_pair = isinstance(element, tuple)
            return ArrayAnnotation(*element) if is_pair else ArrayAnnotation(element)

    @property
    def heap(self) -> Heap:
        return self._heap

    @property
    def address(self) -> int:
        """Of the first element; 0 where there is none."""
        return self._address

    @property
    def dtype(self) -> np.dtype[Any]:
        """References are u64, or u32 where a heap has 32 bits for them; value structs are
        structured, vectors and matrices arrays of numbers."""
        return self._dtype.base

    @property
    def _dtype(self) -> np.dtype[Any]:
        return self._heap.layout.dtype(self.__sharedoa_element__)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._length, *self._dtype.shape)

    @property
    def ndim(self) -> int:
        return 1 if self._is_row_of_numbers else len(self.shape)

    @property
    def size(self) -> int:
        return self._length if self._is_row_of_numbers else math.prod(self.shape)

    @property
    def _is_row_of_numbers(self) -> bool:
        return type(self) is Array and isinstance(self.__sharedoa_element__, ScalarType)

    def __len__(self) -> int:
        return self._length

    def numpy(self) -> Values:
        """A view of the elements, valid as long as it is used; later launches change it unseen.

        References, and value structs that have any, are read-only: assign objects or values through
        the array itself.
        """
        self._note_numbers()
        return self._numpy()

    def _numpy(self) -> Values:
        values = self._values()
        if holds_references(self.__sharedoa_element__) or is_taped(self._heap):
            values.flags.writeable = False
        return values

    def _at_hand(self) -> Values | None:
        found = self._few
        if found is not None:
            self._heap.wait()
            return found
        storage = self._storage
        if (
            storage is not None
            and not storage.is_foreign
            and 0 < self._length <= MOST_IN_PLACE
            and self._is_row_of_numbers
            and not self._heap.backend.target.is_device
        ):
            object.__setattr__(self, "_few", self._values())
        return self._few

    def _values(self) -> Values:
        self._heap.wait()
        return self._raw(0, self._length)

    def _shared(self) -> Values:
        element, storage = self.__sharedoa_element__, self._storage
        size = self._length * self._dtype.itemsize
        if storage is None:
            return np.empty(0, self._dtype.base).reshape(-1, *self._dtype.shape)
        start = self._address - storage.address
        values = elements_in(storage.bytes_of_device()[start : start + size], self._dtype)
        values.flags.writeable = not holds_references(element)
        self._note_numbers()
        return values

    def _raw(self, first: int, stop: int) -> Values:
        """Elements from ``first`` to before ``stop``; the host is going to use them all."""
        dtype, storage = self._dtype, self._storage
        if storage is None:
            return np.empty(0, dtype)
        size, offset = dtype.itemsize, self._address - storage.address
        start, end = offset + first * size, offset + stop * size
        residency = self._heap.residency
        if residency.moves:
            residency.host_uses(storage.address, storage.address + start, storage.address + end)
        return elements_in(np.asarray(storage)[start:end], dtype)

    def _element(self, index: int) -> Any:
        place = position_of(index, self._length, _AMONG)
        element, heap = self.__sharedoa_element__, self._heap
        heap.wait()
        if not holds_references(element):
            return to_host(element, element_at(self, place)[0], heap)
        with heap.holding_still():
            one = element_at(self, place)
            self._refuse_deleted(one)
            return to_host(element, one[0], heap)

    def _held(self, element: Type, values: Values, place: int) -> Any:
        with self._heap.holding_still():
            return to_host(element, values[place], self._heap)

    def _refuse_deleted(self, references: Values) -> None:
        """Raise HeapError for elements that are known to refer to what is gone. Kernels in CPython
        may ask about those in whose places nobody lives, as compiled ones may."""
        storage, heap = self._storage, self._heap
        if storage is None or storage.known is None or not isinstance(self, ObjectArray):
            return
        deletions, writes = storage.known
        if writes == heap.reference_writes and deletions != heap.placement.deletions:
            now = heap.known_now()
            if hooks.kernel_objects() is not None:
                addresses = map(heap.encoding.address, references.tolist())
                references = references[[*map(heap.placement.lives, addresses)]]
                heap.placement.refuse_replaced(references, deletions)
                return
            heap.placement.refuse_replaced(references, deletions)
            if references.nbytes == storage.size:
                storage.known = now

    @overload
    def __getitem__(self, key: One) -> T_co: ...
    @overload
    def __getitem__(self, key: Several) -> Array[T_co]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        """One element for an int; a slice of step 1 is a view, every other selection a copy.
        ``array["x"]`` are the components x of value structs or vectors: a view, of references a
        copy."""
        is_slice = isinstance(key, slice) and key.step in (None, 1)
        if not is_slice and is_traced(self):
            return hooks.traced_element(self, key)
        if isinstance(key, (int, np.integer)):
            return self._element(int(key))
        if isinstance(key, str):
            type, values = self._component(key)
            return self._heap.array_of(type, values) if holds_references(type) else values
        if isinstance(key, slice):
            start, stop, step = key.indices(self._length)
            if step == 1:
                return self._view(start, max(0, stop - start))
        if isinstance(key, tuple) and self._dtype.shape:
            return self._values()[key].copy()
        return self._heap.array_of(self.__sharedoa_element__, self._values()[key])

    def _component(self, name: str) -> tuple[Type, Values]:
        type = self.__sharedoa_element__
        if not isinstance(type, ValueType) or name not in type.fields or len(type.shape) > 1:
            has = f"it has {', '.join(type.fields)}" if isinstance(type, ValueType) else ""
            raise ArgumentError(
                f"{self._description()} has no component {name!r}",
                has or "only value structs have components",
            )
        values = self._values()
        at = list(type.fields).index(name)
        return type.fields[name], values[:, at] if type.shape else values[name]

    def _view(self, start: int, length: int) -> Array:
        address = self._address + start * self._dtype.itemsize if length else 0
        storage = self._storage if length else None
        return make_array(self._heap, self.__sharedoa_element__, storage, address, length)

    @overload
    def __setitem__(self, key: One, value: T_co | np.number[Any] | None) -> None: ...
    @overload
    def __setitem__(self, key: Several | str, value: Any) -> None: ...
    def __setitem__(self, key: Any, value: Any) -> None:
        element = self.__sharedoa_element__
        self._heap.held_arrays.note_store_to(element, self, self._description())
        refuse_change(self._heap)
        if isinstance(key, (int, np.integer)):
            place = position_of(int(key), self._length, _AMONG)
            self._heap.wait()
            with self._heap.holding_still() if holds_references(element) else nullcontext():
                raw = raw_value(element, value, self._description(), self._heap)
                self._note_change()
                put_element(self, place, raw)
        elif isinstance(key, str):
            type, values = self._component(key)
            given = column(type, value, len(self), f"{self._description()}.{key}", self._heap)
            self._note_change()
            values[...] = given
        else:
            values = self._values()
            given = self._given(key, values[key].shape, value)
            self._note_change()
            values[key] = given
        # Who has looked at the elements meanwhile has to look again.
        self._note_change()

    def _given(self, key: Any, shape: tuple[int, ...], value: Any) -> Values:
        """``value`` for the elements, or components of vectors, that an index chooses."""
        item, inner = array_form(self.__sharedoa_element__)
        if isinstance(key, tuple) and inner:
            return block(item, value, shape, self._description(), self._heap)
        count = math.prod(shape[: len(shape) - len(inner)])
        return column(self.__sharedoa_element__, value, count, self._description(), self._heap)

    def _note_change(self) -> None:
        """What is known of the elements no longer holds; said before they change, lest something
        stop this thread in between."""
        storage = self._storage
        if storage is not None:
            storage.version += 1
            if storage.known != self._heap.known_now():
                storage.known = None  # some elements may be older than the new ones
            self._heap.pieces.changed(storage.address, storage.address + storage.size)

    def _note_pieces(self) -> None:
        """Fields are about to get pieces of this array (``pieces``)."""

    def _write_raw(self, values: Values) -> None:
        """Fill a new array, which no launch can know yet, with elements as memory holds them."""
        if self._storage is not None:
            self._raw(0, self._length)[:] = values

    def __iter__(self) -> Iterator[T_co]:
        element, heap = self.__sharedoa_element__, self._heap
        if is_traced(self):
            traced: Iterator[T_co] = iter(hooks.traced_element(self, ...))
            return traced
        values = self._values()
        if not holds_references(element):
            return (to_host(element, value, heap) for value in values)
        return (self._held(element, values, place) for place in range(len(values)))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if is_traced(self):
            raise AttributeError(
                "__array_interface__"
            )  # NumPy asks __array__ then, which complains
        self._note_numbers()
        return self._numpy().__array_interface__

    def _change(self, change: Change) -> None:
        refuse_change(self._heap)
        change(self._numpy(), slice(None))

    @property
    def _item(self) -> Type:
        return self.__sharedoa_element__

    def _description(self) -> str:
        return f"Array[{self.__sharedoa_element__!r}]"

    def __repr__(self) -> str:
        if is_recorded(self._heap):
            return f"<{self._description()} of {len(self)}>"
        return f"{self._description()}({self._numpy()!r})"

    def _repr_html_(self) -> str | None:
        from .tables import table_of_values

        return table_of_values(self)

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self._description()} lies in the memory of its heap and cannot be copied or pickled "
            "by itself; make another one from its .numpy(), or keep the heap with oa.dump"
        )

    if TYPE_CHECKING:
        # Of an array of objects. A checker cannot know which attributes their class has: to it a
        # field is an array, and so is a method, which when it is called gives one.
        def __getattr__(self: Array[Object], name: str) -> Array: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

        def __call__(self: Array[Any], *arguments: Any) -> Array: ...
    else:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or name in Array.__slots__:
                # Not of this class, or of an array that copy or pickle has yet to fill.
                raise AttributeError(name)
            advice = advice_for(name, self.__sharedoa_element__)
            raise AttributeError(f"{self._description()} has no attribute {name!r}{advice}")


class ObjectArray(ManyObjects[T_co], Array[T_co]):
    """References to objects of one class or its subclasses, or null."""

    __slots__ = ("_known_run", "_selected")
    _selected: tuple[Any, Selection] | None
    #: What ``_contents`` was, and the run that the elements were then.
    _known_run: tuple[tuple[int, int], Run | None]

    def __init__(
        self, heap: Heap, element: Type, storage: ArrayStorage | None, address: int, length: int
    ) -> None:
        super().__init__(heap, element, storage, address, length)
        object.__setattr__(self, "_selected", None)
        object.__setattr__(self, "_known_run", ((0, 0), None))

    def _fill(self, selection: Selection) -> None:
        """Refer to the objects of ``selection``; the array is as long and new."""
        if self._storage is not None and not selection.send_references(self._address):
            selection.copy_references(self._raw(0, self._length))
        self._know(selection)

    def _know(self, selection: Selection) -> None:
        """The array refers to the objects of ``selection``, in that order."""
        object.__setattr__(self, "_selected", (self._state(), selection))
        self._know_run(selection.run)

    def _know_run(self, run: Run | None) -> None:
        object.__setattr__(self, "_known_run", (self._contents(), run))

    def _as_list(self) -> ObjectArray[T_co]:
        """The same array, of which it is not to be known that it is a run."""
        self._know_run(None)
        return self

    @property
    def _run(self) -> Run | None:
        """The elements as a run, where that is known without looking at them."""
        (version, writes), run = self._known_run
        if run is None or writes != self._heap.reference_writes:
            return None
        storage = self._storage
        return run if version == (0 if storage is None else storage.version) else None

    def _stretches(self) -> Iterator[ObjectArray[T_co]]:
        """The array cut into views that are runs, where it consists of a few."""
        pieces = self._selection().stretches()
        if len(pieces) > MOST_RUNS:
            pieces = [(0, len(self), None)]
        for first, stop, run in pieces:
            view = self if stop - first == len(self) else self._view(first, stop - first)
            assert isinstance(view, ObjectArray)
            if run is not None:
                view._know_run(run)
            yield view

    def _view(self, start: int, length: int) -> Array:
        view = super()._view(start, length)
        run = self._run
        if run is not None and length:
            assert isinstance(view, ObjectArray)
            view._know_run(run.after(start))
        return view

    def _note_pieces(self) -> None:
        run = self._run
        if run is not None and len(self):
            item = self._dtype.itemsize
            self._heap.pieces.note(WholeArray(self._address, len(self) * item, item, run))

    @property
    def _cls(self) -> ClassType:
        element = self.__sharedoa_element__
        assert isinstance(element, ReferenceType)
        return element.cls

    def _references(self) -> References:
        """Raises HeapError if an object was deleted since it came into the array, where that is
        known."""
        values = self._values()
        self._refuse_deleted(values)
        return values

    @overload
    def __getitem__(self, key: One) -> T_co: ...
    @overload
    def __getitem__(self, key: Several) -> ObjectArray[T_co]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer)):
            return self._element(int(key))
        found, storage = super().__getitem__(key), self._storage
        if isinstance(found, ObjectArray) and found._storage not in (None, storage):
            assert found._storage is not None and storage is not None
            known = storage.known
            is_known = known is not None and known[1] == self._heap.reference_writes
            found._storage.known = known if is_known else None
            found._storage.lived = storage.lived
        return found

    def __iter__(self) -> Iterator[T_co]:
        self._refuse_deleted(self._values())
        return super().__iter__()

    def _selection(self) -> Selection:
        state, known = self._state(), self._selected
        if known is not None and known[0] == state:
            return known[1]
        found = self._heap.placement.select(self._references())
        object.__setattr__(self, "_selected", (state, found))
        return found

    def _known_selection(self) -> Selection | None:
        """The same where it is known, of which nobody waits for launches."""
        known = self._selected
        return None if known is None or known[0] != self._state() else known[1]

    def _refuse_receivers(self, *call: str) -> None:
        """Raises ArgumentError if an element is null, HeapError if one is known to refer to a
        deleted object; debug mode looks at all of these itself. ``call`` says what is called, in
        parts."""
        self._refuse_null(call)
        storage, heap = self._storage, self._heap
        deletions = heap.placement.deletions
        if storage is None or storage.lived == deletions or heap.debug:
            return
        if heap.placement.has_deleted(self._cls, storage.lived):
            run = self._run
            if run is None:
                self._selection()
            else:
                since, writes = storage.known or (deletions, None)
                since = since if writes == heap.reference_writes else deletions
                heap.placement.refuse_deleted_run(run, self._length, since)
        if self._length * self._dtype.itemsize == storage.size:
            storage.lived = deletions

    def _refuse_null(self, call: tuple[str, ...]) -> None:
        """Raises ArgumentError if an element is null. They are looked at again only when somebody
        may have written to them."""
        storage = self._storage
        if storage is None or self._run is not None:
            return
        contents, known = self._contents(), storage.without_null
        start, end = self._address, self._address + self._length * self._dtype.itemsize
        if known is not None and known[0] == contents and known[1] <= start and end <= known[2]:
            return
        values = self._values()
        if np.count_nonzero(values) != len(values):
            first = int(np.argmin(values != 0))
            raise ArgumentError(
                f"{'.'.join(call)} is called on objects of which number {first} is None",
                "call it on the others: objects[objects != None]",
            )
        storage.without_null = contents, start, end

    def _contents(self) -> tuple[int, int]:
        """Changes when the references may have changed."""
        version = 0 if self._storage is None else self._storage.version
        return version, self._heap.reference_writes

    def _state(self) -> tuple[int, ...]:
        """Changes when the references, or what they refer to, may have changed."""
        return *self._contents(), self._heap.placement.generation

    def _operand(self, value: Any) -> Any:
        if value is None or isinstance(value, Object):
            return self._heap.reference(value)
        return super()._operand(value)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> Any:
        if ufunc not in (np.equal, np.not_equal) or out:
            raise ArgumentError(
                f"{ufunc.__name__} cannot compute with references to {self._cls.name}",
                "use a field of the objects: objects.field",
            )
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def __repr__(self) -> str:
        return f"<{self._description()} of {len(self)}>"


def make_array(
    heap: Heap,
    element: Type,
    storage: ArrayStorage | None,
    address: int,
    length: int,
    kind: type[Array] | None = None,
) -> Array:
    kind = kind or (ObjectArray if isinstance(element, ReferenceType) else Array)
    return kind(heap, element, storage, address, length)
