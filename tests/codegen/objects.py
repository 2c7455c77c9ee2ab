"""Objects in plain memory, with headers and vtables as the heap lays them out."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa.model.classes import ClassType
from sharedoa.model.layout import AosLayout, Header
from sharedoa.model.reference import ADDRESS_MASK, PlainReference, ReferenceEncoding

LAYOUT = AosLayout(Header(8, 8))
PLAIN = PlainReference()

#: Every object made, by address; kept, so that no address is given twice.
LIVE: dict[int, ClassType] = {}
_MEMORY: dict[int, np.ndarray[Any, Any]] = {}
_VTABLES: dict[ClassType, np.ndarray[Any, Any]] = {}


def vtable(cls: ClassType) -> int:
    """Address of word 0 of the class's record: its function table entry in each slot."""
    if cls not in _VTABLES:
        entries = [cls.entry_base + slot for slot in range(len(cls.slots))]
        _VTABLES[cls] = np.array([cls.type_index, *entries], np.uint32)
    return int(_VTABLES[cls].ctypes.data) + 4


def new(
    cls: ClassType,
    layout: AosLayout = LAYOUT,
    encoding: ReferenceEncoding = PLAIN,
    **fields: Any,
) -> int:
    """A reference to a new object; its header is a type tag, one vtable pointer, or two."""
    memory = np.zeros(layout.record(cls).size // 8 + 1, np.uint64)
    if layout.header.size == 4:
        memory.view(np.uint32)[0] = cls.type_index
    else:
        memory[: layout.header.size // 8] = vtable(cls)
    address = int(memory.ctypes.data)
    LIVE[address] = cls
    _MEMORY[address] = memory
    for name, value in fields.items():
        view(address, cls, name, layout)[...] = value
    return int(encoding.encode(address, cls.type_index))


def view(
    reference: int, cls: ClassType, name: str, layout: AosLayout = LAYOUT
) -> np.ndarray[Any, Any]:
    """The field as a NumPy view without dimensions (one for an inline array)."""
    memory = _MEMORY[reference & ADDRESS_MASK].view(np.uint8)[: layout.record(cls).size]
    found: np.ndarray[Any, Any] = layout.field_view(memory, cls, name)[0:1]
    return found.reshape(found.shape[1:])


def check_reference(address: int) -> int:
    """What ``dispatch.check`` answers: 0 for a live object, 1 for null, 2 for anything else."""
    if address == 0:
        return 1
    return 0 if address in LIVE else 2


def type_index(reference: int) -> int:
    return LIVE[reference & ADDRESS_MASK].type_index
