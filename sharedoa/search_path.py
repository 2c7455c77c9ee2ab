"""Keeping a folder named like one of our packages from being imported in its place.

``python -m sharedoa`` puts the current folder first on the search path, where any ``apps`` or
``dispatch`` would hide ours. Installed scripts do not have this problem, but files beside a script
do. Importing this module mends the path, and says what is wrong where it cannot.
"""

from __future__ import annotations

import importlib.util
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
    if module.partition(".")[0] != "sharedoa" or sys.flags.safe_path:
        return  # the other package's, or nobody's: what is first need not even be there
    if not os.path.samefile(sys.path[0] or os.curdir, Path(__file__).parents[1]):
        del sys.path[0]


def refuse_strangers() -> None:
    """Raise ImportError, naming the file, where something else hides a package of ours."""
    ours = Path(__file__).parents[1]
    for name in ("dispatch", "ptxpass"):
        found = importlib.util.find_spec(name)
        origin = None if found is None else found.origin
        if origin is not None and Path(origin).parent != ours / name:
            raise ImportError(
                f"{origin} hides the package {name} that sharedoa brings; rename it, or start "
                "Python where it is not on the search path"
            )


drop_current_folder()
refuse_strangers()
