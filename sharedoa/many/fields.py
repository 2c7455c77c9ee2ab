"""Fields of many objects as arrays, and back, by kernels: the values stay where they are."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ..heap.arrays import Array, FieldView, ObjectArray
from ..heap.placement import FieldPath
from ..heap.run import RunOfObjects
from ..heap.run_detection import MOST_RUNS
from ..model.classes import ClassType
from ..model.functions import DeviceFunction, func
from ..model.intrinsics import grid
from ..model.scalars import ScalarType, i64, u64
from ..model.types import ReferenceType, array_form
from ..runtime.kernel import Kernel
from .scratch import scratch

_READ = """def kernel_read(objects: Array[C], first: i64, values: Array[T]) -> None:
    i = grid(1)
    values[u64(first) + u64(i)] = objects[i].{path}
"""
_READER = """def read(object: C) -> T:
    return lift(object.{path})
"""
_WRITE = """def kernel_write(objects: Array[C], first: i64, values: Array[T]) -> None:
    i = grid(1)
    objects[i].{path} = values[u64(first) + u64(i)]
"""


def field_scalar(view: FieldView) -> ScalarType | None:
    """What a view has of each object, one or several; None for what is no number."""
    type, _ = array_form(view.type)
    return type if isinstance(type, ScalarType) else None


def whole(view: FieldView) -> Any:
    """All objects of a view of one number each, as one argument of a kernel; None where they are
    several, or a number is not all there is of each."""
    _, shape = array_form(view.type)
    parts = [] if shape else [*_parts(view)]
    return parts[0][0] if len(parts) == 1 else None


def values_of(view: FieldView, type: ScalarType) -> Array:
    """A new array of the view's elements, row by row where it has several for each object."""
    found = scratch(view._heap, type, view.size)
    _, shape = array_form(view.type)
    text = _read_several(shape) if shape else _READ
    for objects, first in _parts(view):
        kernel = _kernel(objects._cls, view.path, type, text)
        kernel[len(objects)](objects, first, found)
    return found


def _read_several(shape: tuple[int, ...]) -> str:
    """The kernel that reads an inline array, a vector or a matrix of each object."""
    place, items = "u64(first) + u64(i)", ""
    text = "def kernel_read(objects: Array[C], first: i64, values: Array[T]) -> None:\n"
    text += "    i = grid(1)\n"
    for axis, length in enumerate(shape):
        text += f"{'    ' * (axis + 1)}for k{axis} in range({length}):\n"
        place, items = f"({place}) * u64({length}) + u64(k{axis})", f"{items}[k{axis}]"
    return f"{text}{'    ' * (len(shape) + 1)}values[{place}] = objects[i].{{path}}{items}\n"


def write_values(view: FieldView, type: ScalarType, values: Array) -> None:
    """Assign an array with one element an object."""
    for objects, first in _parts(view):
        kernel = _kernel(objects._cls, view.path, type, _WRITE)
        kernel[len(objects)](objects, first, values)


def _parts(view: FieldView) -> Iterator[tuple[Any, int]]:
    """The objects as arguments of kernels, each with the number of its first one."""
    heap, selection = view._heap, view._selection
    if not selection.count:
        return
    stretches = selection.stretches() if heap.uses_runs else []
    if 0 < len(stretches) <= MOST_RUNS and all(run is not None for _, _, run in stretches):
        for first, stop, run in stretches:
            assert run is not None
            yield RunOfObjects(heap, run, stop - first), first
    elif isinstance(view.source, ObjectArray):
        yield view.source, 0
    else:
        yield heap.array_of(ReferenceType(view._cls), np.asarray(selection.references)), 0


@cache
def reader(cls: ClassType, path: FieldPath, type: ScalarType, lift: DeviceFunction) -> Any:
    """A function of the kernel language: what ``lift`` makes of a field, of ``type``."""
    return func(_made(_READER, cls, path, {"T": type, "lift": lift}))


@cache
def _kernel(cls: ClassType, path: FieldPath, type: ScalarType, text: str) -> Kernel:
    return Kernel(_made(text, cls, path, {"T": type}), {})


def _made(text: str, cls: ClassType, path: FieldPath, known: dict[str, Any]) -> Any:
    source = text.format(path=path)
    lines = source.splitlines(keepends=True)
    name, _, _ = lines[0].removeprefix("def ").partition("(")
    file = f"<{cls.name}.{path}, {name}>"
    linecache.cache[file] = len(source), None, lines, file
    names: dict[str, Any] = {"__name__": __name__, "grid": grid, "i64": i64, "u64": u64}
    names |= {"Array": Array, "C": cls.python_class, **known}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    return names[name]
