"""Launch arguments: from host values to the 8-byte slots that a kernel's entry reads.

A plan is made once per kernel. Arguments of the usual classes are packed by the code that launches
it (``launch_code``). All others are bound one by one: each parameter has a function that appends
the leaves of its value, by way of ``model.values`` if it is a number of another type or a mistake.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dispatch.dataclass import replace

from ..codegen.abi import SLOT_BYTES, leaves
from ..errors import ArgumentError
from ..heap.arrays import Array, ObjectArray
from ..heap.run import RunOfObjects
from ..model.array2_type import Array2Type
from ..model.classes import Signature
from ..model.extent import EXTENT
from ..model.layout import unpack_array
from ..model.scalars import ScalarType
from ..model.types import ArrayType, InlineType, ReferenceType, TupleType, Type, ValueType
from ..model.values import accepts, convert, describe, mismatch, two_dimensions

if TYPE_CHECKING:
    from ..heap.heap import Heap
    from ..ir.array_use import ElementStores

#: Appends the leaves of one argument to a list; the result is the heap it lies in, or None.
Binder = Callable[[Any, list[Any]], Any]
_OTHER_HEAP = "create both in one heap, or copy the data over with oa.array(...)"


class ArgumentPlan:
    """How the arguments of one kernel are checked, converted and packed."""

    def __init__(self, kernel: str, signature: Signature) -> None:
        self._kernel = kernel
        self._signature = signature
        cut = [leaves(type) for type in signature.types]
        found = [leaf for parts in cut for leaf in parts]
        self.leaf_count = len(found)
        #: The slot at which each parameter's leaves begin.
        self.first_slots = tuple(accumulate(map(len, cut), initial=0))[:-1]
        #: How ``struct`` writes the leaves of each parameter.
        self.formats = ["".join(_slot_format(leaf.dtype) for leaf in parts) for parts in cut]
        self._write = struct.Struct(f"<{''.join(self.formats)}").pack_into
        #: Of each parameter; they raise ArgumentError for what it does not take.
        self.binders = [
            _binder(type, f"kernel {kernel}, argument {name}")
            for name, type in zip(signature.names, signature.types, strict=True)
        ]
        self._array_places = [
            place for place, type in enumerate(signature.types) if isinstance(type, ArrayType)
        ]
        #: Where arrays of other libraries may stand.
        self.places_of_arrays = [
            place
            for place, type in enumerate(signature.types)
            if isinstance(type, (ArrayType, Array2Type))
        ]
        #: Of parameters that are arrays or integers, and whether they are arrays.
        self._shaping = [
            (place, not isinstance(type, ScalarType))
            for place, type in enumerate(signature.types)
            if isinstance(type, (ArrayType, Array2Type))
            or (isinstance(type, ScalarType) and type.is_integer)
        ]
        self._holds_others = not all(
            isinstance(type, (ArrayType, Array2Type)) or _is_numbers(type)
            for type in signature.types
        )
        self._elements = [
            (place, type.element)
            for place, type in enumerate(signature.types)
            if isinstance(type, ArrayType)
        ]
        self._numbers = [
            (place, *packed_as_is(type))
            for place, type in enumerate(signature.types)
            if isinstance(type, ScalarType)
        ]
        self._holds_more = len(self._elements) + len(self._numbers) < len(signature.types)
        #: As ``element<n>``: the element type of the array that argument n was last. It is equal to
        #: the parameter's; ``launch_code`` looks whether it is the same.
        self.elements: dict[str, Any] = {}

    @property
    def count(self) -> int:
        """Number of parameters."""
        return len(self.binders)

    def new_slots(self) -> Any:
        """A buffer for the leaves."""
        return (ctypes.c_uint64 * max(1, self.leaf_count))()

    def pack(self, slots: Any, arguments: tuple[Any, ...]) -> Any:
        """Write the leaves of ``arguments`` into ``slots``. The result is the heap that their
        arrays and objects lie in, None if there are none.

        Raises ArgumentError for a wrong number or type of arguments, or arguments of two heaps.
        """
        if len(arguments) != len(self.binders):
            self._refuse_count(arguments)
        heap: Any = None
        values: list[Any] = []
        for bind, argument in zip(self.binders, arguments, strict=True):
            owner = bind(argument, values)
            if owner is not heap and owner is not None:
                if heap is not None:
                    self._refuse_heaps(arguments)
                heap = owner
        self._write(slots, 0, *values)
        for place in self._array_places:
            self.elements[f"element{place}"] = arguments[place].__sharedoa_element__
        return heap

    def look_at_arrays(
        self, stores: ElementStores | None, arguments: tuple[Any, ...], heap: Heap
    ) -> bool:
        """Raise ArgumentError if an array of objects may hold others than it should, or would
        hold others after a launch that ``stores`` references. False if the next launch must look,
        too."""
        held = heap.held_arrays
        where = f"kernel {self._kernel}"
        for place in stores.parameters if stores is not None else ():
            type, given = self._signature.types[place], arguments[place]
            assert isinstance(type, ArrayType)
            if given.__sharedoa_element__ != type.element:
                name = self._signature.names[place]
                raise ArgumentError(
                    f"{where}, argument {name}: the kernel stores objects of {type.element!r} to "
                    f"arrays, and this is {describe(given)}",
                    f"pass an array of {type.element!r}: oa.array({type.element!r}, {name})",
                )
            held.note_store_to(type.element, given, where)
        if stores is not None:
            held.note_stores(stores.held, where)
        concerned = [p for p in self._array_places if held.concern(self._signature.types[p])]
        for place in concerned:
            what = f"{where}, argument {self._signature.names[place]}"
            held.refuse(self._signature.types[place], arguments[place], what)
        return not concerned

    def lie_in(self, heap: Heap, arguments: tuple[Any, ...]) -> bool:
        """Whether arguments are seen at once to be what the kernel takes, arrays and numbers of
        Python, and to lie in ``heap``."""
        if not self._array_places or len(arguments) != len(self.binders):
            return False
        for place, element in self._elements:
            given = arguments[place]
            if given.__class__ not in USUAL_ARRAYS or given._heap is not heap:
                return False
            if given.__sharedoa_element__ != element:
                return False
        for place, python, low, high in self._numbers:
            given = arguments[place]
            if given.__class__ is not python or not low <= given <= high:
                return False
        return not self._holds_more

    def shape(self, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Where arrays lie, their lengths and whether they are runs, and integers, as something
        that can be compared; None for arguments that hold others."""
        if self._holds_others:
            return None
        found: list[Any] = []
        for place, is_array in self._shaping:
            given = arguments[place]
            if not is_array:
                found.append(int(given))
            elif given.__class__ is Array:
                found += (given._address, given._length)
            elif isinstance(given, ObjectArray):
                found += (given._address, given._length, given._run is not None)
            elif isinstance(given, RunOfObjects):
                found.append(len(given))
            else:
                found += (given._address, given.shape)
        return tuple(found)

    def in_order(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, with keyword arguments and defaults in their places."""
        return in_order(self._signature, f"kernel {self._kernel}", arguments, named)

    def kept(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments for a launch that comes later. Raises ArgumentError."""
        return kept(self._signature, arguments, f"kernel {self._kernel}, argument ")

    def host_values(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments as CPython's run of the kernel sees them, converted by type."""
        if len(arguments) != len(self.binders):
            self._refuse_count(arguments)
        parameters = zip(self._signature.names, self._signature.types, arguments, strict=True)
        return tuple(
            convert(type, value, f"kernel {self._kernel}, argument {name}")
            for name, type, value in parameters
        )

    def _refuse_count(self, arguments: tuple[Any, ...]) -> NoReturn:
        _refuse_count(self._signature, f"kernel {self._kernel}", arguments)

    def _refuse_heaps(self, arguments: tuple[Any, ...]) -> None:
        raise ArgumentError(
            f"the arguments of kernel {self._kernel} lie in different heaps", _OTHER_HEAP
        )


def kept(signature: Signature, arguments: Iterable[Any], where: str) -> tuple[Any, ...]:
    """Arguments with numbers as they are now, whatever becomes of lists and of NumPy's arrays.
    Raises ArgumentError, which says ``where`` before the parameter's name."""
    found = []
    for name, type, value in zip(signature.names, signature.types, arguments, strict=True):
        is_number = isinstance(type, ScalarType) or (isinstance(type, ValueType) and type.in_memory)
        found.append(convert(type, value, f"{where}{name}") if is_number else value)
    return tuple(found)


def packed(type: Type, value: Any, what: str) -> bytes:
    """The slots of one argument of ``type``."""
    values: list[Any] = []
    _binder(type, what)(value, values)
    formats = "".join(_slot_format(leaf.dtype) for leaf in leaves(type))
    return struct.pack(f"<{formats}", *values)


def _is_numbers(type: Type) -> bool:
    """Whether values of a type hold numbers and references alone."""
    if isinstance(type, ValueType):
        return all(map(_is_numbers, type.fields.values()))
    if isinstance(type, InlineType):
        return _is_numbers(type.item)
    if isinstance(type, TupleType):
        return all(map(_is_numbers, type.items))
    return isinstance(type, (ScalarType, ReferenceType))


def _slot_format(dtype: np.dtype[Any]) -> str:
    return f"{dtype.char if dtype.itemsize < 8 else _WIDE[dtype.kind]}{_PADDING[dtype.itemsize]}"


_WIDE = {"i": "q", "u": "Q", "f": "d"}
_PADDING = {size: f"{SLOT_BYTES - size}x" if size < SLOT_BYTES else "" for size in (1, 2, 4, 8)}


def _binder(type: Type, what: str) -> Binder:
    if isinstance(type, ArrayType):
        return _array_binder(type, what)
    if isinstance(type, ReferenceType):
        return _reference_binder(type, what)
    if isinstance(type, ScalarType):
        return _scalar_binder(type, what)
    return lambda value, values: _append_parts(type, value, what, values)


USUAL_ARRAYS = Array, ObjectArray, RunOfObjects


def _array_binder(type: ArrayType, what: str) -> Binder:
    def bind(value: Any, values: list[Any]) -> Any:
        # Asking what it lacks takes many times as long.
        is_usual = value.__class__ in USUAL_ARRAYS
        if not (is_usual and value.__sharedoa_element__ == type.element):
            _require_array(type, value, what)
        values += unpack_array(value._packed)
        return value._heap

    return bind


def _require_array(type: ArrayType, value: Any, what: str) -> None:
    element = type.element
    if isinstance(value, (np.ndarray, list, tuple)):
        raise ArgumentError(
            f"{what} takes {type!r}, not {describe(value)}",
            f"make one that kernels can reach: oa.array({element!r}, data)",
        )
    if hasattr(value, "_kernel_type"):
        raise ArgumentError(f"{what} takes {type!r}, not {describe(value)}", two_dimensions(type))
    if not hasattr(value, "__sharedoa_element__") or not accepts(type, value):
        raise mismatch(type, value, what, f"pass a value of type {type!r}")


def _reference_binder(type: ReferenceType, what: str) -> Binder:
    python_class = type.cls.python_class

    def bind(value: Any, values: list[Any]) -> Any:
        if value is None:
            values.append(0)
            return None
        if not isinstance(value, python_class):
            convert(type, value, what)
        values.append(value._reference)
        return value._heap

    return bind


def _scalar_binder(type: ScalarType, what: str) -> Binder:
    exact = bool if type.kind == "bool" else type.dtype.type
    python, low, high = packed_as_is(type)

    def bind(value: Any, values: list[Any]) -> Any:
        given = value.__class__
        if given is exact or (given is python and low <= value <= high):
            values.append(value)
        else:
            values.append(convert(type, value, what))

    return bind


def packed_as_is(type: ScalarType) -> tuple[Any, Any, Any]:
    """A class of Python's own numbers, and the smallest and largest that ``struct`` takes for it:
    these are packed as they are, which gives what converting them first would."""
    if type.is_integer:
        return (int, *type.range)
    if type.is_float:
        largest = float(np.finfo(type.dtype).max)
        return float, -largest, largest
    return None, 0, 0


def _append_parts(type: Type, value: Any, what: str, values: list[Any]) -> Any:
    """A value struct or tuple, part by part; all objects in it must lie in one heap."""
    value = convert(type, value, what)
    if isinstance(type, ScalarType):
        values.append(value)
        return None
    if isinstance(type, ReferenceType):
        return _reference_binder(type, what)(value, values)
    if isinstance(type, ArrayType):
        return _array_binder(type, what)(value, values)
    if isinstance(type, ValueType):
        parts = [(t, getattr(value, n), f"{what}.{n}") for n, t in type.fields.items()]
    elif isinstance(type, InlineType):
        parts = [(type.item, v, f"{what}[{place}]") for place, v in enumerate(value)]
    else:
        assert isinstance(type, TupleType)
        parts = [(t, v, what) for t, v in zip(type.items, value, strict=True)]
    heaps = {id(h): h for part in parts if (h := _append_parts(*part, values)) is not None}
    if len(heaps) > 1:
        raise ArgumentError(f"{what} refers to objects of two heaps", _OTHER_HEAP)
    return next(iter(heaps.values()), None)


def refuse_nulls(
    kernel: str,
    names: Sequence[str],
    needed: Mapping[int, Sequence[int]],
    arguments: tuple[Any, ...],
) -> None:
    """Raise ArgumentError for None where a kernel is certain to use it as an object: the ``needed``
    parameters, each with the arrays that must have elements for that."""
    for place, arrays in needed.items():
        if arguments[place] is None and all(len(arguments[each]) for each in arrays):
            raise ArgumentError(
                f"kernel {kernel}, argument {names[place]}: this is None, and the kernel "
                "uses it as an object",
                f"pass an object, or test it in the kernel first: if {names[place]} is not None",
            )


def in_order(
    signature: Signature,
    what: str,
    arguments: tuple[Any, ...],
    named: Mapping[str, Any],
    each: str = "",
) -> tuple[Any, ...]:
    """All arguments by position, with keyword arguments and defaults in their places. Raises
    ArgumentError, which says ``what`` takes them, and ``each`` of what there is to be for each."""
    names = signature.names
    given = dict(zip(names, arguments, strict=False))
    for name in named:
        if name not in names:
            raise ArgumentError(f"{what} has no parameter {name}", _expected(signature, each))
        if name not in signature.by_name:
            raise ArgumentError(f"{what} takes {name} by position only", "leave out its name")
        if name in given:
            raise ArgumentError(f"{what} is given {name} twice", "pass it once")
    if len(arguments) > signature.most_by_position:
        _refuse_count(signature, what, arguments, each)
    given = {**signature.defaults, **given, **named}
    if len(given) != len(names):
        missing = ", ".join(name for name in names if name not in given)
        raise ArgumentError(f"{what} lacks {missing}", _expected(signature, each))
    return tuple(given[name] for name in names)


def _refuse_count(
    signature: Signature, what: str, arguments: tuple[Any, ...], each: str = ""
) -> NoReturn:
    own = signature.names.count(EXTENT)
    wanted, given = signature.most_by_position - own, len(arguments) - own
    by_position = " by position" if signature.only_named else ""
    raise ArgumentError(
        f"{what} takes {wanted} arguments{by_position}, not {given}", _expected(signature, each)
    )


def _expected(signature: Signature, each: str) -> str:
    if EXTENT in signature.names:
        names, types = signature.names[1:], signature.types[1:]
        never_named = signature.never_named - 1
        signature = replace(signature, names=names, types=types, never_named=never_named)
    return f"it takes ({signature.parameters()}){each}"
