"""Rules of "generations" automata, of which Conway's life is one, and the states of their cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: States of cells: 0 is dead, 1 alive, and from 2 on a cell decays. A candidate is a dead cell that
#: the program looks at because it may come to life.
DEAD, ALIVE, DECAYING, CANDIDATE = 0, 1, 2, -1

#: States or flags of cells, of shape (rows, columns).
States = np.ndarray[Any, np.dtype[np.int32]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Rule:
    """With how many live neighbours of eight a live cell stays alive and a dead one comes to life.
    Other live cells pass through ``decaying`` states, which count as no neighbours, and are dead
    after that."""

    survival: frozenset[int]
    birth: frozenset[int]
    decaying: int = 0
