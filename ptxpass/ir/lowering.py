"""Writes virtual calls and type tests as the mode has them, where code generation comes to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

from dispatch.identify import IDENTIFICATIONS
from dispatch.invoke import INVOCATIONS
from dispatch.mode import Mode
from dispatch.range_table import NO_TYPE

from .emitter import I32, IrEmitter
from .sites import Environment, Site, VirtualCall
from .tables import FunctionTables


class Lowering:
    """The code of the virtual calls and type tests of one module. ``calls`` are all that there will
    be, so that the tables have their shape before the first one."""

    def __init__(
        self, module: ir.Module, mode: Mode, environment: Environment, calls: Iterable[VirtualCall]
    ) -> None:
        self._mode = mode
        self._environment = environment
        self._tables = FunctionTables(module, calls, environment.object_space)

    def call(self, builder: ir.IRBuilder, call: VirtualCall, arguments: Sequence[Any]) -> Any:
        """The result of a call at ``builder``, None if it has none; the receiver comes first among
        the arguments."""
        emitter = self._emitter(builder, call, arguments)
        return emitter.finish(self._emit_call(emitter, call, arguments[0]))

    def type_index(self, builder: ir.IRBuilder, site: Site, reference: Any) -> Any:
        """i32: the type index of an object."""
        return self._emit_type_index(self._emitter(builder, site, [reference]), site, reference)

    def complete(self) -> None:
        """Fill the tables; no call follows.

        Raises LoweringError if the module has no function of a candidate's symbol.
        """
        self._tables.complete()

    def _emitter(self, builder: ir.IRBuilder, site: Site, arguments: Sequence[Any]) -> IrEmitter:
        return IrEmitter(builder, site, arguments, self._mode, self._environment, self._tables)

    def _emit_call(self, emitter: IrEmitter, call: VirtualCall, receiver: Any) -> Any:
        if not call.candidates:
            return emitter.refuse()
        if call.identify is None:
            if emitter.debug:
                strategy = IDENTIFICATIONS[self._mode.identify]
                type_index = strategy.emit_type_index(emitter, receiver, call.candidates)
                emitter.require_type(type_index, call.candidates)
            return emitter.call_directly(call.candidates[0].symbol)
        return INVOCATIONS[self._mode.invoke].emit_call(
            emitter, IDENTIFICATIONS[call.identify], receiver, call.slot, call.candidates
        )

    def _emit_type_index(self, emitter: IrEmitter, site: Site, reference: Any) -> Any:
        if site.identify is None:
            return I32(site.candidates[0].type_index if site.candidates else NO_TYPE)
        strategy = IDENTIFICATIONS[site.identify]
        return strategy.emit_type_index(emitter, reference, site.candidates)
