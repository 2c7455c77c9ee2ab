"""How far something is: a bar on a terminal and in a notebook, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from .context_managers import contextmanager

Progress = Callable[[int, int], None]


@contextmanager
def reporting(title: str) -> Iterator[Progress | None]:
    """What is called with (done, in all); None where nobody watches."""
    if _is_notebook():
        yield _notebook_bar(title)
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _is_notebook() -> bool:
    """Whether the front end shows HTML: IPython on a terminal does not."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and shell.has_trait("kernel")


def _notebook_bar(title: str) -> Progress:
    """Of HTML alone, as rich would need ipywidgets."""
    from html import escape

    display: Any = import_module("IPython.display")  # which is not typed

    def shown(done: int, total: int) -> Any:
        text = f"{escape(title)}: {done} of {total}"
        return display.HTML(f'<progress value="{done}" max="{total}"></progress> {text}')

    handle = display.display(shown(0, 0), display_id=True)
    return lambda done, total: handle.update(shown(done, total))
