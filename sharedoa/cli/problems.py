"""What went wrong, told in words on the error stream."""

from __future__ import annotations

from rich.console import Console


def show_error(message: object) -> None:
    # A message quotes what users wrote, which must not be taken for markup or emoji.
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)
    console.print(f"error: {message}", style="red" if console.is_terminal else None)
