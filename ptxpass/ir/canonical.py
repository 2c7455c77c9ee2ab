"""The canonical form of virtual calls and type tests: what they mean, before a mode makes anything
of them. It is there to be looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir

from dispatch.dataclass import replace
from dispatch.header_format import VTABLE_POINTER
from dispatch.identify import IDENTIFICATIONS
from dispatch.invoke import INVOCATIONS
from dispatch.mode import Mode

from .decision import HEADER
from .emitter import I32, I64, IrEmitter
from .lowering import Lowering
from .sites import Environment, Site, VirtualCall

TYPE_INDEX = "sharedoa_type_index"


class Canonical(Lowering):
    """As C++ has it, where objects have a vtable pointer. In other modes there is no such form:
    calls and type tests are calls of functions that nobody defines."""

    def __init__(
        self, module: ir.Module, mode: Mode, environment: Environment, calls: Iterable[VirtualCall]
    ) -> None:
        super().__init__(module, mode, replace(environment, debug=False), calls)
        self._module = module
        self._has_pointers = mode.header == VTABLE_POINTER

    def _emit_call(self, emitter: IrEmitter, call: VirtualCall, receiver: Any) -> Any:
        if not self._has_pointers:
            name = f"sharedoa_virtual_{call.family}_{call.slot}_{call.method}"
            return emitter.call(self._declared(name, call.signature))
        header = IDENTIFICATIONS[HEADER]
        return INVOCATIONS["vtable"].emit_call(
            emitter, header, receiver, call.slot, call.candidates
        )

    def _emit_type_index(self, emitter: IrEmitter, site: Site, reference: Any) -> Any:
        if not self._has_pointers:
            return emitter.call(self._declared(TYPE_INDEX, ir.FunctionType(I32, [I64])))
        return IDENTIFICATIONS[HEADER].emit_type_index(emitter, reference, site.candidates)

    def _declared(self, name: str, type: ir.FunctionType) -> ir.Function:
        found = self._module.globals.get(name)
        if found is not None and found.function_type == type:
            return found
        return ir.Function(self._module, type, self._module.get_unique_name(name))
