"""Loads and stores of whole values at an address, by their C layout in memory.

Every part is accessed by itself with its natural alignment: bool as one byte, a value struct field
by field, an array as its address and length.
"""

from __future__ import annotations

from llvmlite import ir

from ..errors import InternalError
from ..model.layout import ARRAY_DTYPE, alignment, storage_dtype
from ..model.scalars import ScalarType, i64, u64
from ..model.types import ArrayType, Type, ValueType
from .abi import build_struct
from .emitter import FunctionEmitter, integer
from .types import I8, llvm_type


def pointer_to(emitter: FunctionEmitter, address: ir.Value) -> ir.Value:
    return emitter.builder.inttoptr(address, emitter.program.object_pointer())


def load_value(emitter: FunctionEmitter, type: Type, address: ir.Value) -> ir.Value:
    """The value of ``type`` that lies at ``address`` (i64)."""
    if isinstance(type, (ArrayType, ValueType)):
        parts = [
            load_value(emitter, part, offset_address(emitter, address, offset))
            for part, offset in _parts(type)
        ]
        return build_struct(emitter.builder, llvm_type(type), parts)
    align = alignment(storage_dtype(type))
    pointer = pointer_to(emitter, address)
    if is_bool(type):
        byte = emitter.builder.load(pointer, align=align, typ=I8)
        return emitter.builder.icmp_unsigned("!=", byte, I8(0))
    return emitter.builder.load(pointer, align=align, typ=llvm_type(type))


def store_value(emitter: FunctionEmitter, type: Type, address: ir.Value, value: ir.Value) -> None:
    """Write a value of ``type`` to ``address`` (i64); padding bytes are left alone."""
    if isinstance(type, (ArrayType, ValueType)):
        for index, (part, offset) in enumerate(_parts(type)):
            at = offset_address(emitter, address, offset)
            store_value(emitter, part, at, emitter.builder.extract_value(value, index))
        return
    align = alignment(storage_dtype(type))
    if is_bool(type):
        value = emitter.builder.zext(value, I8)
    emitter.builder.store(value, pointer_to(emitter, address), align=align)


def offset_address(emitter: FunctionEmitter, address: ir.Value, offset: int) -> ir.Value:
    return emitter.builder.add(address, integer(offset)) if offset else address


def member_offset(type: Type, name: str) -> int:
    """Bytes from the start of a compound in memory to one of its members."""
    fields = storage_dtype(type).fields
    if fields is None:
        raise InternalError(f"{type!r} has no member {name}")
    return int(fields[name][1])


def is_bool(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.kind == "bool"


def _parts(type: ArrayType | ValueType) -> list[tuple[Type, int]]:
    """Type and byte offset of each part of a compound, in order."""
    if isinstance(type, ValueType):
        return [(part, member_offset(type, name)) for name, part in type.fields.items()]
    assert ARRAY_DTYPE.fields is not None
    parts: list[tuple[Type, int]] = [
        (part, int(ARRAY_DTYPE.fields[name][1]))
        for name, part in (("address", u64), ("length", i64))
    ]
    return parts
