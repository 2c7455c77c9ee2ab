"""LLVM types of values: how each type of the subset travels in registers and function signatures.

How it lies in memory is ``model.layout.Layout.dtype``; the two differ for bool (i1 here, one byte
there), for references (i64 here, maybe 32 bits there) and for value structs (fields without padding
here).
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..errors import InternalError
from ..model.scalars import ScalarType
from ..model.types import (
    ArrayType,
    InlineType,
    ListType,
    NullType,
    ReferenceType,
    TupleType,
    Type,
    ValueType,
    VoidType,
)

VOID = ir.VoidType()
I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
#: A reference: what a ``ReferenceEncoding`` makes of an object's address.
REFERENCE = I64
#: An ``oa.Array``: address of the elements, number of elements.
ARRAY = ir.LiteralStructType([I64, I64])
#: A list: a pointer to its elements, and their number.
LIST = ir.LiteralStructType([ir.PointerType(), I64])


def llvm_type(type: Type) -> ir.Type:
    """The type of SSA values of ``type``."""
    if isinstance(type, ScalarType):
        if type.kind == "bool":
            return I1
        if type.is_float:
            return F32 if type.bits == 32 else F64
        return ir.IntType(type.bits)
    if isinstance(type, (ReferenceType, NullType)):
        return REFERENCE
    if isinstance(type, ArrayType):
        return ARRAY
    if isinstance(type, ListType):
        return LIST
    if isinstance(type, ValueType):
        return ir.LiteralStructType([llvm_type(part) for part in type.fields.values()])
    if isinstance(type, TupleType):
        return ir.LiteralStructType([llvm_type(part) for part in type.items])
    if isinstance(type, VoidType):
        return VOID
    if isinstance(type, InlineType):
        return ir.ArrayType(llvm_type(type.item), type.shape[0])
    raise InternalError(f"{type!r} has no value form")


def function_type(parameters: Sequence[Type], result: Type) -> ir.FunctionType:
    return ir.FunctionType(llvm_type(result), [llvm_type(type) for type in parameters])


def zero(type: ir.Type) -> ir.Constant:
    """0, 0.0, false, null, or an aggregate of them."""
    if isinstance(type, ir.Aggregate):
        return ir.Constant(type, None)
    return ir.Constant(type, 0.0 if type in (F32, F64) else 0)
