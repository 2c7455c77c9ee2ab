"""What all GPUs share: LLVM's machine for an architecture, and the kernel entry, which runs one
thread of the launch on each hardware thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from llvmlite import binding as llvm
from llvmlite import ir

from dispatch import state
from dispatch.errors import RECORD_DTYPE

from ..uninterrupted import uninterrupted
from .base import I1, I32, I64, VOID, Asking, EmitTurns
from .inline_growth import limit_growth
from .packed_threads import emit_noted, emit_packed
from .warp import Warp

AXES = ("x", "y")
MOST_BLOCK_THREADS = 1024
_PHASES = "sharedoa_phases"


class GpuTarget(ABC):
    """The half of a target that differs between GPUs by names only."""

    name: str
    triple: ClassVar[str]
    kernel_convention: ClassVar[str]
    relocation: ClassVar[str]
    object_space = 1
    shared_space = 3
    device_scope: str
    constant_space: int
    is_device = True

    @property
    def warp(self) -> Warp | None:
        return None

    def __init__(self, architecture: str) -> None:
        with uninterrupted:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        self.architecture = architecture

    @cached_property
    def machine(self) -> Any:
        """LLVM's target machine."""
        with uninterrupted:
            target = llvm.Target.from_triple(self.triple)
            return target.create_target_machine(cpu=self.architecture, opt=3, reloc=self.relocation)

    @cached_property
    def _data_layout(self) -> str:
        with uninterrupted:
            return str(self.machine.target_data)

    @property
    def fingerprint(self) -> str:
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"{self.name} {self.architecture} llvm {version}"

    def new_module(self, name: str) -> ir.Module:
        module = ir.Module(name)
        module.triple = self.triple
        module.data_layout = self._data_layout
        return module

    @property
    @abstractmethod
    def lanes(self) -> int: ...

    @abstractmethod
    def emit_lane(self, builder: ir.IRBuilder) -> ir.Value: ...

    @abstractmethod
    def emit_position(
        self, builder: ir.IRBuilder, axis: int
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        """i32 along an axis: this thread's block, threads of a block, and which of them it is."""

    def emit_thread_index(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        """i32: this thread's index along an axis."""
        block, size, thread = self.emit_position(builder, axis)
        return builder.add(builder.mul(block, size), thread)

    def _regrouped(self, builder: ir.IRBuilder, turns: EmitTurns) -> ir.Value:
        """i32: which thread along x this one is, where those stand side by side that are ``turns``
        apart, or so many as the largest power of two that divides this: of a piece of that many
        warps lane n of warp w is thread ``n * warps + w``. Blocks are whole pieces."""
        block, size, thread = self.emit_position(builder, 0)
        width = (self.lanes - 1).bit_length()
        pieces = builder.or_(builder.shl(turns(builder), I32(width)), size)
        bits = builder.cttz(pieces, I1(0))
        is_whole = builder.icmp_unsigned(">", bits, I32(width))
        shift = builder.select(is_whole, builder.sub(bits, I32(width)), I32(0))
        last = builder.sub(builder.shl(I32(self.lanes), shift), I32(1))
        inside = builder.and_(thread, last)
        lane = builder.and_(inside, I32(self.lanes - 1))
        place = builder.add(builder.shl(lane, shift), builder.lshr(inside, I32(width)))
        first = builder.add(builder.mul(block, size), builder.sub(thread, inside))
        return builder.add(first, place)

    def emit_block(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        return builder.zext(self.emit_position(builder, axis)[0], I64)

    def emit_phase(self, builder: ir.IRBuilder) -> ir.Value:
        # Functions have no memory that a thread keeps, but blocks have some that threads share.
        type = ir.ArrayType(I64, MOST_BLOCK_THREADS)
        phases = builder.module.globals.get(_PHASES)
        if phases is None:
            phases = ir.GlobalVariable(builder.module, type, _PHASES, self.shared_space)
            phases.linkage, phases.initializer = "internal", ir.Constant(type, ir.Undefined)
        _, width, x = self.emit_position(builder, 0)
        _, _, y = self.emit_position(builder, 1)
        return builder.gep(phases, [I32(0), builder.add(builder.mul(y, width), x)])

    def emit_noted_thread(self, builder: ir.IRBuilder) -> ir.Value:
        return builder.zext(builder.load(emit_noted(self, builder), typ=I32), I64)

    @abstractmethod
    def emit_barrier(self, builder: ir.IRBuilder) -> None: ...

    def emit_debug_thread(
        self, builder: ir.IRBuilder, x: ir.Value, y: ir.Value, phase: ir.Value
    ) -> None:
        builder.store(phase, self.emit_phase(builder))

    def emit_current_thread(
        self, builder: ir.IRBuilder, axis: int, turns: EmitTurns | None = None
    ) -> ir.Value:
        if turns is None or axis:
            index = self.emit_thread_index(builder, axis)
        else:
            index = self._regrouped(builder, turns)
        return builder.zext(index, I64)

    def emit_entry(
        self,
        module: ir.Module,
        symbol: str,
        body: ir.Function,
        leaf_types: Sequence[ir.Type],
        debug: bool,
        uses_barrier: bool,
        asking: Asking | None = None,
        block: tuple[int, int] | None = None,
        at_once: int = 1,
        turns: EmitTurns | None = None,
    ) -> None:
        """``kernel(leaves..., i32 nx, i32 ny)``: threads outside nx times ny return at once.

        Index arithmetic is 32 bits wide, unsigned: half the registers and instructions of 64. Of
        several at once each is as many threads further as a block has.
        """
        state.state_block(module, self.constant_space)
        parameters = [*leaf_types, I32, I32]
        entry = ir.Function(module, ir.FunctionType(VOID, parameters), symbol)
        entry.calling_convention = self.kernel_convention
        if asking is not None:
            emit_packed(self, entry, body, asking.goes_on, at_once)
        else:
            self._emit_threads(entry, body, debug, uses_barrier, block, at_once, turns)
        limit_growth(module)

    def _emit_threads(
        self,
        entry: ir.Function,
        body: ir.Function,
        debug: bool,
        uses_barrier: bool,
        block: tuple[int, int] | None,
        at_once: int,
        turns: EmitTurns | None,
    ) -> None:
        """Run ``body`` for every thread."""
        *leaves, nx, ny = entry.args
        builder = ir.IRBuilder(entry.append_basic_block("entry"))
        inside, outside = entry.append_basic_block("inside"), entry.append_basic_block("outside")
        if block is None:
            x, y = self.emit_thread_index(builder, 0), self.emit_thread_index(builder, 1)
        else:
            x, y = (self._index_in_blocks_of(builder, *each) for each in enumerate(block))
            self.describe_block(entry, block[0] * block[1])
        if turns is not None:
            x = self._regrouped(builder, turns)
        number, width, _ = self.emit_position(builder, 0)
        if block is not None:
            width = I32(block[0])
        if at_once > 1:
            begin = builder.mul(number, builder.mul(width, I32(at_once - 1)))
            x = builder.add(x, begin)
        in_row = builder.icmp_unsigned("<", x, nx)
        in_column = builder.icmp_unsigned("<", y, ny)
        builder.cbranch(builder.and_(in_row, in_column), inside, outside)
        builder.position_at_end(inside)
        wide = [builder.zext(value, I64) for value in (x, y, nx, ny)]
        if debug and uses_barrier:
            builder.store(I64(0), self.emit_phase(builder))
        builder.call(body, [*leaves, *wide])
        for _ in range(1, at_once):
            x = builder.add(x, width)
            following = entry.append_basic_block("following")
            builder.cbranch(builder.icmp_unsigned("<", x, nx), following, outside)
            builder.position_at_end(following)
            builder.call(body, [*leaves, builder.zext(x, I64), *wide[1:]])
        if debug:
            self._count_thread(builder, builder.mul(wide[2], wide[3]))
        builder.ret_void()
        builder.position_at_end(outside)
        builder.ret_void()

    def _index_in_blocks_of(self, builder: ir.IRBuilder, axis: int, size: int) -> ir.Value:
        """``emit_thread_index``, where blocks are known to have ``size`` threads along the axis."""
        block, _, thread = self.emit_position(builder, axis)
        return block if size == 1 else builder.add(builder.mul(block, I32(size)), thread)

    @abstractmethod
    def describe_block(self, entry: ir.Function, threads: int) -> None:
        """Tell the compiler how many threads every block of a kernel has."""

    def _count_thread(self, builder: ir.IRBuilder, threads: ir.Value) -> None:
        """The last thread of a launch to end tells the error record that the next one begins, as
        launches that are one graph are nobody else's to count."""
        record = state.load(builder, self.constant_space, state.ERRORS)
        assert RECORD_DTYPE.fields is not None
        finished, launch = (
            builder.inttoptr(
                builder.add(record, I64(RECORD_DTYPE.fields[name][1])),
                ir.PointerType(None, self.object_space),
            )
            for name in ("finished", "launch")
        )
        with builder.if_then(builder.icmp_unsigned("!=", record, I64(0))):
            before = builder.atomic_rmw("add", finished, I64(1), "monotonic")
            is_last = builder.icmp_unsigned("==", builder.add(before, I64(1)), threads)
            with builder.if_then(is_last):
                builder.atomic_rmw("xchg", finished, I64(0), "monotonic")
                builder.atomic_rmw("add", launch, I64(1), "monotonic")
