"""Colours that the pictures of all programs have in common: bright things on a dark ground."""

from __future__ import annotations

import numpy as np

BACKGROUND = "#0f131a"
TEXT, FAINT_TEXT = "#e6e9ef", "#8d97a8"


def ramp(colours: tuple[str, ...], count: int) -> list[str]:
    """``count`` colours that lead from the first one to the last one."""
    known = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours])
    at = np.linspace(0, len(known) - 1, count)
    mixed = [np.interp(at, np.arange(len(known)), known[:, channel]) for channel in range(3)]
    return ["#" + "".join(f"{round(v):02x}" for v in colour) for colour in zip(*mixed, strict=True)]
