"""What LLVM is told of a loop, at the branch that goes back to its beginning."""

from __future__ import annotations

from typing import Any

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
    if copies == 1:
        _tell(back, ["llvm.loop.unroll.disable"])
    else:
        _tell(back, ["llvm.loop.unroll.count", I32(copies)])


def write_out(back: ir.Instruction) -> None:
    """Have all rounds of a loop written out."""
    _tell(back, ["llvm.loop.unroll.full"])


def _tell(back: ir.Instruction, what: list[Any]) -> None:
    module = back.module
    hint = module.add_metadata(what)
    identity = _LoopIdentity(module, [hint], name=str(len(module.metadata)))
    back.set_metadata("llvm.loop", identity)
