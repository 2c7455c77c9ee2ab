"""Objects that are called slot by slot end by a byte that is known.

Where a thread for each slot has looked at the byte that says whether an object lives there
(``runtime.slot_calls``), a method that deletes its receiver need not find that byte: it is copied
with two more parameters, the region's bytes and the slot. That the object lived when the launch
began is known, too.

    kernel @k(%objects, %bytes) {                    kernel @k(%objects, %bytes) {
      %o = run_element %objects, %i                    %o = run_element %objects, %i
      call %o <symbol = "f"> }                  ->     call %o, %bytes, %i <symbol = "f.own"> }
    method @f(%self) { delete %self }                method @f.own(%self, %bytes, %slot) {
                                                       delete %self, %bytes, %slot }
"""

from __future__ import annotations

from ...model.scalars import live_byte, weak_int
from ...model.types import ArrayType
from ..core import Function, Operation, Program, Value, operations_in, unconverted
from ..rewrite import copy_function

_BYTES = ArrayType(live_byte)


def bytes_of_stretches(program: Program) -> dict[Value, Value]:
    """Which of a kernel's parameters are the bytes of which stretch of objects."""
    parameters = program.kernel.parameters
    bytes = [each for each in parameters if each.type == _BYTES]
    # The objects of each stretch come first, in the same order.
    return dict(zip(parameters, bytes, strict=False))


def end_by_own_bytes(program: Program) -> None:
    bytes_of = bytes_of_stretches(program)
    copies = _Copies(program)
    for call in [*operations_in(program.kernel)] if bytes_of else ():
        object = unconverted(call.operands[0]).source if call.kind == "call" else None
        if object is not None and object.kind == "run_element":
            array, slot = object.operands
            if array in bytes_of:
                copies.call(call, bytes_of[array], slot)


class _Copies:
    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._enders = _ending_themselves(program)

    def call(self, call: Operation, bytes: Value, slot: Value) -> None:
        """A call whose receiver has that slot."""
        if call["symbol"] in self._enders:
            call.attributes["symbol"] = self._copy(call["symbol"])
            call.operands += [bytes, slot]

    def _copy(self, symbol: str) -> str:
        name = f"{symbol}.own"
        if name in self._functions:
            return name
        made = self._functions[name] = copy_function(self._functions[symbol], name)
        bytes, slot = Value(_BYTES, "bytes"), Value(weak_int, "slot")
        made.body.arguments += [bytes, slot]
        for operation in operations_in(made):
            if operation.kind == "call" and _takes_receiver(operation, made):
                self.call(operation, bytes, slot)
            elif operation.kind == "delete" and _takes_receiver(operation, made):
                operation.operands += [bytes, slot]
        return name


def _takes_receiver(operation: Operation, function: Function) -> bool:
    """Whether the first operand is the first parameter."""
    operands, parameters = operation.operands, function.parameters
    return bool(operands and parameters) and unconverted(operands[0]) is parameters[0]


def _ending_themselves(program: Program) -> set[str]:
    """The functions that may delete their first parameter, themselves or by what they call."""
    found: set[str] = set()
    while True:
        before = len(found)
        for symbol, function in program.functions.items():
            if symbol not in found and any(
                each.kind == "delete" or each.attributes.get("symbol") in found
                for each in operations_in(function)
                if _takes_receiver(each, function)
            ):
                found.add(symbol)
        if len(found) == before:
            return found
