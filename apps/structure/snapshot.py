"""What a picture or a count needs to know of one moment of a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .structure import Floats, Ints


@dataclass(frozen=True)
class Snapshot:
    """The live nodes and active springs after a step."""

    step: int
    #: Of each node.
    kind: Ints
    x: Floats
    y: Floats
    #: Of each spring: indices of its ends among the nodes, its length without force, its force.
    first: Ints
    second: Ints
    initial_length: Floats
    force: Floats
    #: Springs that broke, and that were cut off from the anchors, since the start.
    broken: int
    cut_off: int

    @property
    def strain(self) -> Floats:
        """Extension of each spring relative to its length without force; 0 for a slack one."""
        dx = self.x[self.first] - self.x[self.second]
        dy = self.y[self.first] - self.y[self.second]
        length = np.sqrt(dx * dx + dy * dy)
        extension = np.maximum(length - self.initial_length, 0)
        return np.asarray(extension / np.maximum(self.initial_length, 1e-6), np.float32)

    @property
    def checksum(self) -> float:
        """The artifact's: the sum of first.x * second.y * force over all springs. Each product is
        rounded to float32, the sum once, so that it is the same in every order."""
        return math.fsum(self.x[self.first] * self.y[self.second] * self.force)

    def counts(self) -> dict[str, int]:
        return {
            "broken": self.broken,
            "cut_off": self.cut_off,
            "springs": len(self.first),
            "nodes": len(self.kind),
            "checksum_thousandths": round(self.checksum * 1000),
        }
