"""The functions of ``sharedoa`` that act on the current heap."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..errors import ArgumentError
from ..model import object as object_model
from ..model.classes import ClassType
from ..model.intrinsics import known_in_kernels
from ..model.object import Object, shared_type
from ..model.values import describe
from . import foreign, hooks, living, moving
from .array2 import Array2
from .arrays import Array
from .heap import Heap, current_heap
from .population import Population
from .recording import require_executing
from .split_array import SplitArray, split_array

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
    Rows = np.ndarray[tuple[int, int], Any]
else:
    from typing import TypeVar

    T = TypeVar("T")
_NOT_GIVEN: Any = object()
#: Numbers of elements.
Shape = int | np.integer[Any]


@overload
def new(python_class: type[T], /, **fields: Any) -> T: ...
@overload
def new(python_class: type[T], n: int | np.integer[Any], /, **fields: Any) -> Array[T]: ...
@known_in_kernels("new")
def new(python_class: type, n: Any = None, /, *others: Any, **fields: Any) -> Any:
    """``n`` objects of a class in an array, or without ``n`` one object. A field takes one value
    for all objects or one for each; fields that are not named have their defaults, else they are
    zero or null. Of a class with an ``__init__`` they are its arguments instead.

    In kernels and methods that they call it makes one object, which belongs to ``oa.all(C)`` from
    the next launch on; without room (``oa.reserve``) it gives None, and waiting raises HeapError.

    Raises ClassError for an abstract class, ArgumentError for wrong fields, HeapError if they do
    not fit; then no object was made.
    """
    inside = hooks.kernel_objects()
    if inside is not None:
        if n is not None:
            raise ArgumentError("oa.new makes one object in a kernel", "write oa.new(C, field=...)")
        return inside.new(shared_type(python_class), (), fields)
    return current_heap().new(python_class, n, *others, **fields)


def _construct(cls: ClassType, arguments: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    inside = hooks.kernel_objects()
    if inside is not None:
        return inside.new(cls, arguments, fields)
    return current_heap().construct(cls, arguments, fields)


def _grad_of(one: Object) -> Any:
    from .adjoints import AdjointsOfOne

    return AdjointsOfOne(one._heap.array(type(one), [one]))


object_model.construct, object_model.grad_of = _construct, _grad_of


@overload
def array(element: type[int], data: Rows) -> Array2[int]: ...
@overload
def array(element: type[float], data: Rows) -> Array2[float]: ...
@overload
def array(element: type[np.floating[Any]], data: Any) -> Array[float]: ...
@overload
def array(element: type[np.integer[Any]], data: Any) -> Array[int]: ...
@overload
def array(element: type[T], data: Any) -> Array[T]: ...
@overload
def array(element: np.dtype[Any], data: Any) -> Array: ...
@overload
def array(data: Any, /) -> Array: ...
def array(element: Any, data: Any = _NOT_GIVEN) -> Array:
    """An array that kernels can reach, of a scalar type, shared class or value class, with the
    elements of a NumPy array, a list or another iterable; of rows and columns if the data have two
    dimensions.

    ``oa.array(x)`` of an array of another library, which lies where the heap is, copies nothing:
    what either side writes the other one sees. On a CPU it takes what has DLPack (NumPy, PyTorch,
    JAX), on a GPU what has a CUDA array interface (CuPy, PyTorch, Numba).

    Raises ArgumentError for data that do not convert or lie elsewhere, HeapError if they do not
    fit.
    """
    if data is not _NOT_GIVEN:
        return current_heap().array(element, data)
    heap = current_heap()
    if not isinstance(element, np.ndarray) and not foreign.is_foreign(element):
        raise ArgumentError(
            f"oa.array of one thing takes an array of another library, not {describe(element)}",
            "name the type of elements first: oa.array(f32, data)",
        )
    require_executing(heap, "creating an array")
    return foreign.adopt(heap, element, "oa.array")


@overload
def zeros(n: tuple[int, int], element: type[np.floating[Any]]) -> Array2[float]: ...
@overload
def zeros(n: tuple[int, int], element: type[np.integer[Any]]) -> Array2[int]: ...
@overload
def zeros(n: tuple[int, int], element: type[T]) -> Array2[T]: ...
@overload
def zeros(n: Shape, element: type[np.floating[Any]]) -> Array[float]: ...
@overload
def zeros(n: Shape, element: type[np.integer[Any]]) -> Array[int]: ...
@overload
def zeros(n: Shape, element: type[T]) -> Array[T]: ...
@overload
def zeros(n: Shape, element: np.dtype[Any]) -> Array: ...
def zeros(n: Any, element: Any = _NOT_GIVEN) -> Array:
    """An array of ``n`` zeros or null references; of rows and columns if ``n`` is a pair. Raises
    ArgumentError for a length or a type that there is not, HeapError if they do not fit."""
    if element is _NOT_GIVEN:
        raise ArgumentError("oa.zeros lacks the type of elements", f"write oa.zeros({n!r}, f32)")
    return current_heap().zeros(n, element)


def concat(*parts: Array[T] | Population[T]) -> Array[T]:
    """All elements of arrays or populations one after another in a new array, in the heap that they
    lie in. Objects of several classes become references to the closest class that they share."""
    heap = _heap_of(parts[0]) if parts else current_heap()
    return heap.concat(*parts)


def split(array: Array[T], lengths: Any) -> SplitArray[T]:
    """The array cut into consecutive pieces, which share its memory; ``lengths`` are the numbers of
    elements of each, ints of shape (pieces,), 0 for an empty one.

    An ``oa.Array`` field of many objects is set with it: ``oa.new(Vertex, n, edges=oa.split(edges,
    degrees))`` or ``vertices.edges = oa.split(edges, degrees)``.

    Raises ArgumentError unless the pieces make up the whole array.
    """
    return split_array(array, lengths)


def all(python_class: type[T]) -> Population[T]:
    """Every live object of a class and its subclasses, now and later: its methods are called on
    those that live when the call comes, its fields are views of theirs."""
    return current_heap().all(python_class)


@overload
def delete(objects: Object | None) -> bool: ...
@overload
def delete(objects: Array | Population | Sequence[Object | None]) -> None: ...
@known_in_kernels("delete")
def delete(objects: Any) -> Any:
    """Free an object, or all objects of an array, population or list. In kernels and methods that
    they call: end one object, whose fields stay until the launch ends. Then the result is True for
    exactly one of all calls that try, False for null and for what is gone already."""
    inside = hooks.kernel_objects()
    if inside is not None:
        return inside.delete(objects)
    _heap_of(objects).delete(objects)
    return None


@known_in_kernels("is_alive")
def is_alive(obj: Object | None) -> bool:
    """Whether an object lives: False for None, and for what was deleted, in this launch too, as
    long as its memory was not given out again."""
    inside = hooks.kernel_objects()
    return living.is_alive(_heap_of(obj), obj) if inside is None else inside.is_alive(obj)


def compact(python_class: type | None = None) -> None:
    """Put the objects of a class and those below it, or all, side by side in the current heap, and
    give back memory that nobody needs. Every reference follows, in fields, arrays, values and
    Python.

    Raises ClassError for something that is no shared class, HeapError without memory for the new
    places, having moved nothing, or where objects are placed one by one.
    """
    moving.compact(current_heap(), python_class)


def sort(objects: Any, key: Any) -> None:
    """Move objects into the order of ``key``: the name of a field or method, a method, or numbers,
    one an object. Every reference follows, and programs compute what they did. Objects of a class
    keep the places that they have together; of equal keys the order stays.

    Raises ArgumentError for anything else, HeapError for objects that are repeated, null or
    deleted, and where objects are placed one by one.
    """
    moving.sort(_heap_of(objects), objects, key)


def reserve(python_class: type, n: int) -> None:
    """Room for ``n`` more objects of a class in the current heap: kernels of which the compiler
    does not know how many they make take it from there, in each launch. Raises HeapError if it does
    not fit."""
    living.reserve(current_heap(), python_class, n)


def _heap_of(thing: Any) -> Heap:
    """Where an object or array lies; for anything else, a shared class among them, the current
    heap, which will say that it is none."""
    heap = getattr(thing, "_heap", None)
    return heap if isinstance(heap, Heap) else current_heap()


def synchronize() -> None:
    """Wait for all launches of the current heap. Raises DeviceError if a kernel failed."""
    current_heap().synchronize()


def dump(path: str | os.PathLike[str], **roots: Any) -> None:
    """Write all objects of the current heap to a file, with the arrays that they refer to and the
    arrays and objects that are given by name."""
    current_heap().dump(path, **roots)


def load(path: str | os.PathLike[str], heap: Heap | None = None) -> dict[str, Any]:
    """Read a file that ``oa.dump`` wrote into ``heap``, by default the current one, which may be of
    another mode; the result is what was given by name. Raises DumpError for a file that is no dump,
    is damaged, or does not fit the classes; then nothing was made."""
    return (heap or current_heap()).load(path)
