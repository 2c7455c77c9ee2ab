"""Keeping a folder named like one of our packages from being imported in its place.

``python -m ptxpass`` puts the current folder first on the search path, where any ``dispatch`` would
hide ours. Installed scripts do not have this problem. ``sharedoa`` does the same for itself, since
neither can import the other before it is done. Importing this module mends the path.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def drop_current_folder() -> None:
    """Take the current folder off the search path if Python put it there to run us, unless it is
    where this package lies."""
    started = sys.orig_argv
    if sys.argv[:1] != ["-m"] or "-m" not in started[:-1]:
        return  # Python is not looking for a module to run, or it is done with that
    module = started[started.index("-m") + 1]
    if module.partition(".")[0] != "ptxpass" or sys.flags.safe_path:
        return  # the other package's, or nobody's: what is first need not even be there
    if not os.path.samefile(sys.path[0] or os.curdir, Path(__file__).parents[1]):
        del sys.path[0]


drop_current_folder()
