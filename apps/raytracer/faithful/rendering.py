"""The faithful flavour's objects, and its picture."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from sharedoa import i32, u32

from ...common.launches import Launches
from ..camera import as_vectors, make_camera
from ..comparison import require_agreement
from ..rendering import Pixels, channel_sums
from . import reference
from .classes import Plain, Sphere
from .kernels import LEVELS, render
from .population import EYE, FIELD_OF_VIEW, FORWARD, UP, Population

#: A warp is 8 x 4 pixels: rays that lie close together meet the same objects.
BLOCK = (8, 16)
#: Pixels that agree with the reference; at the edge of a sphere the last bit can decide.
AGREEMENT = 0.995


class FaithfulRendering:
    """A square picture of one population; ``advance`` renders it, from the beginning each time."""

    def __init__(self, heap: Any, population: Population, side: int, launches: Launches) -> None:
        self._population, self._side, self._launch = population, side, launches
        kinds = [
            heap.new(cls, len(rows.radii), **_fields(rows))
            for cls, rows in ((Plain, population[:1]), (Sphere, population[1:]))
            if len(rows.radii)
        ]
        self.objects = heap.concat(*kinds)
        self.camera = make_camera(EYE, FORWARD, UP, FIELD_OF_VIEW, (side, side))
        self._image = heap.zeros(side * side, u32)
        self._hits = heap.zeros(side * side, i32)

    def advance(self) -> None:
        self._launch(
            render,
            ((self._side, self._side), BLOCK),
            self.objects, self.camera, self._image, self._hits,
        )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """Sums over all pixels of each channel and of their words, and how many pixels' rays met
        0 to 5 surfaces."""
        words = self.words()
        hits = np.bincount(self._hits.numpy(), minlength=LEVELS + 1).tolist()
        return {
            **channel_sums(self.pixels()),
            "alpha": int((words >> np.uint32(24)).sum(dtype=np.int64)),
            "checksum": int(words.sum(dtype=np.uint64)),
            **{f"{count} hits": pixels for count, pixels in enumerate(hits)},
        }

    def words(self) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """The image as the artifact has it: rows from the bottom, alpha in the highest byte."""
        return np.array(self._image).reshape(self._side, self._side)

    def pixels(self) -> Pixels:
        words = self.words()[::-1]
        return np.stack([words >> np.uint32(s) for s in (16, 8, 0)], axis=-1).astype(np.uint8)

    def check(self) -> Iterator[str]:
        require_agreement(self.pixels(), self._expected, AGREEMENT)
        yield "as the reference picture"

    @cached_property
    def _expected(self) -> Pixels:
        return reference.render(self._population, self._side).pixels


def _fields(rows: Population) -> dict[str, Any]:
    red, green, blue, alpha = rows.colours.T
    return {
        "red": red, "green": green, "blue": blue, "alpha": alpha,
        "centre": as_vectors(rows.centres), "radius": rows.radii,
    }  # fmt: skip
