"""Kernels whose threads may stand in another order within their blocks.

Where threads make objects in turn (``birth_turns``) those of a warp would make some of every class:
they go one way after another, and in each write a few neighbouring bytes. A GPU writes sectors of
32 bytes, and parts of one take it several times as long. So every period-th thread stands side by
side (``targets.gpu``): a warp makes objects of few classes, whose places lie side by side, too.

What a thread does follows from its number, whoever stands beside it. But what else it touches by
its number lies further apart then, so only kernels that do little else are in question.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from .core import Function, Operation, Program, Value, operations_in
from .operations import Effects, kind_of
from .passes.calls import callees

_MOST_LOADS = 8
"""Of a kernel: each reads from as many sectors as a period has threads."""
_HARMLESS = (
    Effects.READS | Effects.ASKS_THREAD | Effects.LIVES | Effects.RETURNS | Effects.REPORTS
    | Effects.RAISES | Effects.CALLS
)  # fmt: skip
"""Loops are not: they read what lies far apart again and again."""


def may_regroup(program: Program) -> bool:
    """Whether some of the threads make objects and others none, or others, and all that is written
    are these objects."""
    kernel = program.kernel
    branches = [each for each in operations_in(kernel) if each.kind == "if"]
    if not any(each.kind == "new" for branch in branches for each in _below(branch)):
        return False
    loads = sum(operation.kind == "load" for operation in operations_in(program))
    return loads <= _MOST_LOADS and _writes_only(program, kernel, frozenset(), {})


def threads_apart(turns: int, block: int, lanes: int) -> int:
    """How far apart in number those are that stand side by side in a warp of so many ``lanes``,
    where kernels are regrouped, as many warps of a ``block`` as there are threads in between."""
    return gcd(turns & -turns, block // lanes) if block % lanes == 0 else 1


def _below(operation: Operation) -> Iterator[Operation]:
    for region in operation.regions:
        yield from operations_in(region)


_Looked = dict[tuple[str, frozenset[Value]], bool]
"""Answers of ``_writes_only`` by function and ``own``; no, as long as nobody knows."""


def _writes_only(
    program: Program, function: Function, own: frozenset[Value], looked: _Looked
) -> bool:
    """Whether nothing is changed but new objects, as those that its parameters ``own`` are, and no
    thread waits for another or does something else that shows who stands beside whom; no, if it
    calls itself."""
    key = function.symbol, own
    if key not in looked:
        looked[key] = False
        looked[key] = all(
            _is_harmless(program, operation, own, looked) for operation in operations_in(function)
        )
    return looked[key]


def _is_harmless(
    program: Program, operation: Operation, own: frozenset[Value], looked: _Looked
) -> bool:
    kind = kind_of(operation)
    if kind is None or operation.kind in ("tile", "print"):
        return False
    if operation.kind == "store":
        return _is_in_new(operation.operands[1], own)
    if kind.effects & ~_HARMLESS:
        return False
    new = [_is_in_new(operand, own) for operand in operation.operands]
    for function in map(program.functions.__getitem__, callees(operation)):
        given = zip(function.parameters, new, strict=False)
        its_own = frozenset(parameter for parameter, is_new in given if is_new)
        if not _writes_only(program, function, its_own, looked):
            return False
    return True


def _is_in_new(value: Value, own: frozenset[Value]) -> bool:
    """Whether it is a new object, or lies in one."""
    source = value.source
    if source is None:
        return value in own
    if source.kind in ("field", "member", "inline_element", "convert"):
        return _is_in_new(source.operands[0], own)
    return source.kind == "new"
