"""Arrays of two dimensions as a type: to kernels a value struct of an array, row by row, and the
numbers of rows and columns.

So it travels, is passed on, and is compiled as any value struct is. What kernels do with it the
front end writes as rows, which are arrays, and their elements (``frontend.subscripts``).
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from dispatch.dataclass import dataclass

from ..errors import ArgumentError
from .scalars import i64
from .types import ArrayType, ReferenceType, Type, ValueType

FLAT, ROWS, COLUMNS = "_flat", "_rows", "_columns"


@dataclass(frozen=True, eq=False, repr=False)
class Array2Type(ValueType):
    """Its fields are attributes of ``heap.array2.Array2``."""

    in_memory: ClassVar[bool] = False

    @property
    def flat(self) -> ArrayType:
        """The type of all elements, and that of a row."""
        flat = self.fields[FLAT]
        assert isinstance(flat, ArrayType)
        return flat

    @property
    def element(self) -> Type:
        return self.flat.element

    def __repr__(self) -> str:
        return f"Array[{self.element!r}, 2]"

    def accept(self, value: Any, what: str) -> Any:
        if getattr(value, "_kernel_type", None) is not self:
            from .values import describe

            raise ArgumentError(
                f"{what} takes {self!r}, not {describe(value)}",
                f"make one of two dimensions: oa.zeros((rows, columns), {self.element!r}), or "
                f"oa.array({self.element!r}, data) of such data",
            )
        return value


@cache
def array2_type(element: Type) -> Array2Type:
    """The type of arrays of two dimensions with such elements."""
    name = element.cls.name if isinstance(element, ReferenceType) else repr(element)
    fields: dict[str, Type] = {FLAT: ArrayType(element), ROWS: i64, COLUMNS: i64}
    return Array2Type(f"Array2_{name}", object, fields, {})
