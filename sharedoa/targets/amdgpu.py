"""AMD GPUs: assembly and a relocatable object for the HIP loader. Compiled and checked, not run.

Math functions are calls of ``__ocml_*``, which ROCm's device libraries define.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir

from dispatch import state

from ..errors import BackendError
from .base import I8, I16, I32, I64, VOID, PrintPiece, Stages, declare
from .gpu_entry import emit_gpu_entry
from .mathematics import emit_exact, emit_library_call, width_suffix
from .optimise import emit_native, optimise, parse

TRIPLE = "amdgcn-amd-amdhsa"
DEFAULT_ARCHITECTURE = "gfx90a"
_AXES = ("x", "y")
_DISPATCH_SPACE = 4
_WORKGROUP_SIZE_OFFSET = 4
"""Bytes from the start of hsa_kernel_dispatch_packet_t to workgroup_size_x, then y, u16 each."""


class AmdgpuTarget:
    """GCN code for one architecture."""

    name = "amdgpu"
    object_space = 1
    constant_space = 1
    is_device = True

    def __init__(self, architecture: str = DEFAULT_ARCHITECTURE) -> None:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        self.architecture = architecture

    @cached_property
    def machine(self) -> Any:
        """LLVM's target machine."""
        target = llvm.Target.from_triple(TRIPLE)
        return target.create_target_machine(cpu=self.architecture, opt=3, reloc="pic")

    @property
    def fingerprint(self) -> str:
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"amdgpu {self.architecture} llvm {version}"

    def new_module(self, name: str) -> ir.Module:
        module = ir.Module(name)
        module.triple = TRIPLE
        module.data_layout = str(self.machine.target_data)
        return module

    def emit_entry(
        self,
        module: ir.Module,
        symbol: str,
        body: ir.Function,
        leaf_types: Sequence[ir.Type],
        debug: bool,
        uses_barrier: bool,
    ) -> None:
        state.state_block(module, self.constant_space)
        emit_gpu_entry(module, symbol, body, leaf_types, "amdgpu_kernel", self._thread_index)

    def _thread_index(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        group, thread = (
            builder.call(
                declare(builder.module, f"llvm.amdgcn.{name}.id.{_AXES[axis]}", I32, []), []
            )
            for name in ("workgroup", "workitem")
        )
        packet_type = ir.PointerType(None, _DISPATCH_SPACE)
        packet = builder.call(
            declare(builder.module, "llvm.amdgcn.dispatch.ptr", packet_type, []), []
        )
        offset = I64(_WORKGROUP_SIZE_OFFSET + 2 * axis)
        place = builder.gep(packet, [offset], source_etype=I8)
        size = builder.zext(builder.load(place, typ=I16), I32)
        return builder.add(builder.mul(group, size), thread)

    def emit_current_thread(self, builder: ir.IRBuilder, axis: int) -> ir.Value:
        return builder.zext(self._thread_index(builder, axis), I64)

    def emit_barrier(self, builder: ir.IRBuilder) -> None:
        symbol = "llvm.amdgcn.s.barrier"
        builder.fence("seq_cst", "workgroup")
        builder.call(declare(builder.module, symbol, VOID, [], "convergent"), [])
        builder.fence("seq_cst", "workgroup")

    def emit_math(
        self, builder: ir.IRBuilder, name: str, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        exact = emit_exact(builder, name, arguments)
        if exact is not None:
            return exact
        symbol = f"__ocml_{name}_{width_suffix(arguments[0].type)}"
        return emit_library_call(builder, symbol, arguments)

    def emit_print(self, builder: ir.IRBuilder, pieces: Sequence[PrintPiece]) -> None:
        raise BackendError(
            "print is not available in kernels for AMD GPUs",
            "remove the print, or run the kernel with SHAREDOA_BACKEND=cpu to debug it",
        )

    def compile(self, ir_text: str) -> Stages:
        module = parse(ir_text)
        optimise(module, self.machine)
        return {"opt.ll": str(module), **emit_native(module, self.machine)}
