"""Arguments of C++ kernels, packed by the types that the PTX gives its parameters.

PTX knows sizes, and of numbers whether they are floats, but neither signs nor what a pointer points
to: a parameter takes whatever fits its size. What programs that are compiled here say of their
parameters (``parameter_types``) is looked at, too.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ptxpass.text.syntax import Parameter

from ..errors import ArgumentError
from ..heap.arrays import Array
from ..model.object import Object
from ..model.scalars import f32, f64
from ..model.types import ReferenceType
from ..model.values import convert, describe
from .parameter_types import CxxType

WORD = 8


#: One argument as an unsigned integer or bytes, and the heap it lies in or None.
Packed = tuple[Any, Any]


class KernelParameters:
    """How the arguments of one kernel are checked, converted and packed; ``words`` are the slots of
    8 bytes at which the parameters begin."""

    def __init__(self, kernel: str, parameters: Sequence[Parameter], program: Any) -> None:
        self._kernel = kernel
        self._parameters = parameters
        self._binders = [
            _binder(
                parameter, f"kernel {kernel}, parameter {number} ({_shown(parameter)})", program
            )
            for number, parameter in enumerate(parameters)
        ]
        sizes = [parameter.size for parameter in parameters]
        padded = [-(-size // WORD) * WORD for size in sizes]
        formats = [
            f"{_format(parameter)}{rest}x"
            if (rest := space - parameter.size)
            else _format(parameter)
            for parameter, space in zip(parameters, padded, strict=True)
        ]
        self._pack = struct.Struct("<" + "".join(formats))
        self.words = tuple(sum(padded[:number]) // WORD for number in range(len(padded)))
        self._word_count = sum(padded) // WORD

    @property
    def count(self) -> int:
        return len(self._binders)

    @property
    def has_words(self) -> bool:
        return any(each.count is None and each.size == WORD for each in self._parameters)

    def know(self, types: Sequence[CxxType]) -> None:
        """What the parameters are in C++."""
        if len(types) != self.count:
            return
        for number, (type, bind) in enumerate(zip(types, self._binders, strict=True)):
            what = f"kernel {self._kernel}, parameter {number}"
            self._binders[number] = partial(_bind_known, bind, type, what)

    def new_slots(self) -> Any:
        return (ctypes.c_uint64 * max(1, self._word_count))()

    def pack(self, slots: Any, arguments: tuple[Any, ...]) -> Any:
        """Write ``arguments`` into ``slots``; the result is the heap that their arrays and objects
        lie in, None if there are none.

        Raises ArgumentError for a wrong number or type of arguments, or arguments of two heaps.
        """
        if len(arguments) != len(self._binders):
            raise ArgumentError(
                f"kernel {self._kernel} takes {len(self._binders)} arguments, not {len(arguments)}",
                f"its parameters are ({', '.join(map(_shown, self._parameters))})",
            )
        heap: Any = None
        values = []
        for bind, argument in zip(self._binders, arguments, strict=True):
            value, owner = bind(argument)
            if owner is not None and owner is not heap:
                if heap is not None:
                    raise ArgumentError(
                        f"the arguments of kernel {self._kernel} lie in different heaps",
                        "create both in one heap, or copy the data over with oa.array(...)",
                    )
                heap = owner
            values.append(value)
        self._pack.pack_into(slots, 0, *values)
        return heap


def _bind_known(bind: Callable[[Any], Packed], type: CxxType, what: str, value: Any) -> Packed:
    is_array = isinstance(value, Array)
    if is_array and not type.takes_array(value.__sharedoa_element__):
        raise ArgumentError(
            f"{what} is {type} in C++, and is given {describe(value)}",
            "pass an array whose elements are of that type",
        )
    if isinstance(value, Object) and not type.takes_object():
        raise ArgumentError(
            f"{what} is {type} in C++, and is given {describe(value)}", "pass what it takes"
        )
    return bind(value)


def _shown(parameter: Parameter) -> str:
    count = "" if parameter.count is None else f"[{parameter.count}]"
    return f".{parameter.type}{count}"


def _format(parameter: Parameter) -> str:
    if parameter.count is not None:
        return f"{parameter.size}s"
    return {1: "B", 2: "H", 4: "I", 8: "Q"}[parameter.size]


def _binder(parameter: Parameter, what: str, program: Any) -> Callable[[Any], Packed]:
    if parameter.count is not None:
        return lambda value: (_structure(value, parameter.size, what), None)
    kind, bits = parameter.type[0], 8 * parameter.size
    if kind == "f" and bits >= 32:
        return lambda value: (_float_bits(value, bits, what), None)
    if bits == 64:
        return lambda value: _wide(value, kind == "b", what, program)
    return lambda value: (_number(value, bits, kind in "bf", what), None)


def _wide(value: Any, may_be_float: bool, what: str, program: Any) -> Packed:
    """A pointer or a number of 64 bits."""
    if isinstance(value, Array):
        element = value.__sharedoa_element__
        if isinstance(element, ReferenceType):
            _require_class(element.cls, what, program)
            _require_pointers(value, what)
        return value._address, value._heap
    if value is None:
        return 0, None
    if isinstance(value, Object):
        _require_class(type(value).__sharedoa__, what, program)
        return value._reference, value._heap
    return _number(value, 64, may_be_float, what), None


def _require_class(cls: Any, what: str, program: Any) -> None:
    """Objects of other programs have vtables in other modules, those of Python classes none."""
    owner = None if cls.foreign is None else cls.foreign.program
    if owner is program:
        return
    whose = "a Python class" if owner is None else f"the program {owner.name}"
    raise ArgumentError(
        f"{what} is given objects of {cls.name}, which is a class of {whose}",
        f"create objects of the kernel's own program, {program.name}: program.classes[...]",
    )


def _require_pointers(array: Array, what: str) -> None:
    """C++ takes an array of references for one of pointers."""
    if array._dtype.itemsize != 8:
        raise ArgumentError(
            f"{what} is given references of {8 * array._dtype.itemsize} bits, and C++ has 64",
            "make the heap with oa.Heap(references='64')",
        )


def _number(value: Any, bits: int, may_be_float: bool, what: str) -> int:
    """The bits of a number. Raises ArgumentError."""
    if may_be_float and isinstance(value, float) and not isinstance(value, np.generic):
        return _float_bits(value, bits, what) if bits >= 32 else _refuse(value, bits, what)
    if may_be_float and isinstance(value, np.floating) and 8 * value.itemsize == bits:
        return int.from_bytes(value.tobytes(), "little")
    try:
        number = value.__index__() if not isinstance(value, np.bool_) else int(value)
    except (AttributeError, TypeError):
        return _refuse(value, bits, what)
    low, high = -(1 << (bits - 1)), (1 << bits) - 1
    if not low <= number <= high:
        raise ArgumentError(
            f"{what} takes {bits} bits, and {number} does not fit them ({low} to {high})",
            "use a smaller number",
        )
    return int(number) & high


def _refuse(value: Any, bits: int, what: str) -> int:
    if bits == 64 and isinstance(value, (np.ndarray, list, tuple)):
        raise ArgumentError(
            f"{what} is given {describe(value)}",
            "make an array that kernels can reach: oa.array(type, data)",
        )
    if bits == 64 and hasattr(value, "_references"):
        raise ArgumentError(
            f"{what} is given {value!r}, which is no array", "make one: oa.concat(objects)"
        )
    takes = "an array, an object, None or an integer" if bits == 64 else "an integer"
    raise ArgumentError(f"{what} takes {takes}, not {describe(value)}", "convert it first")


def _float_bits(value: Any, bits: int, what: str) -> int:
    converted = convert(f32 if bits == 32 else f64, value, what)
    packed: bytes = np.asarray(converted, f"f{bits // 8}").tobytes()
    return int.from_bytes(packed, "little")


def _structure(value: Any, size: int, what: str) -> bytes:
    """A structure or array passed by value."""
    if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
        value = value.tobytes()
    if not isinstance(value, bytes):
        raise ArgumentError(
            f"{what} takes a structure of {size} bytes, not {describe(value)}",
            "pass bytes, or a NumPy scalar of a structured dtype: np.array((1, 2.5), dtype)[()]",
        )
    if len(value) != size:
        raise ArgumentError(
            f"{what} takes a structure of {size} bytes and is given {len(value)}",
            "lay the dtype out as C++ does: np.dtype([...], align=True)",
        )
    return value
