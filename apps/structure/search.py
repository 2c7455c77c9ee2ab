"""The search from the anchors along springs, level by level; kernels are its only barriers."""

from __future__ import annotations

from typing import Any

from ..common.launches import Launches


def search(launch: Launches, visit: Any, nodes: Any, deepest: Any) -> int:
    """Launch ``visit(nodes, level, deepest)`` for every level from 0 on until no node was at the
    last one, so that it has not become ``deepest[0]``. The number of launches."""
    deepest[0] = -1
    level = 0
    while True:
        launch(visit, len(nodes), nodes, level, deepest)
        if int(deepest[0]) < level:
            return level + 1
        level += 1
