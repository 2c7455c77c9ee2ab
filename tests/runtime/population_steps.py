"""Steps in which the objects of some classes come and go."""

from __future__ import annotations

from typing import Any

import sharedoa as oa

#: "new", "delete" (every other object) or "delete all"; number of the class; how many are new.
Step = tuple[str, int, int]


def take(step: Step, held: list[list[Any]], classes: tuple[Any, ...], field: str) -> None:
    """Make or delete objects; ``held`` has those of each class, and ``field`` numbers new ones."""
    what, number, count = step
    if what == "new":
        held[number] += list(oa.new(classes[number], count, **{field: range(count)}))
        return
    gone = held[number] if what == "delete all" else held[number][::2]
    held[number] = [] if what == "delete all" else held[number][1::2]
    for each in gone:
        oa.delete(each)
