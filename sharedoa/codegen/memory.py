"""Places in memory, and loads and stores of whole values there.

Every part is accessed by itself with its natural alignment: bool as one byte, a value struct field
by field, an array as its address and length.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from llvmlite import ir

from dispatch.dataclass import dataclass, replace

from ..ir.core import NEIGHBOURS, Operation
from ..ir.roles import ANY, Role, describe
from ..location import Location
from ..model.layout import alignment, member_part
from ..model.record import part_of
from ..model.scalars import ScalarType, i64, u64
from ..model.tiles import LANES, emit_scalar_address
from ..model.types import ArrayType, InlineType, ReferenceType, Type, ValueType
from ..targets.base import declare
from . import checks, races
from .abi import build_struct
from .emitter import FunctionEmitter, emits, integer
from .types import I8, I32, VOID, llvm_type

_COMPOUND = (ArrayType, ValueType, InlineType)
_ARRAY_PARTS: dict[str, Type] = {"address": u64, "length": i64}


@dataclass(frozen=True)
class Lvalue:
    """Where a value of ``type`` lies. ``valid`` (i1) is None where nothing was checked.

    ``address`` (i64) is the value's own, unless it has rows in tiles: then the object is
    ``tiled_object``, and ``address`` is as ``Layout.emit_field_address`` says.
    """

    type: Type
    address: ir.Value
    valid: ir.Value | None
    role: Role
    tiled_object: ir.Value | None = None
    #: Where ``address`` is counted from, if several objects' places are to be seen side by side
    #: from there (``neighbours``), and how many scalars of the row after it this one lies.
    origin: ir.Value | None = None
    lane: int = 0
    #: A power of two that ``address`` is known to be a multiple of, unless it has rows in tiles.
    multiple: int = 1
    #: Where in the source it is named; in debug mode only.
    location: Location | None = None
    #: What messages name it by: the address of the object, or an element's index; None: neither.
    subject: ir.Value | None = None
    #: Of an element of a list, the pointer that ``address`` is the distance from.
    stack: ir.Value | None = None
    #: Of a pointer to it, where it is memory of a block; None: that of objects.
    space: int | None = None

    @property
    def scale(self) -> int:
        """How many times as far apart as in C its parts lie."""
        return 1 if self.tiled_object is None else LANES


def pointer_to(emitter: FunctionEmitter, address: ir.Value, space: int | None = None) -> ir.Value:
    # LLVM sees what lies side by side, and makes vectors of it, only from pointer + distance.
    builder, pointer = emitter.builder, emitter.program.object_pointer
    if space is not None:
        pointer = ir.PointerType(None, space)
    constant = 0
    while _is_sum(address) and isinstance(address.operands[1], ir.Constant):
        constant += address.operands[1].constant
        address = address.operands[0]
    if _is_sum(address) and (space is not None or not emitter.program.target.is_device):
        base, distance = address.operands
        found = builder.gep(builder.inttoptr(base, pointer), [distance], source_etype=I8)
    else:
        found = builder.inttoptr(address, pointer)
    return builder.gep(found, [integer(constant)], source_etype=I8) if constant else found


def _is_sum(value: ir.Value) -> bool:
    return isinstance(value, ir.Instruction) and value.opname == "add"


def load_value(emitter: FunctionEmitter, lvalue: Lvalue) -> ir.Value:
    """The value that lies at ``lvalue``."""
    if isinstance(lvalue.type, _COMPOUND):
        parts = [load_value(emitter, part) for part in _parts(emitter, lvalue)]
        return build_struct(emitter.builder, llvm_type(lvalue.type), parts)
    pointer, align = scalar_pointer(emitter, lvalue)
    races.note_read(emitter, lvalue, pointer)
    value = emitter.builder.load(pointer, align=align, typ=stored_type(emitter, lvalue.type))
    _mark(emitter, value, lvalue)
    return from_stored(emitter, lvalue.type, value)


def store_value(emitter: FunctionEmitter, lvalue: Lvalue, value: ir.Value) -> None:
    """Write a value to ``lvalue``; padding bytes are left alone."""
    if isinstance(lvalue.type, _COMPOUND):
        for index, part in enumerate(_parts(emitter, lvalue)):
            store_value(emitter, part, emitter.builder.extract_value(value, index))
        return
    check_stored(emitter, lvalue, value)
    pointer, align = scalar_pointer(emitter, lvalue)
    value = to_stored(emitter, lvalue.type, value)
    races.note_write(emitter, lvalue, pointer, value, align)
    store = emitter.builder.store(value, pointer, align=align)
    _mark(emitter, store, lvalue)


@emits("prefetch")
def _prefetch(emitter: FunctionEmitter, operation: Operation) -> None:
    lvalue = emitter.value(operation.operands[0])
    while isinstance(lvalue.type, (ArrayType, ValueType)):
        lvalue = _parts(emitter, lvalue)[0]
    pointer, _ = scalar_pointer(emitter, lvalue)
    types = [pointer.type, I32, I32, I32]
    prefetch = declare(emitter.builder.module, "llvm.prefetch.p0", VOID, types)
    for_reading, to_stay, data = I32(0), I32(3), I32(1)
    emitter.builder.call(prefetch, [pointer, for_reading, to_stay, data])


def _mark(emitter: FunctionEmitter, access: ir.Instruction, lvalue: Lvalue) -> None:
    if lvalue.stack is None:  # which LLVM itself knows best
        emitter.program.roles.mark(access, lvalue.role)


def check_stored(emitter: FunctionEmitter, lvalue: Lvalue, value: ir.Value) -> None:
    """Report a reference that must not be stored in ``lvalue`` (debug)."""
    if lvalue.location is not None and isinstance(lvalue.type, ReferenceType):
        name = describe(lvalue.role)
        checks.check_stored_reference(emitter, value, lvalue.type, lvalue.location, name)


def scalar_pointer(emitter: FunctionEmitter, lvalue: Lvalue) -> tuple[ir.Value, int]:
    """To a scalar or reference, and its alignment."""
    dtype = emitter.program.layout.dtype(lvalue.type)
    address = lvalue.address
    if lvalue.tiled_object is not None:
        builder = emitter.builder
        address = emit_scalar_address(builder, address, lvalue.tiled_object, dtype.itemsize)
    known = alignment(dtype)
    if lvalue.stack is not None:
        return emitter.builder.gep(lvalue.stack, [address], source_etype=I8), known
    if lvalue.origin is None:
        multiple = lvalue.multiple if lvalue.tiled_object is None else 1
        return pointer_to(emitter, address, lvalue.space), max(known, multiple)
    if lvalue.tiled_object is not None:
        # Counted from the first scalar of the group, which begins at a multiple of the group.
        address = offset_address(emitter, address, lvalue.lane * dtype.itemsize)
        known *= lvalue.lane & -lvalue.lane or NEIGHBOURS
    origin = emitter.builder.inttoptr(lvalue.origin, emitter.program.object_pointer)
    return emitter.builder.gep(origin, [address], source_etype=I8), known


def member(emitter: FunctionEmitter, lvalue: Lvalue, name: str, type: Type) -> Lvalue:
    """A member of the compound at ``lvalue``."""
    return _part(emitter, lvalue, name, type, _member_offset(emitter, lvalue.type, name))


def _part(
    emitter: FunctionEmitter, lvalue: Lvalue, name: Hashable, type: Type, offset: int
) -> Lvalue:
    address = offset_address(emitter, lvalue.address, offset * lvalue.scale)
    multiple = math.gcd(lvalue.multiple, offset)
    return replace(lvalue, type=type, address=address, role=(*lvalue.role, name), multiple=multiple)


def offset_address(emitter: FunctionEmitter, address: ir.Value, offset: int) -> ir.Value:
    return emitter.builder.add(address, integer(offset)) if offset else address


def _member_offset(emitter: FunctionEmitter, type: Type, name: str) -> int:
    """Bytes from the start of a compound in memory to one of its members."""
    dtype = emitter.program.layout.dtype(type)
    return (
        member_part(type, dtype, name)[0]
        if isinstance(type, ValueType)
        else part_of(dtype, name)[0]
    )


def stored_type(emitter: FunctionEmitter, type: Type) -> ir.Type:
    """What memory holds for a scalar or reference: bool as a byte, references as the heap does."""
    if isinstance(type, ReferenceType):
        return ir.IntType(8 * emitter.program.encoding.dtype.itemsize)
    return I8 if _is_bool(type) else llvm_type(type)


def from_stored(emitter: FunctionEmitter, type: Type, stored: ir.Value) -> ir.Value:
    if _is_bool(type):
        return emitter.builder.icmp_unsigned("!=", stored, I8(0))
    if isinstance(type, ReferenceType):
        return emitter.program.encoding.emit_from_memory(emitter.builder, stored)
    return stored


def to_stored(emitter: FunctionEmitter, type: Type, value: ir.Value) -> ir.Value:
    if _is_bool(type):
        return emitter.builder.zext(value, I8)
    if isinstance(type, ReferenceType):
        return emitter.program.encoding.emit_to_memory(emitter.builder, value)
    return value


def _is_bool(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.kind == "bool"


def _parts(emitter: FunctionEmitter, lvalue: Lvalue) -> list[Lvalue]:
    """Each part of a compound, in order."""
    if isinstance(lvalue.type, ValueType):
        return [member(emitter, lvalue, name, type) for name, type in lvalue.type.fields.items()]
    if isinstance(lvalue.type, InlineType):
        item, size = lvalue.type.item, emitter.program.layout.dtype(lvalue.type.item).itemsize
        places = range(lvalue.type.shape[0])
        # To LLVM in the role that elements have by themselves, whatever is known of their indices.
        return [_part(emitter, lvalue, ANY, item, place * size) for place in places]
    return [member(emitter, lvalue, name, type) for name, type in _ARRAY_PARTS.items()]
