"""Lists that are made in loops: each round uses the memory of the round before, so nothing may
refer to that round's list any more when the next one is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import CompileError, Diagnostic
from ..ir.core import Function, Operation, Program, Region, Value, operations_in
from ..ir.operations import kind_of
from ..ir.passes.unused import remove_unused
from ..ir.rewrite import copy_program, uses_in
from ..model.types import ListType, TupleType


def check_lists(program: Program) -> None:
    """Raise CompileError for a list that may be referred to when another round makes it anew."""
    if not any(operation.kind == "list" for operation in operations_in(program)):
        return
    needed = copy_program(program)
    remove_unused(needed, False)  # what loops carry for nobody is referred to by nobody
    found = [each for function in needed.functions.values() for each in _kept(function)]
    if found:
        raise CompileError(
            [
                Diagnostic(
                    "this list is made anew in each round, and the one of a round before is used",
                    operation.location,
                    "make the lists before the loop, and fill them in it",
                )
                for operation in found
            ]
        )


def _kept(function: Function) -> Iterator[Operation]:
    """The lists of earlier rounds that something refers to."""
    flows = _flows(function)
    used = uses_in(function)
    for made, loops in _lists_in(function.body, []):
        reached = _reached(made.result, flows)
        carried = [
            argument
            for loop in loops
            for region in loop.regions[:-1]
            for argument in region.arguments
        ]
        if any(argument in reached and used.get(argument) for argument in carried):
            yield made


_Made = tuple[Operation, list[Operation]]


def _lists_in(region: Region, loops: list[Operation]) -> Iterator[_Made]:
    """Each list that is made in a loop, and the loops around it."""
    for operation in region.operations:
        if operation.kind == "list" and loops:
            yield operation, loops
        kind = kind_of(operation)
        for inner in operation.regions:
            is_body = kind is not None and kind.is_loop and inner is not operation.regions[-1]
            yield from _lists_in(inner, [*loops, operation] if is_body else loops)


def _flows(function: Function) -> dict[Value, list[Value]]:
    """What values are handed on to: by operations without regions to their results, by terminators
    and loops to arguments and results."""
    found: dict[Value, list[Value]] = {}

    def give(sources: list[Value], targets: list[Value]) -> None:
        count = min(len(sources), len(targets))
        for source, target in zip(sources[len(sources) - count :], targets, strict=False):
            if _holds_lists(target.type):
                found.setdefault(source, []).append(target)

    def visit(region: Region, holder: Operation | None, loop: Operation | None) -> None:
        for operation in region.operations:
            kind = kind_of(operation)
            if kind is not None and kind.is_terminator:
                target = loop if operation.kind in ("continue", "break", "condition") else holder
                if target is not None:
                    give(operation.operands, target.results)
                    is_next = operation.kind in ("continue", "condition")
                    for each in target.regions if is_next else ():
                        give(operation.operands, each.arguments[-len(target.results) :])
                continue
            for result in () if operation.regions else operation.results:
                for operand in operation.operands if _holds_lists(result.type) else ():
                    found.setdefault(operand, []).append(result)
            is_loop = kind is not None and kind.is_loop
            for inner in operation.regions:
                if is_loop and operation.results:
                    give(operation.operands, inner.arguments[-len(operation.results) :])
                is_body = is_loop and inner is not operation.regions[-1]
                visit(inner, operation, operation if is_body else loop)

    visit(function.body, None, None)
    return found


def _holds_lists(type: Any) -> bool:
    if isinstance(type, TupleType):
        return any(map(_holds_lists, type.items))
    return isinstance(type, ListType)


def _reached(value: Value, flows: dict[Value, list[Value]]) -> set[Value]:
    """Whatever may be the list, or is computed from it."""
    reached, pending = {value}, [value]
    while pending:
        for each in flows.get(pending.pop(), ()):
            if each not in reached:
                reached.add(each)
                pending.append(each)
    return reached
