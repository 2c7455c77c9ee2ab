"""What became of each indirect call."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch.dataclass import dataclass

from .constructions import Construction
from .tables import TextClass

LEFT_ALONE = "left alone"


@dataclass(frozen=True)
class CallReport:
    """``line`` of the PTX; ``candidates`` are vtable symbols; ``decision`` is ``LEFT_ALONE`` or the
    strategies; ``reason`` says why. ``receiver`` is the register that holds the object."""

    function: str
    line: int
    slot: int
    receiver: str
    candidates: tuple[str, ...]
    uniform: bool
    decision: str
    reason: str


@dataclass(frozen=True)
class Rewriting:
    """``text`` is the module after the pass."""

    text: str
    classes: tuple[TextClass, ...]
    calls: tuple[CallReport, ...]
    constructions: tuple[Construction, ...]


def report_lines(rewriting: Rewriting, name: str) -> list[str]:
    """The report for people."""
    names = {c.symbol: c.name for c in rewriting.classes}
    lines = [f"{name}: {_count(rewriting.classes, 'class', 'es')}"]
    lines += [f"  {c.type_index:>5}  {c.name}  ({c.symbol})" for c in rewriting.classes]
    for made in rewriting.constructions:
        what = ", ".join(names.get(vtable, vtable) for vtable in made.vtables)
        lines.append(f"  {made.where} makes objects itself: {what}")
    lines.append(_count(rewriting.calls, "indirect call"))
    for call in rewriting.calls:
        lines.append(f"  {name}:{call.line}: in {call.function}")
        if call.slot >= 0:
            classes = ", ".join(names.get(symbol, symbol) for symbol in call.candidates)
            uniform = ", the same for a whole warp" if call.uniform else ""
            lines.append(f"    slot {call.slot} of {call.receiver}{uniform}: {classes}")
        lines.append(f"    {call.decision}: {call.reason}")
    return lines


def _count(items: Sequence[object], what: str, plural: str = "s") -> str:
    return f"{len(items)} {what}{plural if len(items) != 1 else ''}"
