"""How alike two pictures are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface import CheckFailed

#: A pixel agrees when no channel differs by more levels, of 256.
LEVELS = 2


def agreement(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """The share of pixels that agree, of pictures of shape (height, width, channels)."""
    difference = np.abs(one.astype(np.int32) - other.astype(np.int32)).max(axis=-1)
    return float((difference <= LEVELS).mean())


def require_agreement(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], share: float) -> None:
    """Raise CheckFailed unless that share of pixels agrees."""
    found = agreement(one, other)
    if found < share:
        raise CheckFailed(
            f"{found:.2%} of the pixels are within {LEVELS} levels of the reference picture, "
            f"not {share:.2%}"
        )
