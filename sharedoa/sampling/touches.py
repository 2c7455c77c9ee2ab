"""Which fields of which objects sampled threads touch, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..model.classes import ClassType
from .lanes import Flags, Numbers, Weights

WARP = 32


@dataclass(frozen=True)
class Touch:
    """A scalar of ``size`` bytes of one object a lane: the object's address, the scalar's offset in
    the record (u64), and how often the threads that the lane stands for touch it; ``warp`` numbers
    the warps."""

    objects: Numbers
    offsets: Numbers
    size: int
    weights: Weights
    warp: Numbers
    is_write: bool


@dataclass(eq=False)
class Touches:
    """All of a sample, by the class that declares the field, and the field's name."""

    of_class: dict[ClassType, dict[str, list[Touch]]] = field(default_factory=dict)
    _seen: set[tuple[ClassType, str, bool, bytes]] = field(default_factory=set)

    def add(
        self,
        owner: ClassType,
        name: str,
        objects: Numbers,
        offsets: Numbers,
        size: int,
        weights: Weights,
        lanes: Flags,
        is_write: bool,
    ) -> None:
        """Note a touch in ``lanes``; the same one again is nothing new."""
        chosen = np.flatnonzero(lanes & (weights > 0))
        if len(chosen) == 0:
            return
        touch = Touch(
            objects[chosen], offsets[chosen], size, weights[chosen], chosen // WARP, is_write
        )
        content = touch.objects.tobytes() + touch.offsets.tobytes() + chosen.tobytes()
        key = owner, name, is_write, content
        if key not in self._seen:
            self._seen.add(key)
            self.of_class.setdefault(owner, {}).setdefault(name, []).append(touch)
