"""Bars as SVG, without a library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_LABELS, _BARS, _NUMBERS, _LINE = 270, 420, 110, 18
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222255")
#: With times that differ by more, lengths are logarithmic.
_LOGARITHMIC = 30.0


@dataclass(frozen=True)
class Bar:
    """``low`` and ``high`` are quartiles; bars of one ``kind`` have one colour."""

    label: str
    kind: str
    value: float
    low: float
    high: float


def bars(title: str, unit: str, given: Sequence[Bar]) -> str:
    """The text of an ``svg`` element, the shortest bar first."""
    ordered = sorted(given, key=lambda bar: bar.value)
    kinds = list(dict.fromkeys(bar.kind for bar in given))
    least, most = ordered[0].value, max(bar.high for bar in ordered)
    logarithmic = most > _LOGARITHMIC * least
    scale = f"{title}, {unit}" + (", logarithmic" if logarithmic else "")
    height = (len(ordered) + 1) * _LINE + 8
    width = _LABELS + _BARS + _NUMBERS

    def length(value: float) -> float:
        if not logarithmic:
            return _BARS * value / most
        begin = least / 2
        return _BARS * math.log(max(value, begin) / begin) / math.log(most / begin)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(scale)}">',
        f'<text x="0" y="13" font-weight="bold">{escape(scale)}</text>',
    ]
    for number, bar in enumerate(ordered, 1):
        top, colour = number * _LINE, _COLOURS[kinds.index(bar.kind) % len(_COLOURS)]
        middle, begin = top + _LINE / 2, _LABELS + length(bar.low)
        end = _LABELS + length(bar.high)
        parts += [
            f'<text x="{_LABELS - 6}" y="{top + 13}" text-anchor="end">{escape(bar.label)}</text>',
            f'<rect x="{_LABELS}" y="{top + 2}" width="{length(bar.value):.1f}" '
            f'height="{_LINE - 4}" fill="{colour}"/>',
            f'<line x1="{begin:.1f}" x2="{end:.1f}" y1="{middle}" y2="{middle}" stroke="black"/>',
            f'<text x="{end + 6:.1f}" y="{top + 13}">{bar.value:,.4g}</text>',
        ]
    return "\n".join([*parts, "</svg>"])
