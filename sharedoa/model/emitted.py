"""Integers of a program that is being generated, to compute with as with Python's own."""

from __future__ import annotations

from typing import Any

from dispatch.dataclass import dataclass


@dataclass(frozen=True)
class Emitted:
    """An LLVM integer; operators emit instructions at ``builder``. The other operand is a constant
    or a number of the same builder and type."""

    builder: Any
    value: Any

    def __add__(self, other: Emitted | int) -> Emitted:
        return self if other == 0 else self._of("add", other)

    def __sub__(self, other: Emitted | int) -> Emitted:
        return self._of("sub", other)

    def __mul__(self, other: Emitted | int) -> Emitted:
        return self if other == 1 else self._of("mul", other)

    def __and__(self, other: Emitted | int) -> Emitted:
        return self._of("and_", other)

    def __rshift__(self, other: Emitted | int) -> Emitted:
        """A logical shift."""
        return self._of("lshr", other)

    def _of(self, operation: str, other: Emitted | int) -> Emitted:
        operand = other.value if isinstance(other, Emitted) else self.value.type(other)
        return Emitted(self.builder, getattr(self.builder, operation)(self.value, operand))
