"""Colours of the pictures: muted roads on a dark ground, bright vehicles."""

from __future__ import annotations

import numpy as np

from .network import LIMITS
from .parameters import FASTEST

BACKGROUND = "#0f131a"
TEXT, FAINT_TEXT = "#e6e9ef", "#8d97a8"
GREEN_LIGHT, RED_LIGHT = "#2fbf71", "#7a2c33"

_ROADS = ("#253041", "#46618a")
#: From standing to driving freely, as on traffic maps.
_SPEEDS = ("#ff3b4e", "#ff8a3d", "#ffd34d", "#9be15d", "#35e0c0")


def _ramp(colours: tuple[str, ...], count: int) -> list[str]:
    known = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours])
    at = np.linspace(0, len(known) - 1, count)
    mixed = [np.interp(at, np.arange(len(known)), known[:, channel]) for channel in range(3)]
    return ["#" + "".join(f"{round(v):02x}" for v in colour) for colour in zip(*mixed, strict=True)]


def limit_colours() -> list[str]:
    """A colour for each limit, the slowest first."""
    return _ramp(_ROADS, LIMITS)


def speed_colours() -> list[str]:
    """A colour for each velocity from 0 to FASTEST."""
    return _ramp(_SPEEDS, FASTEST + 1)
