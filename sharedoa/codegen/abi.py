"""How kernel arguments travel: every argument is cut into leaves, each in an 8-byte slot.

A slot holds its leaf little-endian in the low bytes. The host writes slots by ``Leaf.dtype``, the
kernel's body receives LLVM values of ``Leaf.type``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from dispatch.dataclass import dataclass

from ..errors import InternalError
from ..model.layout import REFERENCE_DTYPE
from ..model.reference import ReferenceEncoding
from ..model.scalars import ScalarType
from ..model.types import ArrayType, InlineType, NullType, ReferenceType, TupleType, Type, ValueType
from .types import I8, I64, llvm_type

SLOT_BYTES = 8


@dataclass(frozen=True)
class Leaf:
    """One machine value of an argument: its LLVM type, and what the host stores in its slot."""

    type: ir.Type
    dtype: np.dtype[Any]


_ADDRESS = Leaf(I64, REFERENCE_DTYPE)
_LENGTH = Leaf(I64, np.dtype(np.int64))


def leaves(type: Type) -> list[Leaf]:
    """The leaves of one argument, in order: a scalar (bool as one byte) or reference is one leaf,
    an array its address and length, a value struct, tuple or inline array the leaves of its
    parts."""
    if isinstance(type, ScalarType):
        return [Leaf(I8 if type.kind == "bool" else llvm_type(type), type.dtype)]
    if isinstance(type, (ReferenceType, NullType)):
        return [_ADDRESS]
    if isinstance(type, ArrayType):
        return [_ADDRESS, _LENGTH]
    return [leaf for part in _parts(type) for leaf in leaves(part)]


def assemble(
    builder: ir.IRBuilder, type: Type, values: Iterator[ir.Value], encoding: ReferenceEncoding
) -> ir.Value:
    """The SSA value of an argument, from its leaves taken off ``values``."""
    if isinstance(type, ScalarType):
        value = next(values)
        return builder.icmp_unsigned("!=", value, I8(0)) if type.kind == "bool" else value
    if isinstance(type, (ReferenceType, NullType)):
        return encoding.emit_from_host(builder, next(values))
    if isinstance(type, ArrayType):
        parts = [next(values), next(values)]
    else:
        parts = [assemble(builder, part, values, encoding) for part in _parts(type)]
    return build_struct(builder, llvm_type(type), parts)


def build_struct(builder: ir.IRBuilder, type: ir.Type, parts: Sequence[ir.Value]) -> ir.Value:
    """A struct or array value from all of its parts."""
    struct = ir.Constant(type, ir.Undefined)
    for index, part in enumerate(parts):
        struct = builder.insert_value(struct, part, index)
    return struct


def _parts(type: Type) -> list[Type]:
    if isinstance(type, ValueType):
        return list(type.fields.values())
    if isinstance(type, TupleType):
        return list(type.items)
    if isinstance(type, InlineType):
        return [type.item] * type.shape[0]
    raise InternalError(f"a kernel cannot take an argument of type {type!r}")
