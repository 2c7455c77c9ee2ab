"""Colours of the pictures: muted roads on a dark ground, bright vehicles."""

from __future__ import annotations

from ..common.colours import ramp
from .network import LIMITS
from .parameters import FASTEST

GREEN_LIGHT, RED_LIGHT = "#2fbf71", "#7a2c33"

_ROADS = ("#253041", "#46618a")
#: From standing to driving freely, as on traffic maps.
_SPEEDS = ("#ff3b4e", "#ff8a3d", "#ffd34d", "#9be15d", "#35e0c0")


def limit_colours() -> list[str]:
    """A colour for each limit, the slowest first."""
    return ramp(_ROADS, LIMITS)


def speed_colours() -> list[str]:
    """A colour for each velocity from 0 to FASTEST."""
    return ramp(_SPEEDS, FASTEST + 1)
