"""Integers of Python source that is being written, to compute with as with Python's own."""

from __future__ import annotations

from dispatch.dataclass import dataclass


@dataclass(frozen=True)
class Spelled:
    """An expression; operators make longer ones. The other operand is a constant or another one."""

    text: str

    def __add__(self, other: Spelled | int) -> Spelled:
        return self if other == 0 else self._with("+", other)

    def __sub__(self, other: Spelled | int) -> Spelled:
        return self._with("-", other)

    def __mul__(self, other: Spelled | int) -> Spelled:
        return self if other == 1 else self._with("*", other)

    def __and__(self, other: Spelled | int) -> Spelled:
        return self._with("&", other)

    def __rshift__(self, other: Spelled | int) -> Spelled:
        return self if other == 0 else self._with(">>", other)

    def _with(self, operator: str, other: Spelled | int) -> Spelled:
        operand = other.text if isinstance(other, Spelled) else str(other)
        return Spelled(f"({self.text} {operator} {operand})")
