"""The search from the anchors along springs, level by level; kernels are its only barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def search(visit: Callable[[int], None], deepest: Any, visited: int = 0) -> int:
    """``visit`` all nodes for every level until no node was at the last one, so that it has not
    become ``deepest[0]``. The number of levels, with that one. The first ``visited`` levels have
    been visited, after ``deepest[0]`` became -1."""
    if not visited:
        deepest[0] = -1
    level, found = visited, int(deepest[0]) if visited else -1
    while found == level - 1:
        visit(level)
        level += 1
        found = int(deepest[0])
    return found + 2
