"""Arrays of other libraries as ours, in their own memory.

On a CPU they come by DLPack, on a GPU by the CUDA array interface, which CuPy, PyTorch, JAX and
Numba have. The library's array is kept for as long as ours. Objects do not hold such arrays in
their fields, as nobody would know there how long the memory lasts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, ExportError, HeapError
from ..model.scalars import from_dtype
from ..model.types import Type
from .array2 import Array2, array_of_shape
from .array_memory import ArrayStorage
from .arrays import Array, make_array
from .export import gpu_of

if TYPE_CHECKING:
    from .heap import Heap

_BY_VALUE = (np.generic, bool, int, float, str, bytes)


class ForeignStorage(ArrayStorage):
    """Memory of ``owner``. ``stream``: in which it is used on a GPU, None on a CPU."""

    is_foreign = True

    def __init__(
        self,
        owner: Any,
        address: int,
        size: int,
        element: Type,
        stream: int | None,
        is_read_only: bool,
    ) -> None:
        self.owner, self.stream, self.is_read_only = owner, stream, is_read_only
        super().__init__(address, size, element)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.stream is not None:
            raise HeapError(
                f"this array is memory of {_kind(self.owner)} on the GPU, which the host does not "
                "read",
                "read it with the library that it is of, or copy it: oa.zeros, and a kernel",
            )
        return self._interface()

    def _interface(self) -> dict[str, Any]:
        return {**super().__array_interface__, "data": (self.address, self.is_read_only)}

    def bytes_of_device(self) -> np.ndarray[Any, Any]:
        return np.asarray(_Seen(self, self._interface()))


class _Seen:
    """Memory as NumPy takes it, and what keeps it."""

    def __init__(self, storage: ArrayStorage, interface: dict[str, Any]) -> None:
        self.storage, self.__array_interface__ = storage, interface


class ForeignArray(Array):
    """Without ``_packed``, by which kernels would take it unseen."""

    __slots__ = ()

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        del self._packed

    def _view(self, start: int, length: int) -> Array:
        found = plain(self)._view(start, length)
        given = (found._heap, found.__sharedoa_element__, found._storage)
        return ForeignArray(*given, found._address, found._length)


class ForeignArray2(Array2):
    """Of two dimensions, likewise."""

    __slots__ = ()

    def __init__(self, flat: ForeignArray, rows: int, columns: int) -> None:
        super().__init__(plain(flat), rows, columns)
        self._flat = flat
        del self._packed_parts


def storage_of(array: Any) -> ForeignStorage | None:
    """The memory of an array of ours that is of another library."""
    found = getattr(array, "_storage", None)
    return found if isinstance(found, ForeignStorage) else None


def plain(array: Any) -> Any:
    """The array for one launch, as kernels take it; first what others have done in its stream."""
    storage = storage_of(array)
    if storage is None:
        return array
    if storage.stream is not None:
        gpu = gpu_of(array._heap)
        gpu.order(storage.stream, gpu.stream)
    if isinstance(array, Array2):
        return Array2(plain(array._flat), *array.shape)
    element = array.__sharedoa_element__
    return make_array(array._heap, element, storage, array._address, array._length)


def is_foreign(value: Any) -> bool:
    """Whether it is an array of another library; NumPy's are not meant."""
    if hasattr(value, "__sharedoa_element__") or isinstance(value, (np.ndarray, *_BY_VALUE)):
        return False
    return hasattr(type(value), "__dlpack__") or hasattr(value, "__cuda_array_interface__")


def adopt(heap: Heap, value: Any, what: str, may_be_read_only: bool = False) -> Array:
    """Our array in the memory of ``value``, of one dimension or two.

    Raises ArgumentError for an array that lies elsewhere, or in fields of objects, that is
    read-only, whose elements do not lie one after another, or are of a type that kernels do not
    know.
    """
    gpu = gpu_of(heap)
    try:
        interface = getattr(value, "__cuda_array_interface__", None)
    except ExportError as error:  # a view of our own fields
        raise ArgumentError(f"{what}: {error.message}", error.help) from None
    if gpu is None:
        seen = _on_host(value, interface, what)
        address, shape, dtype, stream = seen.ctypes.data, seen.shape, seen.dtype, None
        is_dense, is_writeable, owner = seen.flags.c_contiguous, seen.flags.writeable, seen
    else:
        if interface is None or gpu.kind != "cuda":
            raise ArgumentError(
                f"{what}: {_kind(value)} does not lie on {gpu.label} where this heap is, or does "
                "not say so (__cuda_array_interface__)",
                "copy it there with the library that it is of, or here: oa.array(f32, x)",
            )
        shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
        address, is_read_only = interface["data"]
        strides, is_writeable, owner = interface.get("strides"), not is_read_only, value
        is_dense = strides is None or _are_dense(shape, dtype.itemsize, strides)
        given = interface.get("stream")
        stream = 1 if given is None else int(given)  # the default one, where nobody says
    element = from_dtype(dtype)
    if element is None:
        raise ArgumentError(
            f"{what}: kernels do not know elements of type {dtype}", "convert it: x.astype(f32)"
        )
    why = None
    if len(shape) not in (1, 2):
        why = f"has {len(shape)} dimensions"
    elif not is_dense:
        why = "has gaps between its elements"
    elif not is_writeable and not may_be_read_only:
        why = "is read-only, and can only be passed to a kernel that does not store to it,"
    if why is not None:
        raise ArgumentError(
            f"{what}: {_kind(value)} {why} and is not taken as it is",
            f"copy it: oa.array({element!r}, x); arrays have one dimension or two",
        )
    length = int(np.prod(shape))
    if length == 0:
        return array_of_shape(heap.blank(element, 0), shape)
    size = length * dtype.itemsize
    for start, stop, cls in heap.placement.ranges():
        if start < address + size and address < stop:
            # Code takes fields and elements of arrays for different memory (``ir.roles``).
            raise ArgumentError(
                f"{what}: {_kind(value)} lies in fields of {cls.name} objects of this heap",
                f"pass the objects, or copy it: oa.array({element!r}, x)",
            )
    storage = ForeignStorage(owner, int(address), size, element, stream, not is_writeable)
    flat = ForeignArray(heap, element, storage, storage.address, length)
    return flat if len(shape) == 1 else ForeignArray2(flat, *shape)


def let_go(array: Any) -> None:
    """A launch has been given a foreign array: whoever uses it next in its own stream waits for
    that, also who gets its memory once it is dropped."""
    storage = array._storage
    if isinstance(storage, ForeignStorage) and storage.stream is not None:
        gpu = gpu_of(array._heap)
        gpu.order(gpu.stream, storage.stream)


def _on_host(value: Any, interface: Any, what: str) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray):
        return value
    try:
        if interface is not None:
            raise BufferError("it lies on a GPU")
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"{what}: {_kind(value)} cannot be used where it is: {error}",
            "copy it: oa.array(f32, x), after moving it to the CPU with the library that it is of",
        ) from error


def _are_dense(shape: tuple[int, ...], itemsize: int, strides: tuple[int, ...]) -> bool:
    expected = itemsize
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True


def _kind(value: Any) -> str:
    cls = type(value)
    return f"a {cls.__module__.partition('.')[0]} {cls.__qualname__}"
