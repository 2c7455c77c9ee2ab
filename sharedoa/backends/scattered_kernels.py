"""Kernels for objects placed one by one (the paper's CUDA and Concord modes), for any target.

One thread an object: ``malloc`` it, ``free`` it, read or write some bytes of it. On a GPU these are
the device's own malloc and free, whose memory no host call can reach.
"""

from __future__ import annotations

from llvmlite import ir

from ..targets.base import I1, I8, I64, POINTER, VOID, declare
from .own_kernels import EmitBody, OwnKernel


def _pointer(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    return builder.inttoptr(address, POINTER)


def _word(builder: ir.IRBuilder, array: ir.Value, number: ir.Value) -> ir.Value:
    return builder.gep(_pointer(builder, array), [number], source_etype=I64)


def _copy(builder: ir.IRBuilder, target: ir.Value, source: ir.Value, size: ir.Value) -> None:
    copy = declare(builder.module, "llvm.memcpy.p0.p0.i64", VOID, [POINTER, POINTER, I64, I1])
    arguments = [_pointer(builder, target), _pointer(builder, source), size, I1(0)]
    builder.call(copy, arguments)


def _emit_allocate(builder: ir.IRBuilder, leaves: list[ir.Value], number: ir.Value) -> None:
    addresses, size, header, header_size = leaves
    made = builder.call(declare(builder.module, "malloc", POINTER, [I64]), [size])
    address = builder.ptrtoint(made, I64)
    builder.store(address, _word(builder, addresses, number))
    with builder.if_then(builder.icmp_unsigned("!=", address, I64(0))):
        fill = declare(builder.module, "llvm.memset.p0.i64", VOID, [POINTER, I8, I64, I1])
        builder.call(fill, [made, I8(0), size, I1(0)])
        _copy(builder, address, header, header_size)


def _emit_free(builder: ir.IRBuilder, leaves: list[ir.Value], number: ir.Value) -> None:
    address = builder.load(_word(builder, leaves[0], number), typ=I64)
    free = declare(builder.module, "free", VOID, [POINTER])
    builder.call(free, [_pointer(builder, address)])


def _emit_transfer(to_objects: bool) -> EmitBody:
    def emit(builder: ir.IRBuilder, leaves: list[ir.Value], number: ir.Value) -> None:
        addresses, data, offset, itemsize = leaves
        address = builder.load(_word(builder, addresses, number), typ=I64)
        ends = [builder.add(data, builder.mul(number, itemsize)), builder.add(address, offset)]
        source, target = ends if to_objects else reversed(ends)
        _copy(builder, target, source, itemsize)

    return emit


#: leaves: addresses, size, address of the header's bytes, their number
ALLOCATE = OwnKernel("sharedoa_scattered_allocate", 4, _emit_allocate)
#: leaves: addresses
FREE = OwnKernel("sharedoa_scattered_free", 1, _emit_free)
#: leaves: addresses, data, offset, itemsize
GATHER = OwnKernel("sharedoa_scattered_gather", 4, _emit_transfer(to_objects=False))
SCATTER = OwnKernel("sharedoa_scattered_scatter", 4, _emit_transfer(to_objects=True))
