"""What becomes of each virtual call and type test. Classes without objects are no candidates; what
``ptxpass.ir`` decides of the others is noted, with the reason. Code generation writes that."""

from __future__ import annotations

from typing import NamedTuple

from ptxpass.ir import decide, decide_test

from ...model.classes import ClassType
from ...model.types import ReferenceType
from ..core import Location, Operation, Program, operations_in
from ..job import Job
from ..uniformity import uniform_receivers


def choose_dispatch(program: Program, job: Job) -> None:
    """Give each call the attributes ``identify``, ``decision`` and ``reason`` of ``Decision``, each
    type test ``identify`` and its ``candidates``, the classes that it may meet."""
    sites = [each for each in operations_in(program) if each.kind in ("call_virtual", "type_test")]
    populated = job.facts.populated() if sites else None
    others: dict[Operation, int] = {}
    for site in sites:
        every = site["candidates"] if site.kind == "call_virtual" else _classes(site)
        kept = [each for each in every if populated is None or each.type_index in populated]
        site.attributes["candidates"] = tuple(kept)
        others[site] = len(every) - len(kept)
    uniform = uniform_receivers(program, job.debug) if job.mode.spare_uniform else frozenset()
    for site in sites:
        candidates, is_uniform = site["candidates"], site in uniform
        if site.kind == "call_virtual":
            ranges = job.facts.ranges
            made = decide(job.mode, candidates, others[site], is_uniform, ranges)
            site.attributes.update(made._asdict())
        else:
            identify = decide_test(job.mode, len(candidates), is_uniform, job.debug)
            site.attributes["identify"] = identify


def _classes(test: Operation) -> list[ClassType]:
    (receiver,) = test.operands
    assert isinstance(receiver.type, ReferenceType)
    return receiver.type.cls.concrete()


class SiteReport(NamedTuple):
    """What became of a virtual call, for people: ``candidates`` are names of classes."""

    method: str
    static_class: str
    location: Location
    candidates: tuple[str, ...]
    decision: str
    reason: str


def reports(program: Program) -> list[SiteReport]:
    """Of every virtual call, after the pass."""
    return [
        SiteReport(
            call["method"],
            call["cls"].name,
            call.location,
            tuple(candidate.cls.name for candidate in call["candidates"]),
            call["decision"],
            call["reason"],
        )
        for call in operations_in(program)
        if call.kind == "call_virtual"
    ]
