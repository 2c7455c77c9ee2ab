"""Hand-made modules with virtual calls that the pass writes, and objects in real memory.

Every class has one method ``weigh(i64 receiver, i64 amount) -> i64``: amount * 1000 + a number of
the method's own. The kernel, for thread x: ``out[x] = weigh(objects[x], weigh(objects[x], x))``,
negated if above 10**9.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from dispatch import state
from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT
from dispatch.mode import Mode
from dispatch.range_table import SegmentTree
from dispatch.vtable_record import POINTER_OFFSET, record_words
from ptxpass.ir import (
    Canonical,
    Environment,
    Lowering,
    Ranges,
    Site,
    VirtualCall,
    decide,
    decide_test,
)

from .machine import HostCode

I32, I64, VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()
WEIGH = ir.FunctionType(I64, [I64, I64])
SLOT = 1
SLOTS = 3
KERNEL = "k"
REFUSED = "refused"
STRIDE = 32
NEGATED_ABOVE = 10**9
_MASK = (1 << TAG_SHIFT) - 1


@dataclass(frozen=True)
class Class:
    """``method`` names the class whose method objects of this class run."""

    name: str
    type_index: int
    method: str

    @property
    def symbol(self) -> str:
        return self.method

    @property
    def entry_base(self) -> int:
        return self.type_index % 64 * SLOTS


def classes(*type_indices: int) -> list[Class]:
    return [Class(f"C{number}", number, f"C{number}") for number in type_indices]


def weight(cls: Class, amount: int) -> int:
    return amount * 1000 + int(cls.method[1:])


def expected(cls: Class, x: int) -> int:
    result = weight(cls, weight(cls, x))
    return -result if result > NEGATED_ABOVE else result


def emit_address(mode: Mode, builder: ir.IRBuilder, reference: Any) -> Any:
    return builder.and_(reference, I64(_MASK)) if mode.tagged_references else reference


@dataclass
class HandWritten:
    """A module in the making. ``candidates``: the classes that a call may meet; ``canonical``:
    calls are written in canonical form."""

    module: ir.Module
    mode: Mode
    candidates: Sequence[Class]
    object_space: int = 0
    constant_space: int = 0
    debug: bool = False
    canonical: bool = False

    @property
    def on_device(self) -> bool:
        return self.object_space != 0

    def pointer(self, builder: ir.IRBuilder, address: Any) -> Any:
        return builder.inttoptr(address, ir.PointerType(None, self.object_space))

    def load(self, builder: ir.IRBuilder, address: Any, offset: int, type: ir.Type) -> Any:
        place = builder.add(address, I64(offset))
        return builder.load(self.pointer(builder, place), align=type.width // 8, typ=type)

    def add_methods(self) -> None:
        for symbol in dict.fromkeys(cls.method for cls in self.candidates):
            method = ir.Function(self.module, WEIGH, symbol)
            method.linkage = "internal"
            builder = ir.IRBuilder(method.append_basic_block())
            scaled = builder.mul(method.args[1], I64(1000))
            builder.ret(builder.add(scaled, I64(int(symbol[1:]))))

    # --------------------------------------------------------- what the pass is told

    def virtual_call(
        self,
        signature: ir.FunctionType = WEIGH,
        slot: int = SLOT,
        candidates: Sequence[Class] | None = None,
        uniform: bool = False,
    ) -> VirtualCall:
        """A call of ``weigh``, or of another method."""
        met = tuple(self.candidates if candidates is None else candidates)
        decision = decide(self.mode, met, 0, uniform, Ranges)
        known = ("Root", _own_address, met, decision.identify)
        return VirtualCall(*known, "weigh", slot, signature, self._report)

    def type_test(self, uniform: bool = False) -> Site:
        identify = decide_test(self.mode, len(self.candidates), uniform, self.debug)
        return Site("Root", _own_address, tuple(self.candidates), identify)

    def lowering(self, *calls: VirtualCall) -> Lowering:
        """What writes these calls."""
        environment = Environment(
            object_space=self.object_space,
            constant_space=self.constant_space,
            is_device=self.on_device,
            emit_address=lambda builder, reference: emit_address(self.mode, builder, reference),
            emit_order=lambda builder, reference: emit_address(self.mode, builder, reference),
            debug=self.debug,
        )
        writer = Canonical if self.canonical else Lowering
        return writer(self.module, self.mode, environment, calls)

    def _report(self, builder: ir.IRBuilder, reference: Any) -> None:
        counter = self.module.globals.get(REFUSED)
        if counter is None:
            counter = ir.GlobalVariable(self.module, I64, REFUSED)
            counter.initializer = I64(0)
        builder.store(builder.add(builder.load(counter), I64(1)), counter)

    # --------------------------------------------------------- bodies of kernels

    def new_body(self, leaves: int) -> tuple[ir.Function, ir.IRBuilder]:
        """The kernel's body with ``leaves`` i64 parameters before x, y, nx, ny."""
        signature = ir.FunctionType(VOID, [I64] * (leaves + 4))
        body = ir.Function(self.module, signature, f"{KERNEL}.body")
        return body, ir.IRBuilder(body.append_basic_block("entry"))

    def add_weighing_body(self) -> None:
        body, builder = self.new_body(leaves=2)
        objects, out, x = body.args[:3]
        offset = builder.shl(x, I64(3))
        reference = self.load(builder, builder.add(objects, offset), 0, I64)
        call = self.virtual_call()
        lowering = self.lowering(call)
        once = lowering.call(builder, call, [reference, x])
        result = lowering.call(builder, call, [reference, once])
        before = builder.block
        heavy, end = (builder.append_basic_block(name) for name in ("heavy", "end"))
        builder.cbranch(builder.icmp_signed(">", result, I64(NEGATED_ABOVE)), heavy, end)
        builder.position_at_end(heavy)
        negated = builder.neg(result)
        builder.branch(end)
        builder.position_at_end(end)
        phi = builder.phi(I64)
        phi.add_incoming(result, before)
        phi.add_incoming(negated, heavy)
        builder.store(phi, self.pointer(builder, builder.add(out, offset)))
        builder.ret_void()
        lowering.complete()

    def add_asking_body(self) -> None:
        body, builder = self.new_body(leaves=2)
        objects, out, x = body.args[:3]
        offset = builder.shl(x, I64(3))
        reference = self.load(builder, builder.add(objects, offset), 0, I64)
        lowering = self.lowering()
        found = builder.zext(lowering.type_index(builder, self.type_test(), reference), I64)
        builder.store(found, self.pointer(builder, builder.add(out, offset)))
        builder.ret_void()
        lowering.complete()


