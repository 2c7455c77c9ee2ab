"""How many random programs and histories a run tries, in which layouts and references."""

from __future__ import annotations

import os

from dispatch.mode import MODES, parse_mode

_UNIT = 3
#: For each mode. ``make test`` has a third of the numbers that tests give, with which each fault
#: of the catalogue is found as well; ``make test-slow`` 24 times as many, a thorough run some
#: hundreds.
EXAMPLES = int(os.environ.get("DIFFERENTIAL_EXAMPLES", 1))
IS_THOROUGH = EXAMPLES > _UNIT


def examples(number: int) -> int:
    """How many, where there are ``number`` if ``EXAMPLES`` is three."""
    return max(1, number * EXAMPLES // _UNIT)


def programs(number: int, thorough: int = 0) -> int:
    """``examples`` of random programs: the first one is the smallest that there is, so two at
    least. ``thorough``: that many times ``EXAMPLES``, where there is time."""
    return thorough * EXAMPLES if IS_THOROUGH and thorough else max(2, examples(number))


def layout_for(mode: str, seed: int) -> str:
    """Half of the seeds in tiles, where the mode has them; another half in the next mode."""
    in_tiles = (seed + MODES.index(mode)) % 2
    return "tile" if in_tiles and parse_mode(mode).placement == "by_type" else "aos"


def references_for(mode: str, seed: int) -> str:
    """Half of the seeds with references of 32 bits, where the mode can have them."""
    parsed = parse_mode(mode)
    can_be_narrow = parsed.placement == "by_type" and not parsed.tagged_references
    narrow = (seed + MODES.index(mode)) // 2 % 2
    return "32" if narrow and can_be_narrow else "64"
