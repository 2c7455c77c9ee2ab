"""Kernels that the backends themselves are in need of, written in LLVM IR for any target."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from dispatch.dataclass import dataclass

from ..forks import renew_in_child
from ..targets.base import I64, VOID, Target
from ..uninterrupted import uninterrupted
from . import native_code
from .base import KernelLaunch

if TYPE_CHECKING:
    from .base import Backend, Slots

#: Given the builder, the kernel's leaves and the thread's number.
EmitBody = Callable[[ir.IRBuilder, list[ir.Value], ir.Value], None]

#: Given the builder and a number.
ForOne = Callable[[ir.IRBuilder, ir.Value], None]

_BLOCK = (256, 1)
_STARTS_KEPT = 256


def for_each(
    builder: ir.IRBuilder,
    first: ir.Value,
    stop: ir.Value,
    emit_body: ForOne,
    step: ir.Value | None = None,
) -> None:
    """A loop over the numbers from ``first`` on that are below ``stop``: every one, or those that
    are ``step`` apart. All are unsigned, of one type."""
    entry = builder.block
    test, work, done = (builder.append_basic_block(name) for name in ("test", "work", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    number = builder.phi(first.type)
    number.add_incoming(first, entry)
    builder.cbranch(builder.icmp_unsigned("<", number, stop), work, done)
    builder.position_at_end(work)
    emit_body(builder, number)
    number.add_incoming(builder.add(number, step or first.type(1)), builder.block)
    builder.branch(test)
    builder.position_at_end(done)


@dataclass(frozen=True)
class OwnKernel:
    """A kernel whose ``leaves`` parameters are all i64."""

    symbol: str
    leaves: int
    emit_body: EmitBody

    def ir_text(self, target: Target) -> str:
        """The kernel with its entry, as LLVM text."""
        module = target.new_module(self.symbol)
        parameters = [I64] * self.leaves
        body = ir.Function(
            module, ir.FunctionType(VOID, [*parameters, *[I64] * 4]), f"{self.symbol}.body"
        )
        body.linkage = "internal"
        body.attributes.add("alwaysinline")
        builder = ir.IRBuilder(body.append_basic_block("entry"))
        self.emit_body(builder, list(body.args[: self.leaves]), body.args[self.leaves])
        builder.ret_void()
        target.emit_entry(module, self.symbol, body, parameters, False, False)
        return str(module)


class OwnKernels:
    """Compiles such kernels for a backend at their first use, or finds what an earlier process made
    of them, and launches them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._loaded: dict[str, tuple[Any, Slots]] = {}
        #: Of who compiles: another thread that needs the same waits.
        self._lock = renew_in_child(threading.Lock())
        #: What starts so many threads of a kernel, with what its slots hold.
        self._starts: dict[tuple[str, int], Callable[[], None]] = {}

    def is_loaded(self, kernel: OwnKernel) -> bool:
        return kernel.symbol in self._loaded

    def load(self, kernel: OwnKernel) -> tuple[Any, Slots]:
        """The kernel made ready, and the slots that its launches share."""
        if not self.is_loaded(kernel):
            with self._lock:
                if not self.is_loaded(kernel):
                    self._loaded[kernel.symbol] = self._made(kernel)
        return self._loaded[kernel.symbol]

    def _made(self, kernel: OwnKernel) -> tuple[Any, Slots]:
        target = self._backend.target
        # An exception between two steps of llvmlite would leave LLVM's objects with two owners.
        with uninterrupted:
            write = partial(kernel.ir_text, target)
            stages = native_code.keep_own(target, kernel.symbol, write)
        handle = self._backend.load(kernel.symbol, stages, False, False)
        return handle, (ctypes.c_uint64 * kernel.leaves)()

    def launch(self, kernel: OwnKernel, threads: int, leaves: Sequence[int]) -> None:
        """Run ``threads`` threads; returns at once where the backend can."""
        if threads == 0:
            return
        handle, slots = self.load(kernel)
        slots[: kernel.leaves] = list(leaves)
        start = self._starts.get((kernel.symbol, threads))
        if start is None:
            launch = self._of(handle, kernel, threads, slots)
            if len(self._starts) >= _STARTS_KEPT:
                self._starts.clear()
            start = self._starts[kernel.symbol, threads] = self._backend.prepare(launch)
        start()

    def prepared(self, kernel: OwnKernel, threads: int, leaves: Sequence[int]) -> KernelLaunch:
        """A launch with slots of its own, for the backend to record."""
        handle, _ = self.load(kernel)
        return self._of(handle, kernel, threads, (ctypes.c_uint64 * kernel.leaves)(*leaves))

    def _of(self, handle: Any, kernel: OwnKernel, threads: int, slots: Slots) -> KernelLaunch:
        many = threads, 1
        block = self._backend.usual_block(many, _BLOCK)
        return KernelLaunch(handle, many, block, slots, kernel.leaves, is_timed=False)

    def close(self) -> None:
        """Give the loaded code back."""
        self._starts.clear()
        self._loaded.clear()
