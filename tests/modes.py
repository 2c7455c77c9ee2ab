"""In which modes and layouts programs are tested: the whole product takes minutes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest

from apps.registry import AppInfo
from dispatch.mode import MODES, parse_mode

#: Both have every way to tell a class, every way to call, and the mode that is the default.
HALVES = (
    ("cuda", "coal", "bits+switch", "header+vtable", "range+switch", "tag+vtable", "auto"),
    (
        "concord", "sharedoa", "typepointer", "bits+vtable", "header+switch", "range+vtable",
        "tag+switch", "auto",
    ),
)  # fmt: skip


def half_of_modes(half: Literal[0, 1], modes: Sequence[str] = MODES) -> list[Any]:
    """Parameters: every one of ``modes``, those of the other half marked slow. Two tests of the
    same program have different halves."""
    return [
        pytest.param(mode, marks=() if mode in HALVES[half] else pytest.mark.slow, id=mode)
        for mode in modes
    ]


def modes_and_flavours(app: AppInfo, half: Literal[0, 1]) -> list[Any]:
    """Parameters ``mode`` and ``natural``: ``half_of_modes`` of both flavours of a program."""
    found = []
    for natural, able in ((False, app.modes), (True, app.natural_modes)):
        for each in half_of_modes(half, able):
            name = f"{each.id}-{'natural' if natural else 'faithful'}"
            found.append(pytest.param(*each.values, natural, marks=each.marks, id=name))
    return found


def modes_and_layouts(modes: Sequence[str], half: Literal[0, 1]) -> list[Any]:
    """Parameters ``mode`` and ``layout``: modes of one half in records, the others in tiles, and
    the rest of the product marked slow. Programs have different halves, so that each pair is run
    with some of them."""
    found = []
    for mode in modes:
        # Modes that place objects one by one have no tiles.
        able = ("aos", "tile") if parse_mode(mode).placement == "by_type" else ("aos",)
        chosen = [("aos", "tile")[mode not in each] for each in (HALVES[half], HALVES[1 - half])]
        for layout in able:
            is_quick = layout == chosen[0] or chosen[0] == chosen[1] or len(able) == 1
            marks = () if is_quick else pytest.mark.slow
            found.append(pytest.param(mode, layout, marks=marks, id=f"{mode}-{layout}"))
    return found
