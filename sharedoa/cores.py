"""How many cores there are for this process."""

from __future__ import annotations

import os
from functools import cache

from .forks import call_in_child

#: What it says when this is imported, as for OpenMP: a cluster of Dask sets it in its own process,
#: too, from which workers have it.
_asked = os.environ.get("OMP_NUM_THREADS", "")


@cache
def worker_count() -> int:
    """Cores that this process may use: those that the system gives it, but no more than
    ``OMP_NUM_THREADS`` said at first, by which Dask and Ray share a machine among workers."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    # A list has a number for each level of nesting.
    asked = _asked.partition(",")[0].strip()
    return min(cores, int(asked) or cores) if asked.isdecimal() else cores


# A sweep gives each forked worker a core.
call_in_child(worker_count.cache_clear)
