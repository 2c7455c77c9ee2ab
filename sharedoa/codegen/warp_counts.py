"""Additions of the threads of a warp in their order, to elements of shared memory.

Which threads add to the same element is asked bit by bit of where it lies; the last of them adds
for all, and tells the others what was there (Merrill and Garland, "Single-pass Parallel Prefix Scan
with Decoupled Look-back", 2016; as CUB ranks digits).
"""

from __future__ import annotations

from llvmlite import ir

from ..errors import CompileError, Diagnostic
from ..ir.core import Operation
from ..model.intrinsics import COUNTED
from .emitter import FunctionEmitter, emits
from .memory import scalar_pointer
from .types import I32, I64

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
    alike = warp.alike_in_bits(builder, address, _FIRST_BIT, COUNTED.bit_length() - 1)
    # The last of them has all before it, and knows their number without counting again.
    number = builder.ctpop(builder.and_(alike, warp.up_to_this(builder)))
    is_last = builder.icmp_unsigned("==", warp.last_of(builder, alike), warp.lane(builder))
    there = warp.add_by_one(builder, is_last, pointer, builder.mul(number, value))
    return builder.add(there, builder.mul(builder.sub(number, I32(1)), value))
