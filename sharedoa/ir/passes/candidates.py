"""Takes classes away from virtual calls and type tests that have no objects."""

from __future__ import annotations

from ...model.classes import ClassType
from ...model.types import ReferenceType
from ..core import Operation, Program, operations_in
from ..job import Job


def narrow_candidates(program: Program, job: Job) -> None:
    """Of type tests the candidates are noted, too: the classes that they may meet."""
    sites = [each for each in operations_in(program) if each.kind in ("call_virtual", "type_test")]
    populated = job.facts.populated() if sites else None
    for site in sites:
        every = site["candidates"] if site.kind == "call_virtual" else _classes(site)
        met = [each for each in every if populated is None or each.type_index in populated]
        site.attributes["candidates"] = tuple(met)
        if len(met) < len(every) and site.kind == "call_virtual":
            site.attributes["without_objects"] = len(every) - len(met)


def _classes(test: Operation) -> list[ClassType]:
    (receiver,) = test.operands
    assert isinstance(receiver.type, ReferenceType)
    return receiver.type.cls.concrete()
