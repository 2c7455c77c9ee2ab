"""``python -m sharedoa``: the command line."""

from .cli import main

main()
