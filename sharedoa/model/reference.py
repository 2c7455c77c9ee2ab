"""How a reference is stored: the one place that makes and reads references.

A plain reference is the object's address; a tagged one carries the type index in its upper 15 bits
(TypePointer, "Judging a Type by Its Pointer" section 6). Addresses of user space stay below 2**47
on x86-64, so the bits are free, and reading an object first restores them to zero, on the host as
on the device. Null is 0 in both.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT

ADDRESS_MASK = (1 << TAG_SHIFT) - 1


class ReferenceEncoding(Protocol):
    """Addresses to references and back, one at a time, for NumPy arrays, and in LLVM IR."""

    name: str

    def encode(self, address: Any, type_index: int) -> Any: ...

    def address(self, reference: Any) -> Any: ...

    def emit_address(self, builder: Any, reference: Any) -> Any:
        """LLVM i64: the address of the object that an i64 reference names."""
        ...


class PlainReference:
    """The address itself."""

    name = "plain"

    def encode(self, address: Any, type_index: int) -> Any:
        return address

    def address(self, reference: Any) -> Any:
        return reference

    def emit_address(self, builder: Any, reference: Any) -> Any:
        return reference


class TaggedReference:
    """Type index << 49 | address. A type whose index needs more than 15 bits carries tag 0 and is
    found by its range instead."""

    name = "tagged"

    def encode(self, address: Any, type_index: int) -> Any:
        tag = type_index if type_index <= TAG_LIMIT else 0
        if isinstance(address, np.ndarray):
            return address | np.uint64(tag << TAG_SHIFT)
        return int(address) | tag << TAG_SHIFT

    def address(self, reference: Any) -> Any:
        if isinstance(reference, np.ndarray):
            return reference & np.uint64(ADDRESS_MASK)
        return int(reference) & ADDRESS_MASK

    def emit_address(self, builder: Any, reference: Any) -> Any:
        return builder.and_(reference, reference.type(ADDRESS_MASK))
