"""Arrays from what users give: data, a shape, or other arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..model.types import Type, array_form
from .array2 import array_of_shape
from .arrays import Array, ObjectArray
from .construction import concatenated, element_column, element_type, shape_of_new
from .placement import Values
from .recording import require_executing
from .transfer import array_column

if TYPE_CHECKING:
    from .heap import Heap


def array(heap: Heap, element: Any, data: Any) -> Array:
    """Raises ArgumentError for data that do not convert, HeapError if they do not fit."""
    require_executing(heap, "creating an array")
    type = element_type(heap, element)
    elements, inner = element_column(heap, type, data), array_form(type)[1]
    shape = elements.shape[: elements.ndim - len(inner)]
    made = array_of_shape(array_of(heap, type, elements.reshape(-1, *inner)), shape)
    if isinstance(data, ObjectArray) and isinstance(made, ObjectArray) and data._heap is heap:
        made._know_run(data._run)
    return made


def zeros(heap: Heap, n: int | tuple[int, int], element: Any) -> Array:
    """Raises ArgumentError for what is no shape or no type, HeapError if they do not fit."""
    require_executing(heap, "creating an array")
    if isinstance(element, (int, np.integer)):
        raise ArgumentError(
            f"oa.zeros takes the type of elements second, not {element!r}",
            "write the length first: oa.zeros(3, f32)",
        )
    type = element_type(heap, element)
    shape = shape_of_new(n)
    return array_of_shape(heap.blank(type, math.prod(shape)), shape)


def concat(heap: Heap, parts: tuple[Any, ...]) -> Array:
    """Raises ArgumentError for parts of different types, HeapError if they do not fit."""
    require_executing(heap, "creating an array")
    type, values = concatenated(heap, parts)
    return array_of(heap, type, values)


def array_of(heap: Heap, element: Type, values: Values, kind: type[Array] | None = None) -> Array:
    """Of elements as memory holds them. Raises ArgumentError for more than two dimensions."""
    dimensions = values.ndim - len(array_form(element)[1])
    if dimensions == 2:
        flat = array_of(heap, element, values.reshape(-1, *values.shape[2:]))
        return array_of_shape(flat, values.shape[:2])
    if dimensions != 1:
        raise ArgumentError(
            f"elements of an Array[{element!r}] are chosen in {dimensions} dimensions",
            "arrays have one or two: choose with an index that has",
        )
    array = heap.blank(element, len(values), kind)
    if not heap.memory.send(array_column(array._address, array._dtype, len(array)), values):
        array._write_raw(values)
    return array
