"""The search from the anchors along springs, level by level; kernels are its only barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def search(visit: Callable[[int], None], deepest: Any) -> int:
    """``visit`` all nodes for every level from 0 on, until no node was at the last one, so that it
    has not become ``deepest[0]``. The number of levels."""
    deepest[0] = -1
    level = 0
    while True:
        visit(level)
        if int(deepest[0]) < level:
            return level + 1
        level += 1
