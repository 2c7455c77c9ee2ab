"""What becomes of each virtual call and type test: what ``ptxpass.ir`` decides is noted, with the
reason. Code generation writes that."""

from __future__ import annotations

from typing import NamedTuple

from ptxpass.ir import decide, decide_test

from ...location import Location
from ..core import Program, operations_in
from ..job import Job
from ..uniformity import uniform_receivers


def choose_dispatch(program: Program, job: Job) -> None:
    """Give calls the attributes ``identify``, ``decision`` and ``reason`` of ``Decision``, type
    tests ``identify``."""
    mode, ranges = job.mode, job.facts.ranges
    uniform = uniform_receivers(program, job.debug) if mode.spare_uniform else frozenset()
    for site in operations_in(program):
        spared, attributes = site in uniform, site.attributes
        if site.kind == "call_virtual":
            others = attributes.get("without_objects", 0)
            made = decide(mode, site["candidates"], others, spared, ranges)
            attributes.update(made._asdict())
        elif site.kind == "type_test":
            classes = len(site["candidates"])
            attributes["identify"] = decide_test(mode, classes, spared, job.debug)


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
