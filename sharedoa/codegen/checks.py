"""Run-time checks: what is tested before an operation, and the report when the test fails.

After a report the program goes on safely. Assertions are checked always, everything else in debug
mode only; a check that is not made answers None.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from dispatch.check import ANY_CLASS, CHECK_REFERENCE, REFERENCE_OK
from dispatch.errors import ErrorCode

from ..location import Location
from ..model.types import ReferenceType, Type
from ..targets.base import declare
from .emitter import FunctionEmitter
from .report import emit_report
from .types import I32, I64


def reference_is_valid(
    emitter: FunctionEmitter, reference: ir.Value, type: Type, location: Location
) -> ir.Value | None:
    """i1: the reference names a live object of this heap, of the class that its ``type`` says or
    one below it (debug); reports what is wrong if not."""
    if not emitter.program.debug:
        return None
    return _check_reference(emitter, reference, type, emitter.program.site_number(location))


def check_reference(
    emitter: FunctionEmitter, reference: ir.Value, type: Type, location: Location
) -> None:
    """Report null (always), and what else is not valid (debug)."""
    if reference_is_valid(emitter, reference, type, location) is None:
        is_object = emitter.builder.icmp_unsigned("!=", reference, I64(0))
        _report_unless(emitter, is_object, I32(ErrorCode.NULL), location)


def check_stored_reference(
    emitter: FunctionEmitter, reference: ir.Value, type: Type, location: Location, place: str
) -> None:
    """Report a reference that is stored in ``place`` and is neither null nor valid (debug)."""
    site = emitter.program.site_number(location, f"it is stored in {place}")
    is_object = emitter.builder.icmp_unsigned("!=", reference, I64(0))
    emitter.when(is_object, lambda: _check_reference(emitter, reference, type, site), "stored")


def _check_reference(
    emitter: FunctionEmitter, reference: ir.Value, type: Type, site: int
) -> ir.Value:
    program = emitter.program
    address = program.emit_address_or_null(emitter.builder, reference)
    # Inlined at every access it would make debug code slow to compile.
    check = declare(program.module, CHECK_REFERENCE, I32, [I64, I32], "noinline", "cold")
    wanted = type.cls.type_index if isinstance(type, ReferenceType) else ANY_CLASS
    # What it answers is the code to report.
    code = emitter.builder.call(check, [address, I32(wanted)])
    valid = emitter.builder.icmp_unsigned("==", code, I32(REFERENCE_OK))
    _report_at(emitter, valid, code, site, address, I64(wanted))
    return valid


def index_is_valid(
    emitter: FunctionEmitter,
    position: ir.Value,
    length: ir.Value,
    index: ir.Value,
    location: Location,
) -> ir.Value | None:
    """i1: 0 <= position < length (debug); reports ``index`` as the user wrote it."""
    if not emitter.program.debug:
        return None
    # Unsigned, so that one comparison refuses a negative position too.
    valid = emitter.builder.icmp_unsigned("<", position, length)
    _report_unless(emitter, valid, I32(ErrorCode.INDEX), location, index, length)
    return valid


def check_divisor(emitter: FunctionEmitter, divisor: ir.Value, location: Location) -> None:
    """Report an integer division by zero (debug)."""
    _check_nonzero(emitter, divisor, ErrorCode.DIVISION_BY_ZERO, location)


def check_step(emitter: FunctionEmitter, step: ir.Value, location: Location) -> None:
    """Report a range with step 0 (debug)."""
    _check_nonzero(emitter, step, ErrorCode.RANGE_STEP_ZERO, location)


def check_exponent(emitter: FunctionEmitter, exponent: ir.Value, location: Location) -> None:
    """Report a negative exponent of an integer power (debug)."""
    if not emitter.program.debug:
        return
    valid = emitter.builder.icmp_signed(">=", exponent, exponent.type(0))
    value = exponent if exponent.type == I64 else emitter.builder.sext(exponent, I64)
    _report_unless(emitter, valid, I32(ErrorCode.NEGATIVE_EXPONENT), location, value)


def check_assertion(
    emitter: FunctionEmitter,
    test: ir.Value,
    text: str,
    words: Sequence[ir.Value],
    location: Location,
) -> None:
    """Report a failed assertion, which says ``text`` with ``words`` in it (always)."""
    site = emitter.program.site_number(location, text)
    _report_at(emitter, test, I32(ErrorCode.ASSERTION), site, *words)


def _check_nonzero(
    emitter: FunctionEmitter, number: ir.Value, code: ErrorCode, location: Location
) -> None:
    is_known = isinstance(number, ir.Constant) and number.constant != 0
    if emitter.program.debug and not is_known:
        valid = emitter.builder.icmp_unsigned("!=", number, number.type(0))
        _report_unless(emitter, valid, I32(code), location)


def _report_unless(
    emitter: FunctionEmitter,
    valid: ir.Value,
    code: ir.Value,
    location: Location,
    value: ir.Value | None = None,
    extra: ir.Value | None = None,
) -> None:
    _report_at(emitter, valid, code, emitter.program.site_number(location), value, extra)


def _report_at(
    emitter: FunctionEmitter,
    valid: ir.Value,
    code: ir.Value,
    site: int,
    *words: ir.Value | None,
) -> None:
    program = emitter.program
    emitter.when(
        emitter.builder.not_(valid),
        lambda: emit_report(program, emitter.builder, code, site, *words),
        "report",
    )
