"""``python -m ptxpass``: the command line."""

from .cli import main

main()
