"""AMD GPUs: a relocatable object, of which ``rocm`` makes what HIP loads. Not run on hardware yet.

Math functions are calls of ``__ocml_*``, which ROCm's device libraries define.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..errors import BackendError
from . import ocml
from .base import I8, I16, I32, I64, VOID, PrintPiece, Stages, declare
from .gpu import AXES, GpuTarget
from .mathematics import LIBRARY_NAMES, emit_exact, emit_library_call, width_suffix
from .optimise import emit_native, optimise, parse

TRIPLE = "amdgcn-amd-amdhsa"
DEFAULT_ARCHITECTURE = "gfx90a"
_DISPATCH_SPACE = 4
_FIRST_OF_32_LANES = 10
"""RDNA."""
_WORKGROUP_SIZE_OFFSET = 4
"""Bytes from the start of hsa_kernel_dispatch_packet_t to workgroup_size_x, then y, u16 each."""


class AmdgpuTarget(GpuTarget):
    """GCN code for one architecture."""

    name = "amdgpu"
    triple = TRIPLE
    kernel_convention = "amdgpu_kernel"
    relocation = "pic"
    constant_space = 1
    device_scope = "agent"

    def __init__(self, architecture: str = DEFAULT_ARCHITECTURE) -> None:
        super().__init__(architecture)

    def libraries(self, ir_text: str) -> str:
        return f"ocml {ocml.fingerprint()}" if ocml.used_functions(ir_text) else ""

    @property
    def lanes(self) -> int:
        # The last two characters are minor version and stepping.
        return 64 if int(self.architecture[3:-2]) < _FIRST_OF_32_LANES else 32

    def emit_lane(self, builder: ir.IRBuilder) -> ir.Value:
        lane = I32(0)
        for half in ("lo", "hi"):
            count = declare(builder.module, f"llvm.amdgcn.mbcnt.{half}", I32, [I32, I32])
            lane = builder.call(count, [I32(-1), lane])
        return lane

    def emit_position(
        self, builder: ir.IRBuilder, axis: int
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        group, thread = (
            builder.call(
                declare(builder.module, f"llvm.amdgcn.{name}.id.{AXES[axis]}", I32, []), []
            )
            for name in ("workgroup", "workitem")
        )
        packet_type = ir.PointerType(None, _DISPATCH_SPACE)
        packet = builder.call(
            declare(builder.module, "llvm.amdgcn.dispatch.ptr", packet_type, []), []
        )
        offset = I64(_WORKGROUP_SIZE_OFFSET + 2 * axis)
        place = builder.gep(packet, [offset], source_etype=I8)
        return group, builder.zext(builder.load(place, typ=I16), I32), thread

    def describe_block(self, entry: ir.Function, threads: int) -> None:
        # Of a thousand threads, which it expects otherwise, each gets fewer registers.
        # ``add`` of llvmlite's class of sets takes LLVM's own attributes alone.
        set.add(entry.attributes, f'"amdgpu-flat-work-group-size"="{threads},{threads}"')

    def emit_barrier(self, builder: ir.IRBuilder) -> None:
        symbol = "llvm.amdgcn.s.barrier"
        builder.fence("seq_cst", "workgroup")
        builder.call(declare(builder.module, symbol, VOID, [], "convergent"), [])
        builder.fence("seq_cst", "workgroup")

    def emit_math(
        self,
        builder: ir.IRBuilder,
        name: str,
        arguments: Sequence[ir.Value],
        fast: bool = False,
    ) -> ir.Value:
        exact = emit_exact(builder, name, arguments, fast)
        if exact is not None:
            return exact
        symbol = f"{ocml.PREFIX}{LIBRARY_NAMES.get(name, name)}_{width_suffix(arguments[0].type)}"
        return emit_library_call(builder, symbol, arguments)

    def emit_print(self, builder: ir.IRBuilder, pieces: Sequence[PrintPiece]) -> None:
        raise BackendError(
            "print is not available in kernels for AMD GPUs",
            "remove the print, or run the kernel with SHAREDOA_BACKEND=cpu to debug it",
        )

    def compile(self, ir_text: str) -> Stages:
        module = parse(ir_text)
        names = ocml.used_functions(ir_text)
        ocml.link(module, names, self.architecture, self.lanes, self.machine)
        optimise(module, self.machine)
        return emit_native(module, self.machine)
