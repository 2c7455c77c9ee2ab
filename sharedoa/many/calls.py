"""Which computation a call means, and where: by kernels of a device, or by NumPy on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, EmptyError
from ..heap import hooks
from ..heap.adjoints import AdjointView
from ..heap.array2 import Array2
from ..heap.arrays import Array, FieldView, make_array
from ..heap.heap import Heap
from ..heap.numpy_like import MOST_AT_HAND, NumPyLike
from ..heap.recording import filling_new_memory, is_taped
from ..model.scalars import ScalarType, i64
from ..model.types import Type, array_form
from . import few, fields, on_host, plans, scan, sorting
from .block_scan import ScanPlan
from .operators import operator
from .reduction_plan import Read, ReductionPlan
from .scratch import scratch
from .sort_plan import SortPlan

_KINDS = ("stable", "quicksort", "mergesort", "heapsort")  #: of sorting, which all give the same
_EXTREMES = {"min": "min", "max": "max", "argmin": "min", "argmax": "max"}


def many(values: NumPyLike, name: str, options: dict[str, Any]) -> Any:
    """``values.name(**options)`` (``heap.many.Many``)."""
    if is_taped(values._heap):
        return hooks.traced_many(values, name, options)
    type = number_type(values, name)
    if not _are_usual(values, options):
        return _by_numpy(values, name, {k: v for k, v in options.items() if v is not None})
    if name == "cumsum":
        return cumsum(values, type)
    if name == "sort":
        return _sort(values, type)
    if name == "argsort":
        return _argsort(values, type)
    return reduce(values, name, type)


def plain(values: NumPyLike, name: str) -> Any:
    """``values.name()``, without options."""
    heap = values._heap
    if heap.plans and heap.backend.target.is_device:
        found = plans.again(values, name)
        if found is not NotImplemented:
            return found
    # Prefix sums of floats are a kernel's, which waits for no other launch.
    is_launched = name == "cumsum" and values.dtype.kind == "f"
    given = None if is_launched else few.at_hand(values)
    if given is not None:
        found = few.computed(values, given, name)
        if found is not NotImplemented:
            return found
    return many(values, name, {})


def number_type(values: NumPyLike, name: str) -> ScalarType:
    """What the elements are. Raises ArgumentError if they are no numbers."""
    element: Type | None = fields.field_scalar(values) if isinstance(values, FieldView) else None
    if isinstance(values, Array):
        element, _ = array_form(values.__sharedoa_element__)
    if not isinstance(element, ScalarType):
        what = values._description()
        raise ArgumentError(
            f"{what} has no {name}, as its elements are no numbers",
            "take a field of the objects, or a component of the values: objects.field"
            + (", or oa.sort(objects, key)" if name in ("sort", "argsort") else ""),
        )
    return element


def _are_usual(values: NumPyLike, options: dict[str, Any]) -> bool:
    """Whether nothing is asked for but what kernels do."""
    for name, value in options.items():
        if value is None:
            continue
        if name == "axis":
            if values.ndim > 1 or value not in (0, -1, (0,)):
                return False
        elif name != "stable" and (name != "kind" or value not in _KINDS):
            return False
    return True


def _by_numpy(values: NumPyLike, name: str, options: dict[str, Any]) -> Any:
    if name in ("sort", "argsort") and options.get("kind", "stable") in _KINDS:
        # Which of equal elements comes first depends on the processor else.
        options = {**options, "kind": "stable"}
        options.pop("stable", None)  # which NumPy takes instead of a kind
    if name != "sort":
        return getattr(values._numpy(), name)(**options)
    found = np.array(values._numpy())
    found.sort(**options)
    values[...] = found
    return None


def is_for_numpy(values: NumPyLike) -> bool:
    """Whether NumPy computes: where CPython runs kernels, and for few elements in the memory of the
    host."""
    backend = values._heap.backend
    if isinstance(values, AdjointView):
        return True  # kernels know of no adjoints
    return backend.name == "python" or (
        not backend.target.is_device and values.size <= MOST_AT_HAND
    )


def array_of(values: NumPyLike, type: ScalarType) -> Array:
    """The elements one after another: the array itself, or a new one of a field's values."""
    if isinstance(values, Array):
        flat = values._flat if isinstance(values, Array2) else values
        return flat if flat.ndim == 1 else components(flat, type)
    assert isinstance(values, FieldView)
    return fields.values_of(values, type)


def components(array: Array, type: ScalarType) -> Array:
    """The components of an array of vectors one after another: the same memory."""
    return make_array(array._heap, type, array._storage, array._address, array.size)


