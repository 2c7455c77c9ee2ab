"""Which adjoints no other thread adds to: those of fields that threads reach through their own
object alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core import Program, Value, operations_in, unconverted
from ..origins import own
from ..passes.calls import callees
from ..roles import Role, may_meet
from ..summary import summarize


def own_roles(program: Program, receivers: int) -> Callable[[Role], bool]:
    """Whether what is in a role is reached through the receiver of a method alone that the kernel
    calls on an element of one of its first arrays, so many as there are ``receivers``; each object
    is in them once, and has a thread of its own."""
    found = summarize(program)
    arrays = program.kernel.parameters[:receivers]
    foreign: set[Role] = set()
    for operation in operations_in(program.kernel):
        is_own = operation.kind == "call" and (
            array_with(operation.operands[0], arrays) is not None
        )
        for symbol in callees(operation):
            foreign.update(
                access.role
                for access in found[symbol].accesses
                if not (is_own and access.via == own(0))
            )
    called = {symbol for each in operations_in(program.kernel) for symbol in callees(each)}
    through = {role for symbol in called for _, role, _ in found[symbol].accesses}
    of_kernel = found[program.kernel.symbol].accesses
    foreign.update(access.role for access in of_kernel if access.role not in through)
    return lambda role: not any(may_meet(role, each) for each in foreign)


def array_with(receiver: Value, arrays: Sequence[Value]) -> Value | None:
    """That of the arrays of which an object is loaded; None if it comes from elsewhere."""
    source = unconverted(receiver).source
    place = None if source is None or source.kind != "load" else source.operands[0].source
    if place is None or place.kind != "element" or place.operands[0] not in arrays:
        return None
    return place.operands[0]
