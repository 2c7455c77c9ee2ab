"""Signed minima and maxima of three numbers in PTX.

ptxas of CUDA 13.0, and so that release's driver, makes one instruction (VIMNMX3) of
``min(min(a, -b), c)`` of numbers of 32 bits, or 16, for sm_90, and loses the sign of b; ``max``
likewise. It takes ``~b + 1`` as it is.
"""

from __future__ import annotations

import re

_NEGATION = re.compile(r"\tneg\.s(16|32) \t(%\w+), (%\w+);\n")
_EXTREME = re.compile(r"\t(min|max)\.s(?:16|32) ")


def with_minima_of_three(ptx: str) -> str:
    """``ptx`` in which no negation is part of a minimum or maximum of three numbers."""
    if len(_EXTREME.findall(ptx)) < 2:
        return ptx
    return _NEGATION.sub(r"\tnot.b\1 \t\2, \3;\n\tadd.s\1 \t\2, \2, 1;\n", ptx)
