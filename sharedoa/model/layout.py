"""Where a field lies: the one place that computes field addresses.

The compiler, single-object access on the host and the NumPy views all ask a ``Layout``. Layout
``aos`` is a record an object with C alignment: the header that the dispatch mode needs, then the
fields of the base class, then the class's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import ClassError
from .classes import ClassType
from .scalars import ScalarType
from .types import ArrayType, InlineType, ReferenceType, Type, ValueType

#: An array as it is stored: where its elements lie and how many there are.
ARRAY_DTYPE = np.dtype([("address", np.uint64), ("length", np.int64)], align=True)
REFERENCE_DTYPE = np.dtype(np.uint64)


def storage_dtype(type: Type) -> np.dtype[Any]:
    """How a value of ``type`` lies in memory, with C alignment.

    Raises ClassError for a type that has no storage (a tuple, None).
    """
    if isinstance(type, ScalarType):
        return type.dtype
    if isinstance(type, ReferenceType):
        return REFERENCE_DTYPE
    if isinstance(type, ArrayType):
        return ARRAY_DTYPE
    if isinstance(type, InlineType):
        return np.dtype((storage_dtype(type.element), (type.length,)))
    if isinstance(type, ValueType):
        if type.dtype is not None:
            given: np.dtype[Any] = type.dtype
            return given
        return np.dtype([(n, storage_dtype(t)) for n, t in type.fields.items()], align=True)
    raise ClassError(f"{type!r} cannot be stored in memory", "store its parts in fields instead")


def alignment(dtype: np.dtype[Any]) -> int:
    return dtype.base.alignment


@dataclass(frozen=True)
class Header:
    """What precedes the fields: ``size`` bytes, aligned to ``alignment``."""

    size: int
    alignment: int


@dataclass(frozen=True)
class Record:
    """The shape of one object: bytes from one to the next, and each field's offset and dtype."""

    size: int
    alignment: int
    offsets: dict[str, int]
    dtypes: dict[str, np.dtype[Any]]


class Layout(Protocol):
    """Field addresses of every class, for objects that carry ``header``."""

    name: str
    header: Header

    def record(self, cls: ClassType) -> Record: ...

    def emit_field_address(
        self, builder: Any, object_address: Any, cls: ClassType, name: str
    ) -> Any:
        """LLVM i64: the address of a field, given the object's address as i64."""
        ...

    def field_view(self, memory: np.ndarray[Any, Any], cls: ClassType, name: str) -> Any:
        """The field of all objects in ``memory``, bytes of whole records one after another: a
        NumPy view of shape (objects,) or (objects, N), no copy."""
        ...


class AosLayout:
    """Arrays of structures: the field of an object is at its address plus a constant.

    A foreign class brings its own record, whatever the header of the others.
    """

    name = "aos"

    def __init__(self, header: Header) -> None:
        self.header = header
        self._records: dict[ClassType, Record] = {}

    def record(self, cls: ClassType) -> Record:
        found = self._records.get(cls)
        if found is None:
            laid_out = self._lay_out(cls) if cls.foreign is None else cls.foreign.record
            found = self._records[cls] = laid_out
        return found

    def _lay_out(self, cls: ClassType) -> Record:
        offset, widest = self.header.size, max(self.header.alignment, 1)
        offsets, dtypes = {}, {}
        for name, type in cls.fields.items():
            dtype = storage_dtype(type)
            step = alignment(dtype)
            offset = -(-offset // step) * step
            offsets[name], dtypes[name] = offset, dtype
            offset += dtype.itemsize
            widest = max(widest, step)
        # Two objects never share an address, also when they have no fields at all.
        size = max(-(-offset // widest) * widest, 8)
        return Record(size, widest, offsets, dtypes)

    def emit_field_address(
        self, builder: Any, object_address: Any, cls: ClassType, name: str
    ) -> Any:
        offset = self.record(cls).offsets[name]
        if offset == 0:
            return object_address
        return builder.add(object_address, object_address.type(offset))

    def field_view(self, memory: np.ndarray[Any, Any], cls: ClassType, name: str) -> Any:
        record = self.record(cls)
        dtype = record.dtypes[name]
        shape = (len(memory) // record.size, *dtype.shape)
        inner = (dtype.base.itemsize,) if dtype.shape else ()
        return np.ndarray(
            shape, dtype.base, memory.data, record.offsets[name], (record.size, *inner)
        )
