"""What the 32 threads of a warp do together, on NVIDIA GPUs from compute capability 8.0 on.

All operations but ``active`` and those of some threads are for whole warps: every thread of the
warp comes to them, or they wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Literal

from llvmlite import ir

from .base import I1, I32, I64, VOID, as_integer, as_word, declare

LEAST_CAPABILITY = 80
_ALL = I32(-1)
_WIDTH = 32
_CLAMP_UP, _CLAMP = I32(0), I32(_WIDTH - 1)


class NvptxWarp:
    """``warp.Warp``."""

    width = _WIDTH

    def active(self, builder: ir.IRBuilder) -> ir.Value:
        return builder.call(declare(builder.module, "llvm.nvvm.activemask", I32, []), [])

    def synchronize(self, builder: ir.IRBuilder) -> None:
        symbol = "llvm.nvvm.bar.warp.sync"
        builder.call(declare(builder.module, symbol, VOID, [I32]), [_ALL])

    def lane(self, builder: ir.IRBuilder) -> ir.Value:
        return self._register(builder, "laneid")

    def up_to_this(self, builder: ir.IRBuilder) -> ir.Value:
        return self._register(builder, "lanemask.le")

    def alike(self, builder: ir.IRBuilder, mask: ir.Value, value: ir.Value) -> ir.Value:
        symbol = "llvm.nvvm.match.any.sync.i64"
        return builder.call(declare(builder.module, symbol, I32, [I32, I64]), [mask, value])

    def ballot(self, builder: ir.IRBuilder, test: ir.Value) -> ir.Value:
        return self.ballot_of(builder, _ALL, test)

    def ballot_of(self, builder: ir.IRBuilder, mask: ir.Value, test: ir.Value) -> ir.Value:
        symbol = "llvm.nvvm.vote.ballot.sync"
        return builder.call(declare(builder.module, symbol, I32, [I32, I1]), [mask, test])

    def alike_in_bits(
        self, builder: ir.IRBuilder, value: ir.Value, first: int, count: int
    ) -> ir.Value:
        # By ``match.any`` it would take twice as long where most threads differ (H200). LLVM would
        # test each bit once for the vote and once more for what follows.
        names = [f"t{place}" for place in range(count)]
        lines = [".reg .pred p;", f".reg .b32 {', '.join(names)};"]
        for place, name in enumerate(names):
            lines += [
                f"and.b32 {name}, $1, {1 << (first + place)};", f"setp.ne.u32 p, {name}, 0;",
                f"vote.sync.ballot.b32 {name}, p, -1;", f"@!p not.b32 {name}, {name};",
            ]  # fmt: skip
        every, *others = names
        while len(others) > 1:
            one, other, *others = others
            lines.append(f"lop3.b32 {every}, {every}, {one}, {other}, 0x80;")
        lines.append(f"and.b32 $0, {every}, {others[0] if others else every};")
        return _together(builder, lines, "=r,r", [value])

    def last_of(self, builder: ir.IRBuilder, mask: ir.Value) -> ir.Value:
        text = "bfind.u32 $0, $1;"
        return builder.asm(ir.FunctionType(I32, [I32]), text, "=r,r", [mask], False)

    def add_by_one(
        self, builder: ir.IRBuilder, is_one: ir.Value, pointer: ir.Value, value: ir.Value
    ) -> ir.Value:
        lines = [
            ".reg .pred p;", ".reg .b32 t;", "setp.ne.u32 p, $1, 0;", "ld.shared.u32 $0, [$2];",
            "add.u32 t, $0, $3;", "bar.warp.sync -1;", "@p st.shared.u32 [$2], t;",
            "bar.warp.sync -1;",
        ]  # fmt: skip
        given = [builder.zext(is_one, I32), builder.ptrtoint(pointer, I64), value]
        return _together(builder, lines, "=&r,r,l,r", given)

    def shuffle(self, builder: ir.IRBuilder, value: ir.Value, lane: ir.Value) -> ir.Value:
        return self.shuffle_of(builder, _ALL, value, lane)

    def shuffle_of(
        self, builder: ir.IRBuilder, mask: ir.Value, value: ir.Value, lane: ir.Value
    ) -> ir.Value:
        return self._shuffle(builder, "idx", mask, value, lane, _CLAMP)

    def shuffle_up(self, builder: ir.IRBuilder, value: ir.Value, distance: int) -> ir.Value:
        return self._shuffle(builder, "up", _ALL, value, I32(distance), _CLAMP_UP)

    def reduce(
        self, builder: ir.IRBuilder, operator: Literal["add", "or", "umax"], value: ir.Value
    ) -> ir.Value:
        symbol = f"llvm.nvvm.redux.sync.{operator}"
        return builder.call(declare(builder.module, symbol, I32, [I32, I32]), [value, _ALL])

    def opaque(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        return builder.asm(ir.FunctionType(I32, [I32]), "mov.b32 $0, $1;", "=r,r", [value], False)

    def together(
        self, builder: ir.IRBuilder, value: ir.Value, others: Sequence[ir.Value]
    ) -> ir.Value:
        # All that is of the others is taken away again, by a number that is always 0: grids have
        # one layer. ptxas, which moves loads behind branches, does not know that.
        text = "{\n\t.reg .b32 t;\n\tmov.u32 t, %ctaid.z;\n\tmov.b64 $0, {t, t};\n\t}"
        none = builder.asm(ir.FunctionType(I64, []), text, "=l", [], False)
        every = reduce(builder.or_, [as_word(builder, each) for each in others])
        taken = builder.and_(every, none)
        if value.type == I1:
            return builder.or_(value, builder.icmp_unsigned("!=", taken, I64(0)))
        bits = as_integer(builder, value)
        if bits.type != I64:
            taken = builder.trunc(taken, bits.type)
        return builder.bitcast(builder.or_(bits, taken), value.type)

    def _register(self, builder: ir.IRBuilder, name: str) -> ir.Value:
        symbol = f"llvm.nvvm.read.ptx.sreg.{name}"
        return builder.call(declare(builder.module, symbol, I32, []), [])

    def _shuffle(
        self,
        builder: ir.IRBuilder,
        kind: str,
        mask: ir.Value,
        value: ir.Value,
        other: ir.Value,
        clamp: ir.Value,
    ) -> ir.Value:
        function = declare(builder.module, f"llvm.nvvm.shfl.sync.{kind}.i32", I32, [I32] * 4)
        return builder.call(function, [mask, value, other, clamp])


def _together(
    builder: ir.IRBuilder, lines: list[str], constraints: str, given: list[ir.Value]
) -> ir.Value:
    """A word of code to which threads come together, and which may use memory."""
    function = ir.FunctionType(I32, [each.type for each in given])
    text = "{\n\t" + "\n\t".join(lines) + "\n\t}"
    call = builder.asm(function, text, f"{constraints},~{{memory}}", given, True)
    call.attributes.add("convergent")
    return call
