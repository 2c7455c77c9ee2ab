"""A constant table: numbers of the program around a kernel, which the kernel only reads."""

from __future__ import annotations

import numpy as np

from dispatch.dataclass import dataclass

from .scalars import ScalarType


@dataclass(frozen=True)
class ConstantTable:
    """Numbers of one type in ``shape``, the last index fastest. Two with the same numbers are
    equal; ``name`` is what the source calls it."""

    name: str
    element: ScalarType
    shape: tuple[int, ...]
    data: bytes

    def __repr__(self) -> str:
        return f"table {self.name}"

    @property
    def values(self) -> np.ndarray:
        """The numbers, one after another."""
        return np.frombuffer(self.data, self.element.dtype)
