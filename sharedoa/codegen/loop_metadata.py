"""What LLVM is told of a loop, at the branch that goes back to its beginning."""

from __future__ import annotations

from llvmlite import ir

from .types import I32


class _LoopIdentity(ir.MDValue):  # type: ignore[misc]
    """The node that names a loop: distinct, and its own first operand."""

    def descr(self, buf: list[str]) -> None:
        operands = [self, *self.operands]
        buf += ("distinct !{ ", ", ".join(each.get_reference() for each in operands), " }\n")


def limit_copies(back: ir.Instruction, copies: int) -> None:
    """Have a loop copied so often, or as often as it has rounds, and not again by ptxas, which LLVM
    then tells. ``back`` is the branch to its beginning."""
    module = back.module
    if copies == 1:
        hint = module.add_metadata(["llvm.loop.unroll.disable"])
    else:
        hint = module.add_metadata(["llvm.loop.unroll.count", I32(copies)])
    identity = _LoopIdentity(module, [hint], name=str(len(module.metadata)))
    back.set_metadata("llvm.loop", identity)
