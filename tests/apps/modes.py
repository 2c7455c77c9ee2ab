"""In which modes and layouts a program is compared with its oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest

from dispatch.mode import AUTO, parse_mode


def modes_and_layouts(modes: Sequence[str], first: Literal["aos", "tile"]) -> list[Any]:
    """Parameters ``mode`` and ``layout``. Every mode is run in one layout, the first in ``first``,
    the next in the other; what is left of the product is slow. Programs begin with different ones,
    so that each pair is run with some program. The mode that is the default is run in both."""
    found = []
    for number, mode in enumerate(modes):
        # Modes that place objects one by one have no tiles.
        able = ("aos", "tile") if parse_mode(mode).placement == "by_type" else ("aos",)
        chosen = ("aos", "tile")[(number + (first == "tile")) % 2]
        for layout in able:
            quick = layout == chosen or mode == AUTO or len(able) == 1
            marks = () if quick else (pytest.mark.slow,)
            found.append(pytest.param(mode, layout, marks=marks, id=f"{mode}-{layout}"))
    return found
