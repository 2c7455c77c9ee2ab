"""Which adjoints no other thread adds to: those of fields that threads reach through their own
object alone."""

from __future__ import annotations

from collections.abc import Callable

from ..core import Operation, Program, Value, operations_in, unconverted
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
        is_own = operation.kind == "call" and _is_of(operation, arrays)
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


def _is_of(call: Operation, arrays: list[Value]) -> bool:
    """Whether the receiver is an element of one of the arrays."""
    receiver = unconverted(call.operands[0]).source
    if receiver is None or receiver.kind != "load":
        return False
    place = receiver.operands[0].source
    return place is not None and place.kind == "element" and place.operands[0] in arrays
