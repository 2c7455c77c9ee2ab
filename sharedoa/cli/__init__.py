"""The command line: ``sharedoa info | apps | run | compare | config | cache``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; a user's mistake is told in words, without a traceback."""
    # Imported here: `import sharedoa` shall not load typer and rich.
    from rich.console import Console

    from ..errors import SharedOAError
    from .commands import application

    try:
        application(prog_name="sharedoa")
    except SharedOAError as error:
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print(f"error: {error}", markup=False, style="red" if console.is_terminal else None)
        sys.exit(1)
