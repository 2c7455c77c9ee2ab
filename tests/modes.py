"""In which modes and layouts programs are tested: the whole product takes minutes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest

from dispatch.mode import MODES, parse_mode

#: Both have every way to tell a class, every way to call, and the mode that is the default.
HALVES = (
    ("cuda", "coal", "bits+switch", "header+vtable", "range+switch", "tag+vtable", "auto"),
    (
        "concord", "sharedoa", "typepointer", "bits+vtable", "header+switch", "range+vtable",
        "tag+switch", "auto",
    ),
)  # fmt: skip
#: Together both have every way to tell a class and to call. For programs that call methods of
#: populations, of whose objects the class is known, and pay the host for each call.
FEW = (
    ("cuda", "coal", "header+vtable", "range+switch"),
    ("concord", "typepointer", "bits+switch", "auto"),
)


def half_of_modes(half: Literal[0, 1]) -> list[Any]:
    """Parameters: every mode, those of the other half marked slow. Two tests of the same program
    have different halves."""
    return _parameters(MODES, HALVES[half])


def few_modes(half: Literal[0, 1]) -> list[Any]:
    """Parameters: every mode, all but a few marked slow. Two tests of the same program have
    different halves."""
    return _parameters(MODES, FEW[half])


def _parameters(modes: Sequence[str], quick: Sequence[str]) -> list[Any]:
    return [
        pytest.param(mode, marks=() if mode in quick else pytest.mark.slow, id=mode)
        for mode in modes
    ]


def modes_and_flavours(half: Literal[0, 1]) -> list[Any]:
    """Parameters ``mode`` and ``natural``: every mode of the faithful flavour, ``half_of_modes``,
    and ``few_modes`` of the natural one, which makes objects."""
    both = ("faithful", half_of_modes(half)), ("natural", few_modes(half))
    return [
        pytest.param(*each.values, name == "natural", marks=each.marks, id=f"{each.id}-{name}")
        for name, parameters in both
        for each in parameters
    ]


def modes_and_layouts(part: Literal[0, 1, 2, 3]) -> list[Any]:
    """Parameters ``mode`` and ``layout``: the modes of one half, by turns in records and in tiles,
    ``auto`` in both, and the rest of the product marked slow. Programs have different parts, so
    that each pair is run with some of them: how a call finds its method, and where fields lie, is
    compiled in one place for all programs."""
    half = HALVES[part % 2]
    found = []
    for mode in MODES:
        # Modes that place objects one by one have no tiles.
        able = ("aos", "tile") if parse_mode(mode).placement == "by_type" else ("aos",)
        for turn, layout in enumerate(able):
            is_quick = mode in half and (
                mode == "auto" or (half.index(mode) + part // 2) % len(able) == turn
            )
            marks = () if is_quick else pytest.mark.slow
            found.append(pytest.param(mode, layout, marks=marks, id=f"{mode}-{layout}"))
    return found
