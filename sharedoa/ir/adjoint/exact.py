"""Methods once for each class whose objects they are called on, where a kernel knows that class.

A method that several classes inherit calls others on ``self`` by its class. Made anew for objects
of one class it calls them directly; small ones then stand where they are called (``inlined``), and
what they gave is computed again on the way back instead of kept.
"""

from __future__ import annotations

from ...model.classes import ClassType
from ...model.types import ArrayType, ReferenceType
from ..core import Candidate, Function, Operation, Program, Region, Value, unconverted
from ..passes.uncalled import drop_uncalled
from ..rewrite import copy_function, make
from .ownership import array_with


def specialise_by_class(program: Program, receivers: int) -> None:
    """Of a kernel whose first parameters, so many as there are ``receivers``, are arrays with
    objects of their very class."""
    _Specialised(program, receivers).run()
    drop_uncalled(program, keeps_gradients=True)


class _Specialised:
    def __init__(self, program: Program, receivers: int) -> None:
        self._program = program
        self._arrays = program.kernel.parameters[:receivers]
        #: By symbol and class: the symbol of the method that is made for it.
        self._made: dict[tuple[str, ClassType], str] = {}

    def run(self) -> None:
        self._region(self._program.kernel.body, None, None)

    def _region(self, region: Region, own: Value | None, cls: ClassType | None) -> None:
        """``own``: the receiver of the function, which is of the class ``cls`` itself; None: of
        another one, or there is none."""
        operations: list[Operation] = []
        for operation in region.operations:
            for inner in operation.regions:
                self._region(inner, own, cls)
            if operation.kind in ("call", "call_virtual") and operation.operands:
                self._call(operation, own, cls, operations)
            operations.append(operation)
        region.operations = operations

    def _call(
        self, call: Operation, own: Value | None, cls: ClassType | None, before: list[Operation]
    ) -> None:
        """Let a call run what is made for the class of its receiver, where that is known."""
        receiver = unconverted(call.operands[0])
        known = cls if receiver is own else self._of_element(receiver)
        if known is None:
            return
        if call.kind == "call_virtual":
            candidates: tuple[Candidate, ...] = call["candidates"]
            symbol = next((each.symbol for each in candidates if each.cls is known), None)
            if symbol is None:
                return
            call.kind, call.attributes = "call", {"symbol": symbol}
        called = self._program.functions[call["symbol"]]
        if called.owner is None or not known.is_subclass_of(called.owner):
            return
        call.attributes["symbol"] = self._method(called, known)
        wanted = called.parameters[0].type
        if call.operands[0].type != wanted:
            converted = make("convert", [receiver], call.location, [wanted])
            before.append(converted)
            call.operands[0] = converted.result

    def _of_element(self, value: Value) -> ClassType | None:
        """The class of what is loaded from one of the arrays."""
        array = array_with(value, self._arrays)
        if array is None or not isinstance(array.type, ArrayType):
            return None
        element = array.type.element
        return element.cls if isinstance(element, ReferenceType) else None

    def _method(self, method: Function, cls: ClassType) -> str:
        """The symbol of the method for objects of the class itself."""
        key = method.symbol, cls
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = f"{method.symbol}.of.{cls.type_index}"
            made = copy_function(method, found)
            self._program.functions[found] = made
            self._region(made.body, made.parameters[0], cls)
        return found
