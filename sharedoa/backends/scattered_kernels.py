"""Kernels for objects placed one by one (the paper's CUDA and Concord modes), for any target.

One thread an object: ``malloc`` it, ``free`` it, read or write some bytes of it. On a GPU these are
the device's own malloc and free, whose memory no host call can reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from ..targets.base import I1, I8, I64, POINTER, VOID, Target, declare

#: Given the builder, the kernel's leaves and the object's number.
_EmitBody = Callable[[ir.IRBuilder, list[ir.Value], ir.Value], None]


@dataclass(frozen=True)
class ScatteredKernel:
    """A kernel whose ``leaves`` parameters are all i64."""

    symbol: str
    leaves: int
    emit_body: _EmitBody

    def ir_text(self, target: Target) -> str:
        """The kernel with its entry, as LLVM text."""
        module = target.new_module(self.symbol)
        parameters = [I64] * self.leaves
        body = ir.Function(
            module, ir.FunctionType(VOID, [*parameters, *[I64] * 4]), f"{self.symbol}.body"
        )
        body.linkage = "internal"
        body.attributes.add("alwaysinline")
        builder = ir.IRBuilder(body.append_basic_block("entry"))
        self.emit_body(builder, list(body.args[: self.leaves]), body.args[self.leaves])
        builder.ret_void()
        target.emit_entry(module, self.symbol, body, parameters, False, False)
        return str(module)


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


def _emit_transfer(to_objects: bool) -> _EmitBody:
    def emit(builder: ir.IRBuilder, leaves: list[ir.Value], number: ir.Value) -> None:
        addresses, data, offset, itemsize = leaves
        address = builder.load(_word(builder, addresses, number), typ=I64)
        ends = [builder.add(data, builder.mul(number, itemsize)), builder.add(address, offset)]
        source, target = ends if to_objects else reversed(ends)
        _copy(builder, target, source, itemsize)

    return emit


#: leaves: addresses, size, address of the header's bytes, their number
ALLOCATE = ScatteredKernel("sharedoa_scattered_allocate", 4, _emit_allocate)
#: leaves: addresses
FREE = ScatteredKernel("sharedoa_scattered_free", 1, _emit_free)
#: leaves: addresses, data, offset, itemsize
GATHER = ScatteredKernel("sharedoa_scattered_gather", 4, _emit_transfer(to_objects=False))
SCATTER = ScatteredKernel("sharedoa_scattered_scatter", 4, _emit_transfer(to_objects=True))
