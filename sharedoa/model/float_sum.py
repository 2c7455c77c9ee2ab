"""``sum`` of Python's own floats, which from 3.12 on adds with a correction: A. Neumaier,
"Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen" (ZAMM 54, 1974)."""

from __future__ import annotations

import sys

from .functions import func
from .type_names import f64

IS_CORRECTED = sys.version_info >= (3, 12)


@func
def correction(total: f64, item: f64, rest: f64) -> f64:
    """What was lost so far when ``item`` is added to ``total``."""
    added = total + item
    if abs(total) >= abs(item):
        return rest + ((total - added) + item)
    return rest + ((item - added) + total)


@func
def corrected(total: f64, rest: f64) -> f64:
    """The sum with what was lost, which is infinite or NaN where the sum is."""
    if rest != f64(0) and rest - rest == f64(0):
        return total + rest
    return total
