"""A plugin of mypy that changes nothing it says: cycles are hardly ever looked for, which took a
sixth of its processor time. It takes 1.5 GB instead of 0.75."""

from __future__ import annotations

import gc

from mypy.plugin import Plugin


def plugin(version: str) -> type[Plugin]:
    gc.set_threshold(10_000_000, 50, 100)  # after mypy has set its own
    return Plugin
