"""How many rounds a loop has at most."""

from __future__ import annotations

from ..core import Value, constant_of

MOST_ROUNDS = 16
"""Of all loops within each other."""


def most_rounds(start: Value, stop: Value) -> int | None:
    """How many rounds a loop from ``start`` to ``stop`` by one has at most, if both are a known
    distance from one number: rounds are then as many or none, as one of the two sums may overflow
    and not the other one, which leaves ``stop`` below ``start``."""
    found = [
        high - low
        for base, low in _near(start, "gt")
        for other, high in _near(stop, "lt")
        if base is other
    ]
    return max(min(found), 0) if found else None


def _near(value: Value, operator: str) -> list[tuple[Value | None, int]]:
    """Numbers with a distance from them that the value is not below (``gt``: of maxima) or not
    above (``lt``: of minima); None is 0."""
    found: list[tuple[Value | None, int]] = []
    pending = [value]
    while pending:
        each = pending.pop()
        source = each.source
        if source is not None and source.kind == "select":
            test, *both = source.operands
            asked = test.source
            is_extreme = asked is not None and asked.kind == "compare" and asked.operands == both
            if is_extreme and asked is not None and asked["operator"] == operator:
                pending += both
                continue
        number = constant_of(each)
        if number is not None:
            found.append((None, int(number)))
            continue
        found.append((each, 0))
        if source is not None and source.kind == "binary" and source["operator"] in ("add", "sub"):
            base, distance = source.operands[0], constant_of(source.operands[1])
            if distance is not None and abs(distance) <= MOST_ROUNDS:
                found.append((base, int(distance if source["operator"] == "add" else -distance)))
    return found
