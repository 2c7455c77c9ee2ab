"""The machine we run on: native code for CPU threads. The smallest target; read it first.

An entry is ``void symbol(i64 begin, i64 end, i64 nx, i64 ny, ptr slots)``: it runs the threads
whose linear index ``y * nx + x`` lies in [begin, end), one after another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

from dispatch import state

from ..uninterrupted import uninterrupted
from .base import (
    F32,
    I1,
    I8,
    I32,
    I64,
    POINTER,
    VOID,
    Asking,
    EmitTurns,
    PrintPiece,
    Stages,
    declare,
    print_format,
    private_text,
)
from .mathematics import LIBRARY_NAMES, emit_exact, emit_intrinsic, emit_library_call
from .optimise import copy_no_ends, emit_native, optimise, parse
from .thread_loops import emit_groups, emit_threads

#: Provided by the CPU backend to every module that it loads.
BARRIER_SYMBOL = "sharedoa_barrier"
PRINT_SYMBOL = "sharedoa_print"
PRINT_LIMIT = 1024
"""Bytes of one print; what is longer is cut."""
FLOAT_MARKS = {32: b"\xfe", 64: b"\xff"}
"""In a printed line this byte, which no UTF-8 has, stands before the bits of a float, in so many
hexadecimal digits as it has groups of four. Python, which gets the line, knows its digits."""
FORMAT_MARK = b"\xfd"
"""Before an f64 there may be this byte and its format."""

_INTRINSICS = ("exp", "exp2", "log", "log2", "log10", "sin", "cos", "pow")
_FAULTS = ('"probe-stack"="inline-asm"', "null_pointer_is_valid")
"""Attributes of functions for what must be a fault: a frame of more than a page is touched page by
page, so that it does not reach past the end of the stack; and to use null is no reason to leave out
code."""
_ENTRY_TYPE = ir.FunctionType(VOID, [I64, I64, I64, I64, POINTER])


class HostTarget:
    """Code for exactly this CPU, with the features that LLVM detects."""

    name = "host"
    object_space = 0
    # Blocks run one after another.
    shared_space = 0
    device_scope = ""
    constant_space = 0
    is_device = False
    lanes = 1
    warp = None

    def __init__(self) -> None:
        with uninterrupted:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            self._cpu = llvm.get_host_cpu_name()
            self._features = llvm.get_host_cpu_features().flatten()
            self._triple = llvm.get_process_triple()

    @cached_property
    def machine(self) -> Any:
        """LLVM's target machine."""
        with uninterrupted:
            return llvm.Target.from_triple(self._triple).create_target_machine(
                cpu=self._cpu, features=self._features, opt=3, reloc="pic", codemodel="small"
            )

    @cached_property
    def _data_layout(self) -> str:
        with uninterrupted:
            return str(self.machine.target_data)

    @property
    def fingerprint(self) -> str:
        features = hashlib.sha256(self._features.encode()).hexdigest()[:12]
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"host {self._triple} {self._cpu} {features} llvm {version}"

    def libraries(self, ir_text: str) -> str:
        return ""

    def new_module(self, name: str) -> ir.Module:
        module = ir.Module(name)
        module.triple = self._triple
        module.data_layout = self._data_layout
        return module

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
        state.state_block(module, self.constant_space)
        entry = ir.Function(module, _ENTRY_TYPE, symbol)
        begin, end, nx, ny, slots = entry.args
        builder = ir.IRBuilder(entry.append_basic_block("entry"))
        leaves = [
            builder.load(builder.gep(slots, [I64(number)], source_etype=I64), typ=type)
            for number, type in enumerate(leaf_types)
        ]
        # Row by row: an inner loop over x alone is one that LLVM can vectorise.
        first_x, first_y = builder.urem(begin, nx), builder.udiv(begin, nx)
        preheader = builder.block
        row, row_done, done = (
            entry.append_basic_block(name) for name in ("row", "row_done", "done")
        )
        builder.cbranch(builder.icmp_unsigned("<", begin, end), row, done)

        builder.position_at_end(row)
        linear, start_x, y = builder.phi(I64), builder.phi(I64), builder.phi(I64)
        limit = builder.add(start_x, builder.sub(end, linear))
        end_x = builder.select(builder.icmp_unsigned("<", limit, nx), limit, nx)

        def run(x: ir.Value) -> None:
            if debug:
                builder.store(x, self._state_slot(builder, state.THREAD_X))
                builder.store(y, self._state_slot(builder, state.THREAD_Y))
                if uses_barrier:
                    builder.store(I64(0), self.emit_phase(builder))
            builder.call(body, [*leaves, x, y, nx, ny])

        if asking is None:
            emit_threads(builder, start_x, end_x, run)
        else:
            emit_groups(builder, start_x, end_x, asking, lambda x: [*leaves, x, y, nx, ny], run)
        builder.branch(row_done)

        builder.position_at_end(row_done)
        next_linear = builder.add(linear, builder.sub(end_x, start_x))
        next_y = builder.add(y, I64(1))
        builder.cbranch(builder.icmp_unsigned("<", next_linear, end), row, done)
        for phi, first, following in (
            (linear, begin, next_linear),
            (start_x, first_x, I64(0)),
            (y, first_y, next_y),
        ):
            phi.add_incoming(first, preheader)
            phi.add_incoming(following, row_done)

        builder.position_at_end(done)
        builder.ret_void()
        for function in module.functions:
            if not function.is_declaration:
                # ``add`` of llvmlite's class of sets takes few attributes.
                set.update(function.attributes, _FAULTS)

    def emit_current_thread(
        self, builder: ir.IRBuilder, axis: int, turns: EmitTurns | None = None
    ) -> ir.Value:
        # Outside debug mode threads run side by side and the backend leaves -1 there. Not
        # ``state.load``: in debug mode these words do change during a launch.
        slot = self._state_slot(builder, (state.THREAD_X, state.THREAD_Y)[axis])
        return builder.load(slot, typ=I64)

    def emit_noted_thread(self, builder: ir.IRBuilder) -> ir.Value:
        return self.emit_current_thread(builder, 0)

    def emit_lane(self, builder: ir.IRBuilder) -> ir.Value:
        return I32(0)

    def emit_block(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        slot = self._state_slot(builder, (state.BLOCK_X, state.BLOCK_Y)[axis])
        return builder.udiv(self.emit_current_thread(builder, axis), builder.load(slot, typ=I64))

    def emit_phase(self, builder: ir.IRBuilder) -> ir.Value:
        return self._state_slot(builder, state.PHASE)

    def emit_debug_thread(
        self, builder: ir.IRBuilder, x: ir.Value, y: ir.Value, phase: ir.Value
    ) -> None:
        builder.store(x, self._state_slot(builder, state.THREAD_X))
        builder.store(y, self._state_slot(builder, state.THREAD_Y))
        builder.store(phase, self.emit_phase(builder))

    def _state_slot(self, builder: ir.IRBuilder, index: int) -> ir.Value:
        block = state.state_block(builder.module, self.constant_space)
        return builder.gep(block, [I32(0), I32(index)], inbounds=True)

    def emit_barrier(self, builder: ir.IRBuilder) -> None:
        builder.call(declare(builder.module, BARRIER_SYMBOL, VOID, []), [])

    def emit_math(
        self,
        builder: ir.IRBuilder,
        name: str,
        arguments: Sequence[ir.Value],
        fast: bool = False,
    ) -> ir.Value:
        if name == "pow" and not isinstance(arguments[1], ir.Constant):
            fast = False  # LLVM would take a function for whole exponents that nobody has
        exact = emit_exact(builder, name, arguments, fast)
        if exact is not None:
            return exact
        if name == "fmod":
            # Of a call LLVM believes that the result is no NaN where x is finite and y not 0,
            # though y may be NaN; the instruction, which becomes that call, it takes as it is.
            return builder.frem(*arguments)
        if name in _INTRINSICS:
            return emit_intrinsic(builder, name, arguments, fast)
        suffix = "f" if arguments[0].type == F32 else ""
        return emit_library_call(builder, LIBRARY_NAMES.get(name, name) + suffix, arguments)

    def emit_print(self, builder: ir.IRBuilder, pieces: Sequence[PrintPiece]) -> None:
        module = builder.module
        format, values = print_format(pieces, lambda *given: _float_bits(builder, *given))
        truths = [private_text(module, word) for word in ("True", "False")]
        arguments = [
            builder.select(value, *truths) if value.type == I1 else value for value in values
        ]
        with builder.goto_entry_block():
            line = builder.alloca(ir.ArrayType(I8, PRINT_LIMIT))
        snprintf = declare_variadic(module, "snprintf", [POINTER, I64, POINTER])
        builder.call(snprintf, [line, I64(PRINT_LIMIT), private_text(module, format), *arguments])
        builder.call(declare(module, PRINT_SYMBOL, VOID, [POINTER]), [line])

    def assemble(self, ir_text: str) -> bytes:
        """Object code of a text that is as it should be."""
        module = parse(ir_text)
        for function in module.functions:
            if not function.is_declaration:
                function.add_function_attribute("nounwind")  # no tables for exceptions of C++
        object_code = emit_native(module, self.machine)["o"]
        assert isinstance(object_code, bytes)
        return object_code

    def compile(self, ir_text: str) -> Stages:
        module = parse(ir_text)
        optimise(module, self.machine)
        copy_no_ends(module)
        return emit_native(module, self.machine)


def _float_bits(builder: ir.IRBuilder, value: ir.Value, spec: str) -> tuple[bytes, ir.Value]:
    """How the bits of a float get into a printed line."""
    if value.type == F32:
        return FLOAT_MARKS[32] + b"%08x", builder.bitcast(value, I32)
    begin = FORMAT_MARK + spec.encode() if spec else b""
    return begin + FLOAT_MARKS[64] + b"%016llx", builder.bitcast(value, I64)


def declare_variadic(module: ir.Module, name: str, parameters: Sequence[ir.Type]) -> ir.Function:
    """``int name(parameters, ...)``."""
    found = module.globals.get(name)
    if found is None:
        found = ir.Function(module, ir.FunctionType(I32, parameters, var_arg=True), name)
    return found
