"""What is known of objects that lie side by side in one region, beside where the first one is."""

from __future__ import annotations

from dispatch.dataclass import dataclass

from .classes import ClassType

NEAR_BYTES = 1 << 31
"""Regions up to this size are addressed with 32-bit arithmetic."""


@dataclass(frozen=True)
class RunForm:
    """``cls``: the class of all of them. ``near``: their region has at most ``NEAR_BYTES``, and in
    tiles the first one is the first of its tile. ``whole``: the array still refers to them one by
    one, as a piece of the array of that number in the state block (``heap.pieces``)."""

    cls: ClassType
    near: bool
    whole: int | None = None
