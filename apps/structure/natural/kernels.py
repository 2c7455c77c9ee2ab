"""What is done but for the methods of all nodes and springs."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32


@oa.kernel
def begin_levels(deepest: oa.Array[i32]) -> None:
    """The search has reached nobody."""
    deepest[0] = -1
