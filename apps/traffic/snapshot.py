"""What a picture or a check needs to know of one moment of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True)
class Snapshot:
    """The active vehicles after a step, in any order, and the limits of all cells."""

    step: int
    #: Index of the cell, velocity and kind (``mix.KIND_NAMES``) of each vehicle.
    cell: Ints
    velocity: Ints
    kind: Ints
    #: Current limit of each cell, 0 at a red light.
    limit: Ints
