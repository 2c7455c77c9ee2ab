"""Places in memory, and loads and stores of whole values there.

Every part is accessed by itself with its natural alignment: bool as one byte, a value struct field
by field, an array as its address and length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from llvmlite import ir

from ..errors import InternalError
from ..model.layout import alignment, storage_dtype
from ..model.scalars import ScalarType, i64, u64
from ..model.tiles import LANES, emit_scalar_address
from ..model.types import ArrayType, Type, ValueType
from .abi import build_struct
from .emitter import FunctionEmitter, integer
from .roles import Role
from .types import I8, llvm_type

_ARRAY_PARTS: dict[str, Type] = {"address": u64, "length": i64}


@dataclass(frozen=True)
class Place:
    """Where a value of ``type`` lies. ``valid`` (i1) is None where nothing was checked.

    ``address`` (i64) is the value's own, unless it is part of an object in tiles: that is
    ``tiled_object``, and ``address`` is as ``Layout.emit_field_address`` says.
    """

    type: Type
    address: ir.Value
    valid: ir.Value | None
    role: Role
    tiled_object: ir.Value | None = None

    @property
    def scale(self) -> int:
        """How many times as far apart as in C its parts lie."""
        return 1 if self.tiled_object is None else LANES


def pointer_to(emitter: FunctionEmitter, address: ir.Value) -> ir.Value:
    builder, pointer = emitter.builder, emitter.program.object_pointer()
    is_sum = isinstance(address, ir.Instruction) and address.opname == "add"
    if is_sum and not emitter.program.target.is_device:
        # LLVM sees what lies side by side, and makes vectors of it, only from pointer + distance.
        base, distance = address.operands
        return builder.gep(builder.inttoptr(base, pointer), [distance], source_etype=I8)
    return builder.inttoptr(address, pointer)


def load_value(emitter: FunctionEmitter, place: Place) -> ir.Value:
    """The value that lies at ``place``."""
    if isinstance(place.type, (ArrayType, ValueType)):
        parts = [load_value(emitter, part) for part in _parts(emitter, place)]
        return build_struct(emitter.builder, llvm_type(place.type), parts)
    pointer, align = scalar_pointer(emitter, place)
    if is_bool(place.type):
        byte = emitter.builder.load(pointer, align=align, typ=I8)
        emitter.program.roles.mark(byte, place.role)
        return emitter.builder.icmp_unsigned("!=", byte, I8(0))
    value = emitter.builder.load(pointer, align=align, typ=llvm_type(place.type))
    emitter.program.roles.mark(value, place.role)
    return value


def store_value(emitter: FunctionEmitter, place: Place, value: ir.Value) -> None:
    """Write a value to ``place``; padding bytes are left alone."""
    if isinstance(place.type, (ArrayType, ValueType)):
        for index, part in enumerate(_parts(emitter, place)):
            store_value(emitter, part, emitter.builder.extract_value(value, index))
        return
    pointer, align = scalar_pointer(emitter, place)
    if is_bool(place.type):
        value = emitter.builder.zext(value, I8)
    store = emitter.builder.store(value, pointer, align=align)
    emitter.program.roles.mark(store, place.role)


def scalar_pointer(emitter: FunctionEmitter, place: Place) -> tuple[ir.Value, int]:
    """To a scalar or reference, and its alignment."""
    dtype = storage_dtype(place.type)
    address = place.address
    if place.tiled_object is not None:
        builder = emitter.builder
        address = emit_scalar_address(builder, address, place.tiled_object, dtype.itemsize)
    return pointer_to(emitter, address), alignment(dtype)


def member(emitter: FunctionEmitter, place: Place, name: str, type: Type) -> Place:
    """A member of the compound at ``place``."""
    offset = _member_offset(place.type, name)
    address = offset_address(emitter, place.address, offset * place.scale)
    return replace(place, type=type, address=address, role=(*place.role, name))


def offset_address(emitter: FunctionEmitter, address: ir.Value, offset: int) -> ir.Value:
    return emitter.builder.add(address, integer(offset)) if offset else address


def _member_offset(type: Type, name: str) -> int:
    """Bytes from the start of a compound in memory to one of its members."""
    fields = storage_dtype(type).fields
    if fields is None:
        raise InternalError(f"{type!r} has no member {name}")
    return int(fields[name][1])


def is_bool(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.kind == "bool"


def _parts(emitter: FunctionEmitter, place: Place) -> list[Place]:
    """Each part of a compound, in order."""
    if isinstance(place.type, ValueType):
        return [member(emitter, place, name, type) for name, type in place.type.fields.items()]
    return [member(emitter, place, name, type) for name, type in _ARRAY_PARTS.items()]
