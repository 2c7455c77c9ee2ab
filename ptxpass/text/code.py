"""New code for one function: registers, labels, lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

PREFIX = "sharedoa_"
REGISTER = f"%{PREFIX}"
DIRECT_CALL = f"${PREFIX}direct_"
"""Labels of call sequences whose callee may be put in their place."""
_NAMES = {"b64": "rd", "b32": "r", "b16": "rs", "pred": "p"}


class Names:
    """Names that no module has yet."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = itertools.count()

    def label(self, start: str = f"${PREFIX}") -> str:
        return f"{start}{next(self._numbers)}"


class Registers:
    """The registers that new code of one function needs; ``kind`` keeps those of different passes
    apart."""

    def __init__(self, kind: str = "") -> None:
        self._prefix = REGISTER + kind
        self._counts = dict.fromkeys(_NAMES, 0)

    def new(self, type: str) -> str:
        number = self._counts[type]
        self._counts[type] += 1
        return f"{self._prefix}{_NAMES[type]}{number}"

    def declarations(self) -> str:
        """Their declarations, to stand first in the function."""
        return "".join(
            f"\n\t.reg .{type} \t{self._prefix}{_NAMES[type]}<{count}>;"
            for type, count in self._counts.items()
            if count
        )
