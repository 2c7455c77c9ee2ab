"""What ``sharedoa`` means where programs run as ordinary Python with dual numbers.

A program's text is run as it is, with this in the place of ``sharedoa`` and ``math``. Nothing here
comes from the package under test: classes are Python's, arrays are lists, and threads run one after
another.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from . import dual
from .dual import MATH

THREAD = SimpleNamespace(index=(0, 0, 0), size=(1, 1, 1))


class Array:
    """Elements of a list from ``start`` on: slices are the same memory."""

    def __init__(self, data: list[Any], start: int = 0, length: int | None = None) -> None:
        self.data, self.start = data, start
        self.length = len(data) - start if length is None else length

    def __class_getitem__(cls, item: object) -> object:
        return item

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self.length))

    def _place(self, index: int) -> int:
        if not -self.length <= index < self.length:
            raise IndexError(index)
        return self.start + index % self.length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.length)
            assert step == 1
            return Array(self.data, self.start + start, max(stop - start, 0))
        return self.data[self._place(int(index))]

    def __setitem__(self, index: int, value: Any) -> None:
        self.data[self._place(int(index))] = value


class Array2:
    """Rows of one list."""

    def __init__(self, data: list[Any], shape: tuple[int, int]) -> None:
        self.data, self.size = data, shape

    def __class_getitem__(cls, item: object) -> object:
        return item

    @property
    def shape(self) -> tuple[int, int, int]:
        return (*self.size, 1)

    def __len__(self) -> int:
        return self.size[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            return self[index[0]][index[1]]
        return Array(self.data, index % self.size[0] * self.size[1], self.size[1])

    def __setitem__(self, index: tuple[int, int], value: Any) -> None:
        self[index[0]][index[1]] = value


class Vector:
    """Components and what operators do with them, one by one."""

    SIZE = 0
    __slots__ = ("parts",)

    def __init__(self, *parts: Any) -> None:
        self.parts = tuple(parts) if len(parts) > 1 else tuple(parts) * self.SIZE
        assert len(self.parts) == self.SIZE

    def _with(self, other: Any, apply: Callable[[Any, Any], Any]) -> Any:
        others = other.parts if isinstance(other, Vector) else (other,) * self.SIZE
        return type(self)(*map(apply, self.parts, others))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b / a)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a % b)

    def __neg__(self) -> Any:
        return type(self)(*(-part for part in self.parts))

    def __abs__(self) -> Any:
        return type(self)(*(abs(part) for part in self.parts))

    def __len__(self) -> int:
        return self.SIZE

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __getitem__(self, index: int) -> Any:
        return self.parts[index]

    x = property(lambda self: self.parts[0])
    y = property(lambda self: self.parts[1])
    z = property(lambda self: self.parts[2])
    w = property(lambda self: self.parts[3])

    def dot(self, other: Any) -> Any:
        total = self.parts[0] * other.parts[0]
        for a, b in zip(self.parts[1:], other.parts[1:], strict=True):
            total = total + a * b
        return total

    __matmul__ = dot

    def length(self) -> Any:
        return MATH.sqrt(self.dot(self))

    def normalize(self) -> Any:
        return self / self.length()

    def cross(self, other: Any) -> Any:
        if self.SIZE == 2:
            return self.x * other.y - self.y * other.x
        (a, b, c), (d, e, f) = self.parts, other.parts
        return type(self)(b * f - c * e, c * d - a * f, a * e - b * d)


def _vector(size: int) -> type[Vector]:
    return type(f"vec{size}d", (Vector,), {"SIZE": size, "__slots__": ()})


class Object:
    """A class of Python; fields without a value are 0, vectors of zeros, or null."""

    annotations: dict[str, Any]

    def __init_subclass__(cls, **_: Any) -> None:
        own = inspect.get_annotations(cls, eval_str=False)
        cls.annotations = {**getattr(cls, "annotations", {}), **own}


def value(cls: type) -> type:
    """A struct; its fields are given in order."""
    names = list(inspect.get_annotations(cls))

    def initialise(self: Any, *parts: Any) -> None:
        for name, part in zip(names, parts, strict=True):
            object.__setattr__(self, name, part)

    cls.__init__ = initialise  # type: ignore[misc]
    return cls


class _Scalar:
    """``f64``: what has derivatives keeps them."""

    def __call__(self, number: Any) -> Any:
        return number if isinstance(number, dual.Dual) else float(number)


class _Integer:
    def __call__(self, number: Any) -> int:
        return int(number)


class _Inline:
    def __getitem__(self, item: Any) -> Any:
        return item


def atomic_add(target: Any, place: Any, number: Any) -> Any:
    """Threads take turns, so nothing comes in between."""
    if isinstance(place, str):
        before = getattr(target, place)
        setattr(target, place, before + number)
    else:
        before = target[place]
        target[place] = before + number
    return before


def _grid(axes: int) -> Any:
    return THREAD.index[0] if axes == 1 else THREAD.index[:axes]


#: What the name ``oa`` means.
OA = SimpleNamespace(
    Object=Object, value=value, func=lambda function: function, kernel=lambda function: function,
    Array=Array, Array2=Array2, inline=_Inline(), grid=_grid, atomic_add=atomic_add,
    atomic_sub=lambda target, place, number: atomic_add(target, place, -number),
    vec2d=_vector(2), vec3d=_vector(3), vec4d=_vector(4),
    dot=lambda a, b: a.dot(b), length=lambda a: a.length(), normalize=lambda a: a.normalize(),
    cross=lambda a, b: a.cross(b), f64=_Scalar(), f32=_Scalar(), i32=_Integer(), i64=_Integer(),
)  # fmt: skip
_MODULES = {"sharedoa": OA, "math": MATH}


def run_source(text: str) -> SimpleNamespace:
    """The names that a program's text defines, with dual numbers in the place of numbers."""

    def import_(name: str, *arguments: Any, **named: Any) -> Any:
        return _MODULES.get(name) or builtins.__import__(name, *arguments, **named)

    names: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": import_}}
    names["__name__"] = "plain"
    exec(compile("from __future__ import annotations\n" + text, "plain", "exec"), names)
    return SimpleNamespace(**names)


def launch(kernel: Callable[..., Any], threads: int | tuple[int, int], *arguments: Any) -> None:
    """Run a kernel for every thread, one after another."""
    nx, ny = threads if isinstance(threads, tuple) else (threads, 1)
    for index in range(nx * ny):
        THREAD.index = (index % nx, index // nx, 0)
        kernel(*arguments)


def call(method: str, objects: Any, *arguments: Any) -> Array:
    """Call a method on every object."""
    return Array([getattr(each, method)(*arguments) for each in objects])
