"""``sharedoa_report``: the function that writes the heap's error record.

The record (``dispatch.errors``) lies in heap memory; its address is in the module's state block.
The first thread that raises the flag writes the rest, later ones return.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from dispatch import state
from dispatch.errors import RECORD_DTYPE

from .emitter import ProgramEmitter, integer
from .types import I32, I64, VOID

REPORT = "sharedoa_report"


WIDE_REPORT = "sharedoa_report_all"
_GIVEN = ("code", "site", "value", "extra")
_ALL_GIVEN = (*_GIVEN, "other_site", "other_thread")


def report_function(program: ProgramEmitter, of_all: bool = False) -> ir.Function:
    """``(i32 code, i64 site, i64 value, i64 extra)``, for all that a record holds followed by
    ``(i64 other_site, i64 other_thread)``; internal, defined at its first use."""
    name, given = (WIDE_REPORT, _ALL_GIVEN) if of_all else (REPORT, _GIVEN)
    found = program.module.globals.get(name)
    if found is not None:
        return found
    types = [I32] + [I64] * (len(given) - 1)
    function = ir.Function(program.module, ir.FunctionType(VOID, types), name)
    function.linkage = "internal"
    for attribute in ("noinline", "cold", "nounwind"):
        function.attributes.add(attribute)
    _define(program, function, given)
    return function


def _define(program: ProgramEmitter, function: ir.Function, given: Sequence[str]) -> None:
    entry, claim, write, end = (
        function.append_basic_block(name) for name in ("entry", "claim", "write", "end")
    )
    builder = ir.IRBuilder(entry)
    record = state.load(builder, program.target.constant_space, state.ERRORS)
    builder.cbranch(builder.icmp_unsigned("==", record, integer(0)), end, claim)

    builder.position_at_end(claim)
    flag = builder.inttoptr(record, program.object_pointer)
    claimed = builder.cmpxchg(flag, I32(0), I32(1), "monotonic")
    builder.cbranch(builder.extract_value(claimed, 1), write, end)

    builder.position_at_end(write)
    code, site, *others = function.args
    fields = {
        "code": code,
        "site": site,
        "thread_x": _thread_along_x(program, builder),
        "thread_y": program.target.emit_current_thread(builder, 1),
        **dict(zip(given[2:], others, strict=True)),
    }
    assert RECORD_DTYPE.fields is not None
    for name, content in fields.items():
        address = builder.add(record, integer(RECORD_DTYPE.fields[name][1]))
        builder.store(content, builder.inttoptr(address, program.object_pointer))
    builder.branch(end)

    builder.position_at_end(end)
    builder.ret_void()


def _thread_along_x(program: ProgramEmitter, builder: ir.IRBuilder) -> ir.Value:
    if program.notes_thread:
        return program.target.emit_noted_thread(builder)
    return program.target.emit_current_thread(builder, 0, program.turns)


def emit_report(
    program: ProgramEmitter,
    builder: ir.IRBuilder,
    code: ir.Value,
    site: int,
    *words: ir.Value | None,
) -> None:
    """Report at ``builder``; the record's words from ``value`` on are i64, 0 when there is nothing
    to say."""
    function = report_function(program, of_all=len(words) > 2)
    given = [integer(0) if part is None else part for part in words]
    missing = len(function.args) - 2 - len(given)
    builder.call(function, [code, integer(site), *given, *[integer(0)] * missing])