@filling_new_memory
def reduce(values: NumPyLike, name: str, type: ScalarType) -> Any:
    """One number for all elements, of NumPy's type for it."""
    if values.size == 0:
        return _of_nothing(values, name, type)
    return reduce_some(values, name, type)


def reduce_some(values: NumPyLike, name: str, type: ScalarType) -> Any:
    """``reduce`` of at least one element."""
    if not values._heap.backend.target.is_device or is_for_numpy(values):
        of, given = operator(_EXTREMES.get(name, name), type), _on_host(values, type)
        return on_host.finished(on_host.reduced(given, name, of.total), name, len(given))
    objects = fields.whole(values) if isinstance(values, FieldView) else None
    if objects is None:
        return _on_device(array_of(values, type), name, type)
    assert isinstance(values, FieldView)
    of = operator(_EXTREMES.get(name, name), type)
    lift = fields.reader(values._cls, values.path, of.total, of.lift)
    key = Read(values._cls.python_class, lift), of, values.size, name
    heap = values._heap
    return plans.planned(heap, key, lambda: ReductionPlan(heap, *key), objects)


def _on_device(array: Array, name: str, type: ScalarType) -> Any:
    """``array.name()`` of at least one number, by kernels of a device."""
    heap, length = array._heap, len(array)
    key = plans.of_row(name, type, length)
    return plans.planned(heap, key, lambda: _plan(heap, name, type, length), array)


def _plan(heap: Heap, name: str, type: ScalarType, length: int) -> plans.Plan:
    if name in ("sort", "argsort"):
        return SortPlan(heap, sorting.keys_of(type), length, name == "argsort")
    of = operator("sum" if name == "cumsum" else _EXTREMES.get(name, name), type)
    if name == "cumsum":
        return ScanPlan(heap, type, *of, length)
    return ReductionPlan(heap, Read(type, of.lift), of, length, name)


def _on_host(values: NumPyLike, type: ScalarType) -> Any:
    """The elements one after another, for NumPy."""
    if is_for_numpy(values):
        return np.ravel(values._numpy())
    return array_of(values, type)._numpy()


def _of_nothing(values: NumPyLike, name: str, type: ScalarType) -> Any:
    if name in _EXTREMES:
        raise EmptyError(
            f"{values._description()} has no elements, and so no {name}",
            "look at its length first",
        )
    if name == "count":
        return np.int64(0)
    return getattr(np.empty(0, type.dtype), name)()


@filling_new_memory
def cumsum(values: NumPyLike, type: ScalarType) -> Array:
    """Prefix sums in a new array, of the type of the sum."""
    heap, of = values._heap, operator("sum", type)
    if not values.size:
        return heap.blank(of.total, 0)
    if is_for_numpy(values) and (not of.total.is_float or heap.backend.name != "cpu"):
        given, result = np.ravel(values._numpy()), scratch(heap, of.total, values.size)
        if of.total.is_float:
            result._values()[:] = scan.sums_in_cpython(given)
        else:
            np.cumsum(given, dtype=of.total.dtype, out=result._values())
        return result
    array = array_of(values, type)
    if heap.backend.target.is_device and not is_taped(heap):
        found: Array = _on_device(array, "cumsum", type)
        return found
    return scan.scan(array, *of)


def _sort(values: NumPyLike, type: ScalarType) -> None:
    if values.ndim > 1:
        _by_numpy(values, "sort", {})
        return
    if values.size < 2:
        return
    if not values._heap.backend.target.is_device:
        _sort_on_host(values, type)
        return
    array = array_of(values, type)
    _on_device(array, "sort", type)
    if isinstance(values, FieldView):
        fields.write_values(values, type, array)


def _sort_on_host(values: NumPyLike, type: ScalarType) -> None:
    if isinstance(values, Array):
        few.sort(values, values._numpy())
        return
    copy = np.array(values._numpy())
    if type.is_float:
        on_host.sort_floats(copy)
    else:
        on_host.sort(copy)
    values[...] = copy


@filling_new_memory
def _argsort(values: NumPyLike, type: ScalarType) -> Any:
    if values.ndim > 1:
        return _by_numpy(values, "argsort", {})
    heap = values._heap
    if heap.backend.target.is_device and not is_for_numpy(values) and values.size > 1:
        return _on_device(array_of(values, type), "argsort", type)
    order = scratch(heap, i64, values.size)
    on_host.argsort(np.ascontiguousarray(values._numpy()), order._values())
    return order
