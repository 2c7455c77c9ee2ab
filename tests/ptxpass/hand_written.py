"""Hand-made modules with virtual calls in canonical form, and objects in real memory.

Every class has one method ``weigh(i64 receiver, i64 amount) -> i64``: amount * 1000 + a number of
the method's own. The kernel, for thread x: ``out[x] = weigh(objects[x], weigh(objects[x], x))``,
negated if above 10**9.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from dispatch import state
from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT
from dispatch.mode import Mode
from dispatch.range_table import SegmentTree
from dispatch.vtable_record import POINTER_OFFSET, record_words
from ptxpass.ir import (
    CallSite,
    Environment,
    SiteCandidate,
    SiteReport,
    TypeQuery,
    function_table,
    rewrite,
)

from .machine import HostCode

I32, I64, VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()
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
class Canonical:
    """A module and what its code generator reports of it. ``candidates``: the classes that a call
    may meet."""

    module: ir.Module
    mode: Mode
    candidates: Sequence[Class]
    object_space: int = 0
    constant_space: int = 0
    debug: bool = False
    sites: list[CallSite] = field(default_factory=list)
    queries: list[TypeQuery] = field(default_factory=list)

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
            method = ir.Function(self.module, ir.FunctionType(I64, [I64, I64]), symbol)
            method.linkage = "internal"
            builder = ir.IRBuilder(method.append_basic_block())
            scaled = builder.mul(method.args[1], I64(1000))
            builder.ret(builder.add(scaled, I64(int(symbol[1:]))))

    def call(self, builder: ir.IRBuilder, reference: Any, *arguments: Any) -> Any:
        """A virtual call of ``weigh``."""
        signature = ir.FunctionType(I64, [I64, *(a.type for a in arguments)])
        return self.virtual_call(builder, signature, reference, *arguments)

    def virtual_call(
        self, builder: ir.IRBuilder, signature: ir.FunctionType, reference: Any, *arguments: Any
    ) -> Any:
        first = len(builder.block.instructions)
        address = emit_address(self.mode, builder, reference)
        vtable = self.load(builder, address, 0, I64)
        entry = self.load(builder, vtable, 4 * SLOT, I32)
        table = function_table(self.module, "Root", self.object_space)
        place = builder.gep(table, [I32(0), entry], inbounds=True, source_etype=table.value_type)
        method = builder.load(place, typ=ir.PointerType(signature))
        chain = builder.block.instructions[first:]
        call = builder.call(method, [reference, *arguments])
        candidates = tuple(
            SiteCandidate(c.name, c.type_index, c.entry_base + SLOT, c.method)
            for c in self.candidates
        )
        number = len(self.sites)
        where = (f"file.py:{number}", builder.function.name)
        self.sites.append(
            CallSite(
                number, "weigh", "Root", "Root", SLOT, candidates, *where, reference, call, chain
            )
        )
        return call

    def query(self, builder: ir.IRBuilder, reference: Any) -> Any:
        """A type test: the type index of ``reference``."""
        symbol = "sharedoa_type_index"
        function = self.module.globals.get(symbol)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(I32, [I64]), symbol)
        call = builder.call(function, [reference])
        candidates = tuple((c.type_index, c.name) for c in self.candidates)
        self.queries.append(
            TypeQuery(
                len(self.queries), "Root", candidates, "file.py:1", builder.function.name,
                reference, call,
            )
        )  # fmt: skip
        return call

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
        once = self.call(builder, reference, x)
        result = self.call(builder, reference, once)
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

    def add_querying_body(self) -> None:
        body, builder = self.new_body(leaves=2)
        objects, out, x = body.args[:3]
        offset = builder.shl(x, I64(3))
        reference = self.load(builder, builder.add(objects, offset), 0, I64)
        found = builder.zext(self.query(builder, reference), I64)
        builder.store(found, self.pointer(builder, builder.add(out, offset)))
        builder.ret_void()

    def rewrite(self) -> list[SiteReport]:
        # Printing first is what a dump of the canonical form does.
        assert "sharedoa_functions" in str(self.module) or not self.sites
        return rewrite(self.module, self.sites, self.queries, self.mode, self.environment())

    def environment(self) -> Environment:
        def report(builder: ir.IRBuilder, site: CallSite, reference: Any) -> None:
            counter = self.module.globals.get(REFUSED)
            if counter is None:
                counter = ir.GlobalVariable(self.module, I64, REFUSED)
                counter.initializer = I64(0)
            builder.store(builder.add(builder.load(counter), I64(1)), counter)

        return Environment(
            object_space=self.object_space,
            constant_space=self.constant_space,
            is_device=self.on_device,
            emit_address=lambda builder, reference: emit_address(self.mode, builder, reference),
            emit_order=lambda builder, reference: emit_address(self.mode, builder, reference),
            kernel=KERNEL,
            debug=self.debug,
            on_no_type=report,
        )


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


def weighing(mode: Mode, candidates: Sequence[Class], debug: bool = False) -> Canonical:
    """The host program that calls ``weigh``, not yet rewritten."""
    canonical = Canonical(ir.Module("host"), mode, candidates, debug=debug)
    canonical.add_methods()
    canonical.add_weighing_body()
    return canonical
