"""A progress bar on a terminal, nothing in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bar

from apps.interface import Progress


@contextmanager
def reporting(title: str) -> Iterator[Progress | None]:
    """What a program calls with (steps done, steps in all); None where nobody watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
