"""Signed minima and maxima of three numbers in PTX.

ptxas of CUDA 13.0, and so that release's driver, makes one instruction (VIMNMX3) of
``min(min(a, -b), c)`` of 32-bit numbers for sm_90, and loses the sign of b; ``max`` likewise. It
takes ``~b + 1`` as it is.
"""

from __future__ import annotations

import re

_NEGATION = re.compile(r"\tneg\.s32 \t(%\w+), (%\w+);\n")


def with_minima_of_three(ptx: str) -> str:
    """``ptx`` in which no negation is part of a minimum or maximum of three numbers."""
    if max(ptx.count("\tmin.s32 "), ptx.count("\tmax.s32 ")) < 2:
        return ptx
    return _NEGATION.sub(r"\tnot.b32 \t\1, \2;\n\tadd.s32 \t\1, \1, 1;\n", ptx)
