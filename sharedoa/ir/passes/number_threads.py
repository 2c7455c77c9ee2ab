"""Gives every function that makes objects the number of its thread, which says where new ones lie
(``dispatch.births``), and every ``new`` the entry of its class in the birth table.

    method @f(%self) { %o = new <cls = C> }                kernel @k { call %a <symbol = "f"> }
    ->
    method @f(%self, %thread: int)                         kernel @k {
        { %o = new %thread <cls = C, entry = 0> }              %thread = y * nx + x
                                                               call %a, %thread <symbol = "f"> }

What several classes answer has one signature: if one of them makes objects, all get the number.
"""

from __future__ import annotations

from typing import Any

from ...model.scalars import weak_int
from ..births import births_of, makers_in
from ..core import Function, Operation, Program, Value, operations_in
from ..rewrite import make
from .calls import callees


def number_threads(program: Program) -> None:
    """Pass the thread's number on to wherever objects are made."""
    births = births_of(program)
    if not births.made:
        return
    numbered = _numbered(program)
    for symbol, function in program.functions.items():
        if symbol not in numbered:
            continue
        number = _number(function) if function is program.kernel else _parameter(function)
        for operation in operations_in(function):
            if operation.kind == "new":
                operation.operands.append(number)
                operation.attributes["entry"] = births.entry(operation["cls"])
            elif not numbered.isdisjoint(callees(operation)):
                operation.operands.append(number)


def _numbered(program: Program) -> set[str]:
    """The functions that have the number: those that make objects, what may be called instead of
    one of them, and who calls it."""
    found = {*makers_in(program)}
    while True:
        before = len(found)
        for symbol, function in program.functions.items():
            for operation in operations_in(function):
                called = callees(operation)
                if not found.isdisjoint(called):
                    found.update(called, [symbol])
        if len(found) == before:
            return found


def _parameter(function: Function) -> Value:
    number = Value(weak_int, "thread")
    function.body.arguments.append(number)
    return number


def _number(kernel: Function) -> Value:
    """Operations at the kernel's beginning that compute it."""
    at, made = kernel.location, list[Operation]()

    def emit(kind: str, *operands: Value, **attributes: Any) -> Value:
        made.append(make(kind, operands, at, [weak_int], **attributes))
        return made[-1].result

    row = emit("binary", emit("thread_index", axis=1), emit("grid_size", axis=0), operator="mul")
    number = emit("binary", row, emit("thread_index", axis=0), operator="add")
    number.name = "thread"
    kernel.body.operations[:0] = made
    return number
