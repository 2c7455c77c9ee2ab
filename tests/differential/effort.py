"""How many random programs and histories a run tries, and in which layouts."""

from __future__ import annotations

import os

from dispatch.mode import MODES, parse_mode

#: For each mode; a thorough run sets the variable to some hundreds.
EXAMPLES = int(os.environ.get("DIFFERENTIAL_EXAMPLES", "6"))


def layout_for(mode: str, seed: int) -> str:
    """Half of the seeds in tiles, where the mode has them; another half in the next mode."""
    in_tiles = (seed + MODES.index(mode)) % 2
    return "tile" if in_tiles and parse_mode(mode).placement == "by_type" else "aos"
