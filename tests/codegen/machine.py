"""Runs hand-made programs on the host, without a heap.

Virtual calls have their canonical form if nothing else is asked for, in which references are
checked here. Every program is also lowered and verified for both GPU targets.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import binding as llvm

from dispatch import state
from dispatch.births import LIVED
from dispatch.check import CHECK_REFERENCE
from dispatch.errors import RECORD_DTYPE
from dispatch.mode import parse_mode
from dispatch.registry import PLACE_BYTES, stored_registry
from sharedoa.backends.kernel_print import printed_text
from sharedoa.codegen import LoweredModule, lower
from sharedoa.codegen.abi import SLOT_BYTES
from sharedoa.frontend import tree
from sharedoa.frontend.to_ir import to_ir
from sharedoa.ir.job import Job
from sharedoa.ir.pipeline import optimised
from sharedoa.model.layout import Layout
from sharedoa.model.reference import ReferenceEncoding
from sharedoa.targets.amdgpu import AmdgpuTarget
from sharedoa.targets.base import Target
from sharedoa.targets.host import PRINT_SYMBOL, HostTarget
from sharedoa.targets.nvptx import NvptxTarget
from sharedoa.targets.optimise import parse

from . import objects

HOST, NVPTX, AMDGPU = HostTarget(), NvptxTarget(), AmdgpuTarget()
PRINTED: list[str] = []

_CALLBACKS = {
    CHECK_REFERENCE: ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(objects.check_reference),
    PRINT_SYMBOL: ctypes.CFUNCTYPE(None, ctypes.c_char_p)(
        lambda text: PRINTED.append(printed_text(text))
    ),
}
for symbol, callback in _CALLBACKS.items():
    llvm.add_symbol(symbol, ctypes.cast(callback, ctypes.c_void_p).value)
_ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4, ctypes.c_void_p)


def lower_for(
    target: Target,
    program: tree.Program,
    debug: bool = False,
    layout: Layout = objects.LAYOUT,
    encoding: ReferenceEncoding = objects.PLAIN,
    mode: str = "cuda",
    canonical: bool = False,
) -> LoweredModule:
    job = Job("test", to_ir(program), target, layout, encoding, parse_mode(mode), debug)
    return lower(optimised(job), job, canonical)


class Kernel:
    """A program compiled for the host; ``launch`` runs it and keeps the error record.

    ``rewritten``: virtual calls are as the mode has them.
    """

    def __init__(
        self,
        program: tree.Program,
        *,
        debug: bool = False,
        rewritten: bool = False,
        mode: str = "cuda",
        layout: Layout = objects.LAYOUT,
        encoding: ReferenceEncoding = objects.PLAIN,
        gpus: Sequence[Target] = (NVPTX, AMDGPU),
    ) -> None:
        for target in (*gpus, HOST):
            self.lowered = lower_for(
                target, program, debug, layout, encoding, mode, canonical=not rewritten
            )
            parse(str(self.lowered.module))
        self._encoding = encoding
        self._load(HOST.compile(str(self.lowered.module))["o"])
        self.error = np.zeros(1, RECORD_DTYPE)
        self.record_address = int(self.error.ctypes.data)

    def _load(self, code: str | bytes) -> None:
        machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic")
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self._entry = _ENTRY(self._engine.get_function_address(self.lowered.kernel_symbol))

    def _fill_state(self) -> None:
        """What the runtime tells a module before a launch."""
        addresses = np.array(sorted(objects.LIVE), np.uint64)
        types = np.array([objects.LIVE[int(each)].type_index for each in addresses], np.uint32)
        self._registry = np.zeros(len(addresses) * PLACE_BYTES, np.uint8)
        stored_registry(self._registry, addresses, types, np.full(len(types), LIVED, np.uint8))
        block = self._engine.get_global_value_address(state.SYMBOL)
        words = (ctypes.c_int64 * state.WORDS).from_address(block)
        words[state.ERRORS] = self.record_address
        words[state.REGISTRY] = self._registry.ctypes.data
        words[state.REGISTRY_SIZE] = len(addresses)
        words[state.THREAD_X] = words[state.THREAD_Y] = -1
        words[state.REFERENCE_BASE] = self._encoding.base

    def launch(self, threads: int, *arguments: Any) -> None:
        """Run with one value per leaf; a NumPy array gives its address and length."""
        self.error[:] = np.zeros(1, RECORD_DTYPE)
        self._fill_state()
        values: list[Any] = []
        for argument in arguments:
            is_array = isinstance(argument, np.ndarray)
            values += [argument.ctypes.data, len(argument)] if is_array else [argument]
        leaves = self.lowered.leaves
        slots = np.zeros((len(leaves) + 2, SLOT_BYTES), np.uint8)
        for slot, leaf, value in zip(slots, leaves, values, strict=False):
            slot[: leaf.dtype.itemsize].view(leaf.dtype)[0] = value
        assert len(values) == len(leaves)
        self._entry(0, threads, threads, 1, slots.ctypes.data)

    @property
    def error_code(self) -> int:
        """The code in the error record, 0 if nothing was reported."""
        return int(self.error["code"][0]) if self.error["flag"][0] else 0
