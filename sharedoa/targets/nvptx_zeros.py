"""Signs of zeros in PTX.

LLVM makes ``x if x < 0.0 else 0.0`` and ``min(0.0, x)`` a ``min`` of x and 0.0, though PTX orders
-0.0 before 0.0: of -0.0 both are 0.0 in Python, and -0.0 for the instruction. Likewise ``max`` with
-0.0. The other two zeros and all other constants come out right.
"""

from __future__ import annotations

import re

_WRONG = re.compile(r"\t(min|max)\.(f32|f64) \t(%\w+), (%\w+), 0(?:f(0|8)0{7}|d(0|8)0{15});\n")


def with_signed_zeros(ptx: str) -> str:
    """``ptx`` with what LLVM takes for the same, made right."""
    return _WRONG.sub(_exactly, ptx)


def _exactly(found: re.Match[str]) -> str:
    name, type, into, value, single, double = found.groups()
    is_negative = "8" in (single, double)
    if (name == "max") != is_negative:
        return found[0]
    zero = "0f" + "0" * 8 if type == "f32" else "0d" + "0" * 16
    if name == "min":
        return _least(type, into, value, zero)
    negated = f"\tneg.{type} \t{into}, {value};\n"
    return f"{negated}{_least(type, into, into, zero)}\tneg.{type} \t{into}, {into};\n"


def _least(type: str, into: str, value: str, zero: str) -> str:
    # -0.0 + 0.0 is 0.0.
    return f"\tmin.{type} \t{into}, {value}, {zero};\n\tadd.rn.{type} \t{into}, {into}, {zero};\n"
