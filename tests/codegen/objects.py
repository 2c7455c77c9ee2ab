"""Objects in plain memory, with headers and vtables as the heap lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sharedoa.model.classes import ClassType
from sharedoa.model.layout import Header, Layout
from sharedoa.model.reference import ADDRESS_MASK, PlainReference, ReferenceEncoding

LAYOUT = Layout("aos", Header(8, 8))
LAYOUTS = [LAYOUT, Layout("tile", Header(8, 8))]
PLAIN = PlainReference()

#: Every object made, by address; kept, so that no address is given twice.
LIVE: dict[int, ClassType] = {}
_VTABLES: dict[ClassType, np.ndarray[Any, Any]] = {}
_ALIGNMENT = 128


@dataclass(frozen=True)
class _Object:
    """Memory with slots for objects of one class, one of which is used."""

    memory: np.ndarray[Any, Any]
    layout: Layout
    slot: int


_OBJECTS: dict[int, _Object] = {}


def vtable(cls: ClassType) -> int:
    """Address of word 0 of the class's record: its function table entry in each slot."""
    if cls not in _VTABLES:
        entries = [cls.entry_base + slot for slot in range(len(cls.slots))]
        _VTABLES[cls] = np.array([cls.type_index, *entries], np.uint32)
    return int(_VTABLES[cls].ctypes.data) + 4


def new(
    cls: ClassType,
    layout: Layout = LAYOUT,
    encoding: ReferenceEncoding = PLAIN,
    **fields: Any,
) -> int:
    """A reference to a new object; its header begins with a type tag or a vtable pointer."""
    arrangement = layout.arrangement(cls)
    raw = np.zeros(arrangement.block_bytes + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    memory = raw[start : start + arrangement.block_bytes]
    slot = len(_OBJECTS) * 7 % arrangement.lanes
    if layout.header.size:
        size = min(layout.header.size, 8)
        headers = arrangement.header(memory, size)
        word = cls.type_index if size == 4 else vtable(cls)
        headers[slot] = np.frombuffer(word.to_bytes(size, "little"), headers.dtype)[0]
    (address,) = arrangement.addresses(memory.ctypes.data, np.array([slot])).tolist()
    LIVE[address] = cls
    _OBJECTS[address] = _Object(memory, layout, slot)
    for name, value in fields.items():
        put(address, name, value)
    return int(encoding.encode(address, cls.type_index))


def get(reference: int, name: str) -> Any:
    """The field: a NumPy scalar, or an array if inline."""
    return _field(reference, name)[_OBJECTS[reference & ADDRESS_MASK].slot]


def put(reference: int, name: str, value: Any) -> None:
    _field(reference, name)[_OBJECTS[reference & ADDRESS_MASK].slot] = value


def _field(reference: int, name: str) -> Any:
    address = reference & ADDRESS_MASK
    found = _OBJECTS[address]
    return found.layout.arrangement(LIVE[address]).field(found.memory, name)


def check_reference(address: int) -> int:
    """What ``dispatch.check`` answers: 0 for a live object, 1 for null, 2 for anything else."""
    if address == 0:
        return 1
    return 0 if address in LIVE else 2
