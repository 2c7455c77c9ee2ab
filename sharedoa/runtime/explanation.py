"""``kernel.explain()``: how each virtual call finds its method, and what the code uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dispatch.mode import Mode

from ..heap.heap import Heap
from ..ir.core import operations_in, type_of
from ..ir.number_parts import name_of, parameter_of
from ..location import Location
from ..tracebacks import short_place
from . import planned_clusters
from .pipeline import Compilation

if TYPE_CHECKING:
    from .launch import Program

_COLUMNS = ("call", "at", "candidates", "decision", "why")
_CANDIDATES_SHOWN = 6


def explain(program: Program, heap: Heap, mode: Mode, debug: bool) -> str:
    """A table with a row for each call site, then the resources of the machine code."""
    given = program.last_given(heap, mode)
    if heap.backend.name == "python":
        compilation = program.compilation(heap, mode, debug, heap.backend.target)
        used = {}
    else:
        unit = program.unit(heap, mode, debug, given)
        compilation, used = unit.compilation, heap.backend.attributes(unit.handle)
    rows = [
        (
            f"{report.static_class}.{report.method}",
            _short(report.location),
            _names(report.candidates),
            report.decision,
            report.reason,
        )
        for report in compilation.reports
    ]
    head = str(compilation.job)
    for location in compilation.lowered.shared_loops:
        head += (
            f"\n{_short(location)}: threads of a warp share the iterations of their "
            "loops where some are much longer than others"
        )
    for location in compilation.lowered.common_functions:
        head += (
            f"\n{_short(location)}: threads that come to this function from different "
            "methods or branches run it together"
        )
    head += _limits(compilation.lowered.loop_copies)
    for location, text in dict.fromkeys(compilation.program.remarks):
        head += f"\n{_short(location)}: {text}"
    waiting = planned_clusters.remark(heap)
    head += f"\n{waiting}" if waiting else ""
    for variant in program.variants(heap, mode, debug):
        verdict = program.specialisation.verdict(variant.job.facts.words)
        head += f"{_constants(variant, compilation)}; {verdict}"
    calls = table([_COLUMNS, *rows]) if rows else ["no virtual calls"]
    resources = _resources(compilation, heap.backend.name, used)
    return "\n".join([head, *calls, resources])


def _constants(variant: Compilation, usual: Compilation) -> str:
    """The code for launches of which numbers are known."""
    parameters = usual.job.program.kernel.parameters
    known = variant.job.facts.constants.items()
    told = []
    for place, number in known:
        parameter = parameters[parameter_of(place)]
        told.append(f"{name_of(place, parameter.name, type_of(parameter))} = {number}")
    frozen = variant.job.facts.asked("frozen")
    told += [f"{parameters[place].name} = one object" for (place,), each in frozen if each]
    numbers = ", ".join(told)
    left, all = (sum(1 for _ in operations_in(each.program)) for each in (variant, usual))
    return f"\nwith {numbers}: code of its own, {left} operations instead of {all}"


def _limits(loop_copies: Mapping[Location, int]) -> str:
    """Which loops are not copied as often as compilers would."""
    text = ""
    for copies in sorted(set(loop_copies.values())):
        places = [_short(each) for each, n in loop_copies.items() if n == copies]
        limit = f"copied at most {copies} times" if copies > 1 else "not copied"
        text += (
            f"\nloops at {_names(places)}: {limit}, so that the methods which threads are in at "
            "the same time fit into the cache of instructions"
        )
    return text


def _short(location: Location) -> str:
    return short_place(location.file, location.line)


def _names(candidates: Sequence[str]) -> str:
    shown = ", ".join(candidates[:_CANDIDATES_SHOWN])
    more = len(candidates) - _CANDIDATES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns aligned to the left; the first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def _resources(compilation: Compilation, backend: str, used: Mapping[str, int]) -> str:
    """What the driver says of the loaded code; of code for the CPU there is its size."""
    if backend == "python":
        return "CPython runs it"
    if used:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in used.items())
    code = compilation.products.get("o", "")
    return f"object code of {len(code)} bytes" if code else "assembled by the driver"
