"""What a graph program writes: the values as text, as the artifact does, or columns (Pillow)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ptxpass.output_file import write_whole
from sharedoa.errors import ArgumentError

from ..common.colours import BACKGROUND, FAINT_TEXT, TEXT
from ..common.film import Film, require_drawable
from ..common.output_file import require_writable
from .workload import Bar, Values

_WIDTH, _HEIGHT, _MARGIN = 1200, 700, 60
_COLUMN = "#35e0c0"
#: A column's label needs so many pixels; beyond that only some columns have one.
_LABEL_WIDTH = 60


def require_output(file: Path) -> None:
    """Raise ArgumentError unless results can be written to ``file``."""
    require_writable(file, (".png", ".txt"))
    if file.suffix.lower() == ".png":
        require_drawable(file)


def write_values(file: Path, values: Values) -> None:
    """One value a line."""
    style = "%f" if values.dtype.kind == "f" else "%d"
    try:
        write_whole(file, "".join(f"{style % value}\n" for value in values.tolist()))
    except OSError as error:
        raise ArgumentError(
            f"{file} cannot be written: {error.strerror}", "name another file"
        ) from None


def draw_chart(file: Path, title: str, subtitle: str, bars: list[Bar]) -> None:
    """Columns whose height is the square root of what they stand for, so that few show too."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (_WIDTH, _HEIGHT), BACKGROUND)
    draw = ImageDraw.Draw(image)
    large, small = ImageFont.load_default(size=26), ImageFont.load_default(size=15)
    draw.text((_MARGIN, 22), title, fill=TEXT, font=large)
    draw.text((_MARGIN, 58), f"{subtitle} (heights are square roots)", fill=FAINT_TEXT, font=small)
    _draw_bars(draw, bars, small)
    film = Film(file)
    film.add(image)
    film.write()


def _draw_bars(draw: Any, bars: list[Bar], font: Any) -> None:
    if not bars:
        return
    room = _HEIGHT - 3 * _MARGIN
    width = (_WIDTH - 2 * _MARGIN) / len(bars)
    highest = max(max(bar.height for bar in bars), 1) ** 0.5
    spacing = max(1, round(_LABEL_WIDTH / width))
    base = _HEIGHT - _MARGIN
    for place, bar in enumerate(bars):
        left = _MARGIN + place * width
        top = base - room * bar.height**0.5 / highest
        if bar.height:
            draw.rectangle([left, top, left + max(width * 0.85, 1), base], fill=_COLUMN)
        if place % spacing == 0:
            middle = left + width * 0.42
            draw.text((middle, base + 6), bar.label, fill=TEXT, font=font, anchor="ma")
            if bar.height:
                draw.text(
                    (middle, top - 4), f"{bar.height:,}", fill=FAINT_TEXT, font=font, anchor="mb"
                )
