"""What vectors, matrices and quaternions are to the host and to NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..model.annotations import Scope
from ..model.functions import DeviceFunction
from ..model.scalars import ScalarType
from ..model.shown import shown
from ..model.structs import define
from ..model.types import ValueType

Methods = dict[str, Callable[..., Any]]


def finish(
    cls: Any,
    name: str,
    scope: Scope,
    component: ScalarType,
    shape: tuple[int, ...],
    methods: Methods,
    constructors: dict[int, DeviceFunction],
) -> None:
    """Make a class a vector, a matrix or a quaternion, of that name and with these methods, too.
    Annotations are resolved in ``scope``."""
    cls.__name__ = cls.__qualname__ = name
    cls.__module__ = "sharedoa"
    for each, function in methods.items():
        setattr(cls, each, function)
    dtype = np.dtype((component.dtype, shape))
    struct = define(cls, scope, dtype, constructors)
    for function in (_array, _array_ufunc, _getitem, _iter, _len, _repr):
        setattr(cls, f"_{function.__name__}__", function)
    assert struct.shape == shape


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    struct: ValueType = self.__sharedoa_value__
    parts = [getattr(self, name) for name in struct.fields]
    return np.array(parts, dtype or struct.component.dtype)


#: By NumPy's functions, the operators that they stand for.
_OPERATORS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv",
    np.floor_divide: "floordiv", np.remainder: "mod", np.matmul: "matmul",
}  # fmt: skip


def _array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """With arrays a vector is one itself; with NumPy's numbers it does what operators do."""
    if any(np.ndim(each) for each in inputs if not _is_struct(each)):
        plain = (np.asarray(each) if _is_struct(each) else each for each in inputs)
        return getattr(ufunc, method)(*plain, **options)
    name = _OPERATORS.get(ufunc)
    if name is None or method != "__call__" or options:
        return NotImplemented
    left, right = inputs
    if _is_struct(left):
        return getattr(operator, name)(left, right)
    return getattr(right, f"__r{name}__")(left)


def _is_struct(value: Any) -> bool:
    return hasattr(type(value), "__sharedoa_value__")


def _getitem(self: Any, index: Any) -> Any:
    first, *rest = index if isinstance(index, tuple) else (index,)
    names = list(self.__sharedoa_value__.fields)
    place = operator.index(first)
    if not -len(names) <= place < len(names):
        raise IndexError(f"index {place} is outside of {type(self).__name__}")
    part = getattr(self, names[place])
    return part[tuple(rest)] if rest else part


def _iter(self: Any) -> Iterator[Any]:
    return (getattr(self, name) for name in self.__sharedoa_value__.fields)


def _len(self: Any) -> int:
    return len(self.__sharedoa_value__.fields)


def _repr(self: Any) -> str:
    parts = (shown(getattr(self, name)) for name in self.__sharedoa_value__.fields)
    return f"{type(self).__name__}({', '.join(parts)})"
