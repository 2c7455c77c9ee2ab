"""``oa.HashGrid[T]`` as a type: to kernels a grid is a value struct of arrays and numbers.

So it travels, is passed on to functions and methods, and is compiled as any value struct is. What
kernels do with it, ``for x in grid.near(...)``, the front end writes as loops that call the
functions of ``grid_search``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dispatch.dataclass import dataclass

from .classes import ClassType
from .grid_search import GridShape
from .kept_by_class import kept_by_class
from .scalars import f32, f64, i32
from .types import ArrayType, ReferenceType, Type, ValueType


@dataclass(frozen=True, eq=False, repr=False)
class GridType(ValueType):
    """A grid of references to objects of ``cls``. Its fields are attributes of ``oa.HashGrid``,
    which is ``python_class``."""

    in_memory: ClassVar[bool] = False

    @property
    def cls(self) -> ClassType:
        return objects_of(self).cls

    def __repr__(self) -> str:
        return f"HashGrid[{self.cls.name}]"

    def accept(self, value: Any, what: str) -> Any:
        self.python_class.__sharedoa_accept__(self, value, what)  # type: ignore[attr-defined]
        return value


def objects_of(type: GridType) -> ReferenceType:
    """What the elements of the grid's array of objects are."""
    objects = type.fields["_objects"]
    assert isinstance(objects, ArrayType) and isinstance(objects.element, ReferenceType)
    return objects.element


@kept_by_class
def grid_type(cls: ClassType, python_class: type) -> GridType:
    """The type of grids of ``cls``; ``python_class`` is ``oa.HashGrid``."""
    shape = vars(GridShape)["__sharedoa_value__"]
    fields: dict[str, Type] = {
        "_objects": ArrayType(ReferenceType(cls)),
        "_starts": ArrayType(i32),
        "_points32": ArrayType(f32),
        "_points64": ArrayType(f64),
        "_shape": shape,
    }
    return GridType(f"HashGrid_{cls.name}", python_class, fields, {})
