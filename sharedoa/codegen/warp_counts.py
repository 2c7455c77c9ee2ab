"""Additions of the threads of a warp in their order, to elements of shared memory.

Which threads add to the same element is asked bit by bit of where it lies; the first of them adds
for all, and tells the others what was there (Merrill and Garland, "Single-pass Parallel Prefix Scan
with Decoupled Look-back", 2016; as CUB ranks digits).
"""

from __future__ import annotations

from llvmlite import ir

from ..errors import CompileError, Diagnostic
from ..ir.core import Operation
from ..model.intrinsics import COUNTED
from .atomics import ORDERING
from .emitter import FunctionEmitter, Join, emits
from .memory import scalar_pointer
from .types import I1, I32, I64

_FIRST_BIT = 2
"""Of an address that tells elements of 32 bits apart."""


@emits("count")
def _count(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    lvalue, value = emitter.values(operation.operands)
    warp = emitter.program.target.warp
    if warp is None:
        raise CompileError(
            [Diagnostic("no threads run in step here", operation.location, "use oa.atomic_add")]
        )
    emitter.llvm_function.attributes.add("convergent")
    builder = emitter.builder
    pointer, _ = scalar_pointer(emitter, lvalue)
    address = builder.trunc(builder.ptrtoint(pointer, I64), I32)
    alike: ir.Value = I32(-1)
    for bit in range(_FIRST_BIT, _FIRST_BIT + COUNTED.bit_length() - 1):
        is_set = builder.trunc(builder.lshr(address, I32(bit)), I1)
        others = builder.select(is_set, I32(0), I32(-1))
        alike = builder.and_(alike, builder.xor(warp.ballot(builder, is_set), others))
    up_to_this = builder.and_(alike, warp.up_to_this(builder))
    number = builder.sub(builder.ctpop(up_to_this), I32(1))
    first, end = emitter.new_block("count.first"), Join(emitter, "count.end")
    end.comes([I32(0)])
    emitter.branch_on(builder.icmp_unsigned("==", number, I32(0)), first, end.block)
    emitter.start(first)
    total = builder.mul(builder.ctpop(alike), value)
    end.branch([builder.atomic_rmw("add", pointer, total, ORDERING)])
    (there,) = end.start()
    told = warp.shuffle(builder, there, builder.cttz(alike, I1(0)))
    return builder.add(told, builder.mul(number, value))
