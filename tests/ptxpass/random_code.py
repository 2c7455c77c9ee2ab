"""What random modules are written with: choices, and bodies of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

FIRST, SECOND, NEXT = 8, 12, 16
"""Where an object's fields are: two u32, a reference to another object."""
NUMBER, REFERENCE, NOTHING = "number", "reference", "nothing"
RESULTS = {NUMBER: "b32", REFERENCE: "b64", NOTHING: ""}
OPERATIONS = ("add.s32", "sub.s32", "mul.lo.s32", "xor.b32", "and.b32", "or.b32", "min.u32")

T = TypeVar("T")


@dataclass
class Draw:
    """Choices that hypothesis makes, and can make smaller."""

    draw: Callable[[st.SearchStrategy[int]], int]

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def choose(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def flag(self) -> bool:
        return bool(self.number(0, 1))

    def rarely(self) -> bool:
        return self.number(0, 7) == 7


@dataclass
class Code:
    """A body that is being written."""

    draw: Draw
    lines: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def new(self, kind: str) -> str:
        """A register (rd, r, p), or another name."""
        number = self.counts.get(kind, 0)
        self.counts[kind] = number + 1
        return f"%{kind}{number}" if kind in ("rd", "r", "p") else f"{kind}{number}"

    def put(self, *lines: str) -> None:
        self.lines += [f"\t{line}" for line in lines]

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def text(self) -> str:
        declared = [
            f"\t.reg .{type} \t%{kind}<{self.counts[kind]}>;"
            for type, kind in (("pred", "p"), ("b32", "r"), ("b64", "rd"))
            if kind in self.counts
        ]
        return "\n".join([*declared, *self.lines, ""])
