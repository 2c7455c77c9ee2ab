"""A warp of one thread, for code that is written for warps where there are none."""

from __future__ import annotations

from typing import Literal

from llvmlite import ir

from .base import I32


class OneThread:
    """``warp.Lanes``."""

    width = 1

    def lane(self, builder: ir.IRBuilder) -> ir.Value:
        return I32(0)

    def up_to_this(self, builder: ir.IRBuilder) -> ir.Value:
        return I32(1)

    def ballot(self, builder: ir.IRBuilder, test: ir.Value) -> ir.Value:
        return builder.zext(test, I32)

    def shuffle(self, builder: ir.IRBuilder, value: ir.Value, lane: ir.Value) -> ir.Value:
        return value

    def reduce(
        self, builder: ir.IRBuilder, operator: Literal["add", "or", "umax"], value: ir.Value
    ) -> ir.Value:
        return value
