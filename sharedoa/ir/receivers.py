"""Takes classes away from virtual calls on ``self`` that it never is in this program.

A method that several classes inherit calls others on ``self``. Where only some of the classes reach
it, as in a launch over the objects of one class, its calls cannot run what the others have instead,
and what those would do, such as make objects, does not count.
"""

from __future__ import annotations

from collections import defaultdict

from ..model.classes import ClassType
from ..model.types import ReferenceType
from .core import Candidate, Function, Operation, Program, operations_in, unconverted
from .passes.calls import is_known
from .passes.uncalled import drop_uncalled


def narrow_receivers(program: Program) -> None:
    """Keep the candidates of calls on ``self`` that its methods' callers allow."""
    if not all(map(is_known, operations_in(program))):
        return
    known = _Receivers(program).classes
    for symbol, classes in known.items():
        function = program.functions[symbol]
        for operation in _calls_on_self(function):
            operation.attributes["candidates"] = _allowed(operation, classes)
    drop_uncalled(program, keeps_gradients=True)


class _Receivers:
    """Of each method that the kernel reaches, the ``classes`` whose objects it is called on, with
    those below them."""

    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self.classes: defaultdict[str, set[ClassType]] = defaultdict(set)
        self._reached = {program.kernel.symbol}
        self._pending = [program.kernel]
        while self._pending:
            self._look(self._pending.pop())

    def _look(self, function: Function) -> None:
        for operation in operations_in(function):
            if operation.kind == "call":
                callee = self._functions[operation["symbol"]]
                self._reach(callee, self._of_receiver(function, operation, callee))
            elif operation.kind == "call_virtual":
                classes = self._of_receiver(function, operation, None)
                for each in _allowed(operation, classes):
                    self._reach(self._functions[each.symbol], {each.cls})

    def _of_receiver(
        self, function: Function, call: Operation, callee: Function | None
    ) -> set[ClassType]:
        """The classes of the object that a method is called on; none for other functions."""
        if callee is not None and callee.owner is None:
            return set()
        receiver = unconverted(call.operands[0])
        if _is_self(function, receiver):
            return self.classes[function.symbol]
        assert isinstance(receiver.type, ReferenceType)
        return {receiver.type.cls}

    def _reach(self, function: Function, classes: set[ClassType]) -> None:
        known = self.classes[function.symbol]
        if function.symbol in self._reached and classes <= known:
            return
        known |= classes
        self._reached.add(function.symbol)
        self._pending.append(function)


def _calls_on_self(function: Function) -> list[Operation]:
    return [
        each
        for each in operations_in(function)
        if each.kind == "call_virtual" and _is_self(function, unconverted(each.operands[0]))
    ]


def _is_self(function: Function, value: object) -> bool:
    return function.owner is not None and value is function.parameters[0]


def _allowed(call: Operation, classes: set[ClassType]) -> tuple[Candidate, ...]:
    """The candidates of these classes and those below them; all, if it seems that there are none:
    then the call is not reached, or ``self`` was taken for what it is not."""
    every: tuple[Candidate, ...] = call["candidates"]
    allowed = [each for each in every if any(each.cls.is_subclass_of(cls) for cls in classes)]
    return tuple(allowed) or every
