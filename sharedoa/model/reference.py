"""What a reference is: the one place that makes and reads references.

A plain reference is the object's address; a tagged one carries the type index in its upper 15 bits
(TypePointer, "Judging a Type by Its Pointer" section 6). Addresses of user space stay below 2**47
on x86-64, so the bits are free, and reading an object first restores them to zero, on the host as
on the device. A narrow one counts words of 4 bytes from the heap's base, so that
memory holds it in 32 bits. Null is 0 in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from llvmlite import ir

from dispatch import state
from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT

ADDRESS_MASK = (1 << TAG_SHIFT) - 1
BASE_ALIGNMENT = 1 << 12
"""The base of narrow references is a multiple of it."""
NULL_REACH = 1 << 16
"""So many bytes from where null leads on nobody has memory: the system keeps those at 0 free, and
``heap.null_guard`` those at a base. Code on the host that reaches farther into an object touches
its first byte before (``Layout.reaches_far``)."""
_NEXT_BASE, _MOST_BASES = 32 << 20, 240
"""From a base that is taken to the next one, and how many there are: within 8 GiB."""
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_WIDE, _NARROW = np.dtype(np.uint64), np.dtype(np.uint32)


class ReferenceEncoding(Protocol):
    """Addresses to references and back, one at a time, for NumPy arrays, and in LLVM IR.

    Wherever it is not stored, a reference is a number of 64 bits: on the host the number that
    memory holds; in kernels what ``emit_from_memory`` makes of it.
    """

    name: str
    dtype: np.dtype[Any]
    """How memory holds a reference."""
    unit: int
    """Bytes between the addresses of references that differ by 1; every object's address is a
    multiple."""
    base: int
    """The address that references count from."""
    reach: int
    """Bytes from there that objects may lie in."""

    def encode(self, address: Any, type_index: int) -> Any: ...

    def address(self, reference: Any) -> Any: ...

    def emit_from_memory(self, builder: Any, stored: Any) -> Any:
        """LLVM i64: the reference that memory holds as ``stored``."""
        ...

    def emit_to_memory(self, builder: Any, reference: Any) -> Any:
        """LLVM integer: the other way."""
        ...

    def emit_from_host(self, builder: Any, number: Any) -> Any:
        """LLVM i64: the reference that is ``number`` on the host, as i64."""
        ...

    def origin(self, address: int, type_index: int) -> int:
        """What kernels count from for the references of objects side by side (``codegen.runs``)."""
        ...

    def emit_from_origin(self, builder: Any, number: Any, constant_space: int) -> Any:
        """LLVM i64: the reference of the object that lies some bytes after that of ``origin``, from
        the sum of the two."""
        ...

    def emit_address(self, builder: Any, reference: Any, constant_space: int) -> Any:
        """LLVM i64: the address of the object that an i64 reference names; null's is undefined."""
        ...

    def emit_order(self, builder: Any, reference: Any) -> Any:
        """LLVM integer: ``order`` of the address of the object that an i64 reference names."""
        ...

    def order(self, address: int) -> int:
        """A number that grows with the address."""
        ...


class _WideReference:
    """The same number everywhere."""

    def emit_from_memory(self, builder: Any, stored: Any) -> Any:
        return stored

    def emit_to_memory(self, builder: Any, reference: Any) -> Any:
        return reference

    def emit_from_host(self, builder: Any, number: Any) -> Any:
        return number

    def emit_from_origin(self, builder: Any, number: Any, constant_space: int) -> Any:
        return number


class PlainReference(_WideReference):
    """The address itself."""

    name = "plain"
    dtype = _WIDE
    unit = 1
    base = 0
    reach = 1 << 64

    def encode(self, address: Any, type_index: int) -> Any:
        return address

    def origin(self, address: int, type_index: int) -> int:
        return address

    def address(self, reference: Any) -> Any:
        return reference

    def emit_address(self, builder: Any, reference: Any, constant_space: int) -> Any:
        return reference

    def emit_order(self, builder: Any, reference: Any) -> Any:
        return reference

    def order(self, address: int) -> int:
        return address


