"""The command line: ``sharedoa info | apps | run | compare | profile | config | cache``."""

from __future__ import annotations

import os
import sys

#: What shells give to a program that Ctrl-C ended.
INTERRUPTED = 130


def main() -> None:
    """Run the command line; a user's mistake is told in words, without a traceback."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


def _run() -> None:
    # Imported here: `import sharedoa` shall not load typer and rich.
    from ..errors import SharedOAError
    from .commands import application
    from .problems import show_error

    try:
        application(prog_name="sharedoa")
    except SharedOAError as error:
        show_error(error)
        sys.exit(1)
    except MemoryError as error:
        show_error(
            f"the memory of this machine is not enough: {str(error) or 'an allocation failed'}\n"
            "help: give a smaller --size, or a smaller --input"
        )
        sys.exit(1)
    except OSError as error:
        # Files are named in such errors, what is printed to has no name.
        if error.filename is not None:
            raise
        # Or Python would fail to write what is left in the buffer once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        show_error(f"the output cannot be written: {error.strerror or error}")
        sys.exit(1)