def _own_address(builder: ir.IRBuilder, address: Any) -> Any:
    """The vtable pointer is the first word of an object, as in C++."""
    return address


class Objects:
    """``count`` objects of each class, in memory of this process, as ``mode`` places them."""

    def __init__(self, mode: Mode, known: Sequence[Class], count: int) -> None:
        self.references: list[int] = []
        self.classes: list[Class] = []
        self._alive: list[Any] = []
        ranges = [self._allocate(mode, cls, count) for cls in known]
        ordered = sorted(zip(ranges, known, strict=True), key=lambda pair: pair[0])
        starts = [start for start, _ in ordered]
        self.tree = SegmentTree.build(
            starts,
            [start + count * STRIDE for start in starts],
            [cls.type_index for _, cls in ordered],
            [STRIDE] * len(ordered),
            [0] * len(ordered),
        )

    def _allocate(self, mode: Mode, cls: Class, count: int) -> int:
        words = record_words(cls.type_index, cls.entry_base, SLOTS)
        memory = np.zeros(count * STRIDE + STRIDE, np.uint8)
        self._alive += [words, memory]
        vtable = words.ctypes.data + POINTER_OFFSET
        header = mode.header_bytes(cls.type_index, vtable)
        start: int = -(-memory.ctypes.data // STRIDE) * STRIDE
        tag = cls.type_index if mode.tagged_references and cls.type_index <= TAG_LIMIT else 0
        for address in range(start, start + count * STRIDE, STRIDE):
            ctypes.memmove(address, header, len(header))
            self.references.append(address | tag << TAG_SHIFT)
            self.classes.append(cls)
        return start

    def run(self, code: HostCode) -> list[int]:
        """Run the kernel's body for every object; what it wrote."""
        words = code.words(state.SYMBOL, state.WORDS) if self._has_state(code) else [0] * 16
        words[state.RANGE_TREE] = self.tree.nodes.ctypes.data
        words[state.RANGE_TREE_SIZE] = self.tree.size
        references = np.array(self.references, np.uint64)
        out = np.full(len(references), -1, np.int64)
        body = code.function(f"{KERNEL}.body", None, *[ctypes.c_int64] * 6)
        for x in range(len(references)):
            body(references.ctypes.data, out.ctypes.data, x, 0, len(references), 1)
        return [int(value) for value in out]

    def _has_state(self, code: HostCode) -> bool:
        return code.address(state.SYMBOL) != 0


def weighing(
    mode: Mode, candidates: Sequence[Class], debug: bool = False, canonical: bool = False
) -> ir.Module:
    """The host program that calls ``weigh``."""
    written = HandWritten(ir.Module("host"), mode, candidates, debug=debug, canonical=canonical)
    written.add_methods()
    written.add_weighing_body()
    return written.module