class TaggedReference(_WideReference):
    """Type index << 49 | address. A type whose index needs more than 15 bits carries tag 0 and is
    found by its range instead."""

    name = "tagged"
    dtype = _WIDE
    unit = 1
    base = 0
    reach = 1 << 64

    def encode(self, address: Any, type_index: int) -> Any:
        tag = type_index if type_index <= TAG_LIMIT else 0
        if isinstance(address, np.ndarray):
            return address | np.uint64(tag << TAG_SHIFT)
        return int(address) | tag << TAG_SHIFT

    def origin(self, address: int, type_index: int) -> int:
        return int(self.encode(address, type_index))

    def address(self, reference: Any) -> Any:
        if isinstance(reference, np.ndarray):
            return reference & np.uint64(ADDRESS_MASK)
        return int(reference) & ADDRESS_MASK

    def emit_address(self, builder: Any, reference: Any, constant_space: int) -> Any:
        return builder.and_(reference, reference.type(ADDRESS_MASK))

    def emit_order(self, builder: Any, reference: Any) -> Any:
        return builder.and_(reference, reference.type(ADDRESS_MASK))

    def order(self, address: int) -> int:
        return address


class NarrowReference:
    """(address - base) / 4, for objects within 16 GiB; ``base`` is set before the first
    object is made, and is below all of them. Kernels read it from the state block, and work with
    address - base."""

    name = "narrow"
    dtype = _NARROW
    unit = 4
    reach = unit << 32

    def __init__(self) -> None:
        self.base = 0

    def bases(self, start: int) -> Iterator[int]:
        """Where the base of a heap whose first memory begins at ``start`` may lie, best first: with
        as much room below as above."""
        first = max(start - self.reach // 2, NULL_REACH)
        for number in range(_MOST_BASES):
            base = (first + number * _NEXT_BASE) & -BASE_ALIGNMENT
            if base + NULL_REACH <= start:
                yield base

    def admit(self, start: int, end: int) -> bool:
        """Whether objects may lie in the memory [``start``, ``end``)."""
        return self.base + NULL_REACH <= start and end <= self.base + self.reach

    def encode(self, address: Any, type_index: int) -> Any:
        if isinstance(address, np.ndarray):
            return (address - np.uint64(self.base)) >> np.uint64(_UNIT_SHIFT)
        return int(address) - self.base >> _UNIT_SHIFT

    def origin(self, address: int, type_index: int) -> int:
        # Who only wants what lies in the object adds the base again: LLVM leaves out both.
        return address

    def address(self, reference: Any) -> Any:
        if isinstance(reference, np.ndarray):
            wide = reference.astype(np.uint64)
            found = (wide << np.uint64(_UNIT_SHIFT)) + np.uint64(self.base)
            return found if wide.all() else np.where(wide == 0, wide, found)
        return (int(reference) << _UNIT_SHIFT) + self.base if reference else 0

    def emit_from_memory(self, builder: Any, stored: Any) -> Any:
        return self.emit_from_host(builder, builder.zext(stored, _I64))

    def emit_to_memory(self, builder: Any, reference: Any) -> Any:
        number = builder.lshr(reference, _I64(_UNIT_SHIFT), flags=("exact",))
        return builder.trunc(number, _I32)

    def emit_from_host(self, builder: Any, number: Any) -> Any:
        return builder.shl(number, _I64(_UNIT_SHIFT), flags=("nuw", "nsw"))

    def emit_from_origin(self, builder: Any, number: Any, constant_space: int) -> Any:
        return builder.sub(number, _emit_base(builder, constant_space))

    def emit_address(self, builder: Any, reference: Any, constant_space: int) -> Any:
        return builder.add(_emit_base(builder, constant_space), reference)

    def emit_order(self, builder: Any, reference: Any) -> Any:
        # Comparisons of 32 bits are one instruction of a GPU, those of 64 are two.
        return self.emit_to_memory(builder, reference)

    def order(self, address: int) -> int:
        return int(self.encode(address, 0))


def _emit_base(builder: Any, constant_space: int) -> Any:
    base = state.load(builder, constant_space, state.REFERENCE_BASE)
    # The mask changes nothing; it tells LLVM which lane of a tile a reference names.
    return builder.and_(base, _I64(-BASE_ALIGNMENT))


_UNIT_SHIFT = NarrowReference.unit.bit_length() - 1
