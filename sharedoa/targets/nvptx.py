"""NVIDIA GPUs: PTX text, which the driver or ptxas turns into machine code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from llvmlite import ir

from . import libdevice
from .base import (
    F32,
    F64,
    I1,
    I32,
    I64,
    POINTER,
    VOID,
    PrintPiece,
    Stages,
    c_layout,
    declare,
    print_format,
    private_text,
)
from .block_divisions import divide_in_groups
from .gpu import AXES, GpuTarget
from .mathematics import LIBRARY_NAMES, emit_exact, emit_library_call
from .nvptx_lines import InlinedPlaces, code_in, with_directives_alone
from .nvptx_local_arrays import with_addresses_by_lane
from .nvptx_minima import with_minima_of_three
from .nvptx_root import emit_root
from .nvptx_warp import LEAST_CAPABILITY, NvptxWarp
from .nvptx_zeros import with_signed_zeros
from .optimise import optimise, parse

TRIPLE = "nvptx64-nvidia-cuda"
DEFAULT_ARCHITECTURE = "sm_90"
#: Compute capabilities that LLVM 22 knows, oldest first; a newer device runs the newest one's PTX.
ARCHITECTURES = (
    "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120",
    "sm_121",
)  # fmt: skip


def architecture_for(device: str) -> str:
    """The newest of ``ARCHITECTURES`` whose PTX a device runs that is one of these, or newer."""
    usable = [name for name in ARCHITECTURES if int(name[3:]) <= int(device[3:])]
    return usable[-1] if usable else ARCHITECTURES[0]


class NvptxTarget(GpuTarget):
    """PTX for one compute capability; newer devices run it too."""

    name = "nvptx"
    triple = TRIPLE
    kernel_convention = "ptx_kernel"
    relocation = "default"
    constant_space = 4
    device_scope = "device"

    def __init__(self, architecture: str = DEFAULT_ARCHITECTURE) -> None:
        super().__init__(architecture)

    @cached_property
    def warp(self) -> NvptxWarp | None:
        return NvptxWarp() if int(self.architecture[3:]) >= LEAST_CAPABILITY else None

    def libraries(self, ir_text: str) -> str:
        used = libdevice.used_functions(ir_text)
        return f"libdevice {libdevice.fingerprint()}" if used else ""

    @property
    def lanes(self) -> int:
        return 32

    def emit_lane(self, builder: ir.IRBuilder) -> ir.Value:
        return self._special_register(builder, "laneid")

    def emit_position(
        self, builder: ir.IRBuilder, axis: int
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        block, size, thread = (
            self._special_register(builder, f"{name}.{AXES[axis]}")
            for name in ("ctaid", "ntid", "tid")
        )
        return block, size, thread

    def _special_register(self, builder: ir.IRBuilder, name: str) -> ir.Value:
        symbol = f"llvm.nvvm.read.ptx.sreg.{name}"
        return builder.call(declare(builder.module, symbol, I32, []), [])

    def describe_block(self, entry: ir.Function, threads: int) -> None:
        # ``.maxntid`` and ``.reqntid`` would make ptxas (12.9) drop the bound on registers that the
        # backend gives it: 128 instead of 48, of a kernel that needs many.
        pass

    def emit_barrier(self, builder: ir.IRBuilder) -> None:
        symbol = "llvm.nvvm.barrier0"
        builder.call(declare(builder.module, symbol, VOID, [], "convergent"), [])

    def emit_math(
        self,
        builder: ir.IRBuilder,
        name: str,
        arguments: Sequence[ir.Value],
        fast: bool = False,
    ) -> ir.Value:
        is_single = arguments[0].type == F32
        if name == "sqrt" and is_single and not fast:
            return emit_root(builder, arguments[0])
        exact = emit_exact(builder, name, arguments, fast)
        if exact is not None:
            return exact
        known = LIBRARY_NAMES.get(name, name)
        symbol = libdevice.function_name(known, is_single, fast)
        return emit_library_call(builder, symbol, arguments)

    def emit_print(self, builder: ir.IRBuilder, pieces: Sequence[PrintPiece]) -> None:
        module = builder.module
        format, values = print_format(pieces, lambda *given: _digits(builder, *given))
        # vprintf reads its arguments from memory; every one here is 8 bytes.
        with builder.goto_entry_block():
            buffer = builder.alloca(ir.ArrayType(I64, max(1, len(values))))
        for number, value in enumerate(values):
            place = builder.gep(buffer, [I32(0), I32(number)])
            builder.store(self._print_slot(builder, value), place)
        vprintf = declare(module, "vprintf", I32, [POINTER, POINTER])
        builder.call(vprintf, [self._generic_text(builder, format), buffer])

    def _print_slot(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        if value.type == I1:
            texts = [self._generic_text(builder, word) for word in ("True", "False")]
            return builder.ptrtoint(builder.select(value, *texts), I64)
        return builder.bitcast(value, I64)

    def _generic_text(self, builder: ir.IRBuilder, text: str | bytes) -> ir.Value:
        return builder.addrspacecast(private_text(builder.module, text, space=1), POINTER)

    def compile(self, ir_text: str) -> Stages:
        module = parse(ir_text)
        libdevice.link(module, libdevice.used_functions(ir_text))
        optimise(module, self.machine)
        module = divide_in_groups(module, self.machine)
        text = str(module)
        if "!DICompileUnit(" not in text:
            return {"opt.ll": text, "ptx": self._ptx(module)}
        ptx, places = with_directives_alone(self._ptx(module)), InlinedPlaces(text)
        numbered = with_directives_alone(self._ptx(parse(places.text)))
        # What was read from text may become the same instructions in another order. To say which
        # lines code was made from must not change it.
        is_same = code_in(numbered) == code_in(ptx)
        return {"opt.ll": text, "ptx": places.told(numbered) if is_same else ptx}

    def _ptx(self, module: Any) -> str:
        ptx = with_minima_of_three(with_signed_zeros(self.machine.emit_assembly(module)))
        return with_addresses_by_lane(ptx)


def _digits(builder: ir.IRBuilder, value: ir.Value, spec: str) -> tuple[bytes, ir.Value]:
    """How a float is printed, if no format says it with digits that read back the same; NaN has no
    sign in Python."""
    nan = ir.Constant(value.type, float("nan"))
    value = builder.select(builder.fcmp_unordered("uno", value, value), nan, value)
    if value.type == F32:
        return b"%.9g", builder.fpext(value, F64)
    return c_layout(spec or ".17g"), value
