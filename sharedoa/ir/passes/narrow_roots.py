"""Square roots of numbers of 32 bits are taken with 32 bits.

The root rounded to f64 and then to f32 is the root rounded to f32, as f64 has more than twice the
digits (Figueroa 1995). Other operations are narrowed by LLVM.

    %w: f64 = convert %x; %r: f64 = math %w <name = "sqrt">; %s: f32 = convert %r
    ->  %s: f32 = math %x <name = "sqrt">
"""

from __future__ import annotations

from ...model.scalars import f32
from ..core import Operation, Program, Value, operations_in


def narrow_roots(program: Program) -> None:
    for operation in operations_in(program):
        if operation.kind == "convert" and operation.result.type == f32:
            narrow = _square_root_of(operation)
            if narrow is not None:
                operation.kind, operation.operands = "math", [narrow]
                operation.attributes = {"name": "sqrt"}


def _square_root_of(operation: Operation) -> Value | None:
    """x where the operation is ``f32(math.sqrt(x))`` of an f32."""
    root = operation.operands[0].source
    if root is None or root.kind != "math" or root["name"] != "sqrt":
        return None
    widened = root.operands[0].source
    if widened is None or widened.kind != "convert":
        return None
    (narrow,) = widened.operands
    return narrow if narrow.type == f32 else None
