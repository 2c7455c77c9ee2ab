"""Readable names from mangled ones (Itanium ABI), as far as reports need them."""

from __future__ import annotations

import re

_LENGTH = re.compile(r"\d+")


def class_name(mangled: str) -> str:
    """``6Circle`` is ``Circle``, ``N3geo6CircleE`` is ``geo::Circle``; what is not made of plain
    names (templates) stays as it is."""
    nested = mangled.startswith("N") and mangled.endswith("E")
    rest = mangled[1:-1] if nested else mangled
    parts = []
    while match := _LENGTH.match(rest):
        start, end = match.end(), match.end() + int(match[0])
        if end > len(rest):
            return mangled
        parts.append(rest[start:end])
        rest = rest[end:]
    if rest or not parts or (len(parts) > 1 and not nested):
        return mangled
    return "::".join("(anonymous)" if part.startswith("_GLOBAL__N_") else part for part in parts)
