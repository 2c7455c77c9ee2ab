"""Frames of a run written to a file: the last one as a picture, or all as an animation (Pillow)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ptxpass.output_file import whole_file
from sharedoa.errors import ArgumentError

from .output_file import require_writable

ENDINGS = (".png", ".gif")
FRAME_MILLISECONDS = 80


def require_drawable(file: Path) -> None:
    """Raise ArgumentError when a picture cannot be drawn to ``file``, for whatever reason."""
    require_writable(file, ENDINGS)
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise ArgumentError(
            "pictures are drawn with Pillow, which is not installed",
            "pip install 'sharedoa[plot]'",
        ) from None


def is_animation(file: Path) -> bool:
    return file.suffix.lower() == ".gif"


class Film:
    """Collects images (``PIL.Image``) along a run; of a picture only the last one is kept."""

    def __init__(self, file: Path, frame_milliseconds: int = FRAME_MILLISECONDS) -> None:
        self._file = file
        self._milliseconds = frame_milliseconds
        self.animated = is_animation(file)
        self._frames: list[Any] = []

    def add(self, image: Any) -> None:
        if not self.animated:
            self._frames.clear()
        elif self._frames:  # one palette for all frames, or still things would flicker
            image = image.quantize(palette=self._frames[0], dither=0)
        else:
            image = image.quantize(colors=255, dither=0)
        self._frames.append(image)

    def write(self) -> Path:
        """Write the file. Raises ArgumentError when that fails."""
        first, *others = self._frames
        options: dict[str, Any] = {}
        if self.animated:
            options = {
                "save_all": True,
                "append_images": others,
                "duration": self._milliseconds,
                "loop": 0,
            }
        try:
            with whole_file(self._file) as opened:
                first.save(opened, format="GIF" if self.animated else "PNG", **options)
        except OSError as error:
            raise ArgumentError(
                f"{self._file} cannot be written: {error.strerror or error}", "name another file"
            ) from None
        return self._file
