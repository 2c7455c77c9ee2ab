"""What the way back of a tape begins with: the gradient of a loss, and what was read of objects and
arrays on the way to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..heap.adjoints import adjoints_of
from ..heap.arrays import Array, FieldView


def gradient_of_loss(shape: tuple[int, ...], given: Any) -> np.ndarray[Any, Any]:
    if given is not None:
        try:
            weights = np.asarray(given)
            if weights.dtype.kind != "f":
                weights = weights.astype(np.float64, casting="same_kind")
            return np.broadcast_to(weights, shape)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"the gradient has no number for each of a loss of the shape {shape}: {error}",
                "pass one number, or an array of the shape of the loss",
            ) from None
    if int(np.prod(shape)) != 1:
        raise ArgumentError(
            f"the loss has the shape {shape}, and a gradient is one of a number",
            "sum it up, or say how much each number counts: tape.backward(loss, gradient)",
        )
    return np.ones(shape)


def add_to_adjoints(source: FieldView | Array, adjoint: np.ndarray[Any, Any]) -> None:
    """Add to the adjoints of what was read."""
    if isinstance(source, Array):
        adjoints_of(source._heap).of_array(source)[...] += adjoint
        return
    adjoints_of(source._heap).mirrored(source._selection).add(source.path, adjoint)
