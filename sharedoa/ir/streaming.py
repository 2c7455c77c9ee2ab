"""Which methods do the same few loads and stores for every object, so that one thread may as well
do them for several neighbours at once."""

from __future__ import annotations

from .core import Operation, Program, Value, constant_of, operations_in, root_of, unconverted
from .operations import Effects, kind_of

_MOST_OPERATIONS = 110
"""Of a short method with all that it calls. Several times as many could need more registers than
leave room for enough threads."""
_ACCEPTED = Effects.READS | Effects.WRITES | Effects.ASKS_THREAD | Effects.CALLS | Effects.RETURNS


def is_short(program: Program) -> bool:
    """Whether all that the kernel calls is short together."""
    functions = (f for f in program.functions.values() if f is not program.kernel)
    return sum(1 for function in functions for _ in operations_in(function)) <= _MOST_OPERATIONS


def is_streaming(program: Program, symbol: str) -> bool:
    """Whether method ``symbol`` of the program, with all that it calls, runs the same operations
    for every object, without branches or calls through a class, and stores to nothing but fields of
    its receiver, which it reads in no other way. Then the loads of one object do not wait for the
    stores of another one.
    """
    reader = _Reader(program)
    fits = reader.read(symbol, of_receiver=True)
    return fits and not reader.stored & reader.read_elsewhere


class _Reader:
    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._open: set[str] = set()
        #: Names of fields that are stored to in the receiver, or read in other objects.
        self.stored: set[str] = set()
        self.read_elsewhere: set[str] = set()

    def read(self, symbol: str, of_receiver: bool) -> bool:
        """Look at a function and all that it calls; whether nothing speaks against it."""
        if symbol in self._open:
            return False  # it calls itself
        function = self._functions[symbol]
        receiver = function.parameters[0] if of_receiver else None
        self._open.add(symbol)
        fits = all(self._fits(operation, receiver) for operation in function.body.operations)
        self._open.remove(symbol)
        return fits

    def _fits(self, operation: Operation, receiver: Value | None) -> bool:
        kind = kind_of(operation)
        if kind is None or kind.effects & ~_ACCEPTED or operation.regions:
            return False
        if kind.calls:
            if operation.kind != "call":
                return False
            first = [unconverted(operand) for operand in operation.operands[:1]]
            return self.read(operation["symbol"], first == [receiver])
        if Effects.READS in kind.effects:
            return operation.kind == "load"
        if operation.kind == "inline_element" and constant_of(operation.operands[1]) is None:
            return False  # who knows which of two elements are the same
        if Effects.WRITES in kind.effects:
            field = root_of(operation.operands[1]) if operation.kind == "store" else None
            if field is None or field.kind != "field":
                return False
            self.stored.add(field["name"])
        if operation.kind == "field" and unconverted(operation.operands[0]) is not receiver:
            self.read_elsewhere.add(operation["name"])
        return True
