"""What becomes of a virtual call or type test in a mode, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dispatch.emitter import Candidate
from dispatch.identify import IDENTIFICATIONS
from dispatch.mode import Mode

from .sites import Ranges

HEADER = "header"


class Decision(NamedTuple):
    """``identify``: the strategy that tells the class, None where nothing has to. The others are
    for people."""

    identify: str | None
    decision: str
    reason: str


def decide(
    mode: Mode,
    candidates: Sequence[Candidate],
    others: int,
    uniform: bool,
    ranges: Callable[[], Ranges],
) -> Decision:
    """What becomes of a call. ``candidates`` are those of its classes that may have objects,
    ``others`` the number of those that have none. ``uniform``: in a mode that spares such calls,
    the receiver is the same for a whole warp. ``ranges``: as ``Environment``'s."""
    found = _decide(mode, candidates, uniform)
    reasons = [found.reason]
    if found.identify is not None:
        types, windows = ranges()
        if windows is not None:
            reasons.append(f"told by {len(windows.types)} windows of equal size")
        elif types:
            reasons.append(f"{len(types)} ranges in the code")
    if others:
        known = len(candidates)
        reasons.append(f"{known} of {known + others} classes have objects")
    return found._replace(reason="; ".join(reasons))


def _decide(mode: Mode, candidates: Sequence[Candidate], uniform: bool) -> Decision:
    classes = len(candidates)
    methods = len({candidate.symbol for candidate in candidates})
    if not candidates:
        return Decision(None, "none", "no class with objects is known")
    if mode.closed_world and methods == 1:
        return Decision(None, "direct", f"the only possible target is {candidates[0].symbol}")
    counted = f"{classes} class{'es' * (classes > 1)}, {methods} method{'s' * (methods > 1)}"
    if uniform:
        text = f"{HEADER} + {mode.invoke} (uniform receiver)"
        reason = f"{counted}; one receiver for the whole warp, so one load of its header"
        return Decision(HEADER, text, reason)
    remark = IDENTIFICATIONS[mode.identify].remark(candidates)
    reason = "; ".join(filter(None, [counted, f"mode {mode.name}", remark]))
    return Decision(mode.identify, f"{mode.identify} + {mode.invoke}", reason)


def decide_test(mode: Mode, classes: int, uniform: bool, debug: bool) -> str | None:
    """The strategy that tells the class for a type test of a receiver which may have so many of
    them; None where it is known."""
    if mode.closed_world and classes <= 1 and not debug:
        return None
    return HEADER if uniform else mode.identify
