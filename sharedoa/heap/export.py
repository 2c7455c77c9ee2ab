"""Arrays and fields as other libraries take them, where they are: DLPack, and for CUDA its array
interface.

DLPack is a capsule around a C structure (dlpack.h, version 1.1) with address, shape, strides, type
and device, and a function that lets go of the memory. NumPy makes it, of a view that nobody has to
read for; where the memory is a GPU's, the two words that say which device are then set right. So
the memory lives until the last one who took it lets go, as with any NumPy view.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import ExportError

if TYPE_CHECKING:
    from .heap import Heap
    from .placement import Values

CPU, CUDA, ROCM = 1, 2, 10
_DEVICES = {"cuda": CUDA, "hip": ROCM}
#: What a stream is called that nobody names: the default one, by CUDA and by HIP.
_DEFAULT_STREAM = {"cuda": 1, "hip": 0}
_UNORDERED = -1
_VERSIONED, _OLD = b"dltensor_versioned", b"dltensor"
#: Bytes before the device: version, context, deleter and flags, if versioned; then the address.
_DEVICE_AT = {_VERSIONED: 40, _OLD: 8}
#: ``numpy.ndarray.__dlpack__`` knows ``max_version`` from here on.
_NUMPY_HAS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class Exported(Protocol):
    """What can be exported."""

    _heap: Heap

    def _numpy(self) -> Values:
        """After launches, for the host."""
        ...

    def _shared(self) -> Values:
        """A view of the memory itself, which is not touched. Raises ExportError."""
        ...


def device_of(heap: Heap) -> tuple[int, int]:
    """Kind and number, as DLPack has them."""
    device = gpu_of(heap)
    return (CPU, 0) if device is None else (_DEVICES[device.kind], device.ordinal)


def gpu_of(heap: Heap) -> Any:
    return getattr(heap.backend, "device", None)


def dlpack(
    exported: Exported,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """The capsule. ``stream`` is where the one who asks will use it, in which it then waits for our
    launches. Raises ExportError for what cannot be expressed or is asked for elsewhere."""
    here = device_of(exported._heap)
    wanted = here if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if wanted not in (here, (CPU, 0)):
        raise ExportError(
            f"the memory is of device {here}, and is asked for on {wanted}",
            "ask for it where it is, and copy it with the library that you use",
        )
    if wanted == (CPU, 0):
        # Of a GPU, too: the host reaches it, and waits for launches first.
        if here == wanted and stream is not None:
            raise ExportError("memory of the host has no stream", "leave out stream=")
        exported._shared()
        return _capsule(exported._numpy(), max_version, copy)
    if copy:
        raise ExportError(
            "memory of a GPU is exported as it is", "copy it with the library that you use"
        )
    capsule = _capsule(exported._shared(), max_version, None)
    name = _VERSIONED if _is_valid(capsule, _VERSIONED) else _OLD
    words = (ctypes.c_int32 * 2).from_address(_pointer(capsule, name) + _DEVICE_AT[name])
    words[:] = list(here)
    device = gpu_of(exported._heap)
    if stream != _UNORDERED:
        device.order(device.stream, _DEFAULT_STREAM[device.kind] if stream is None else stream)
    return capsule


def cuda_array_interface(exported: Exported) -> dict[str, Any]:
    """Version 3: who takes it waits for ``stream``, ours. Raises AttributeError for memory that is
    not CUDA's, so that nobody sees it there."""
    device = gpu_of(exported._heap)
    if device is None or device.kind != "cuda":
        raise AttributeError("__cuda_array_interface__")
    values = exported._shared()
    _refuse_structs(values)
    return {
        "shape": values.shape,
        "strides": None if values.flags.c_contiguous else values.strides,
        "typestr": values.dtype.str,
        "data": (values.ctypes.data if values.size else 0, not values.flags.writeable),
        "version": 3,
        "stream": int(device.stream),
    }


def _capsule(values: Values, max_version: tuple[int, int] | None, copy: bool | None) -> Any:
    _refuse_structs(values)
    options: dict[str, Any] = {}
    if _NUMPY_HAS_VERSIONS:
        options = {"max_version": max_version, "copy": copy}
    elif copy:
        values = values.copy()
    try:
        return values.__dlpack__(**options)
    except BufferError as error:
        raise ExportError(
            f"NumPy does not export it: {error}",
            "references are read-only, which DLPack can say from version 1.0 on: take "
            ".numpy().copy() where the other library asks for an older one",
        ) from None


def _refuse_structs(values: Values) -> None:
    if values.dtype.fields is not None:
        raise ExportError(
            "value structs have no type in DLPack or the CUDA array interface",
            f"export a component: view[{next(iter(values.dtype.fields))!r}]",
        )


_python = ctypes.PyDLL(None)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _is_valid(capsule: Any, name: bytes) -> bool:
    return bool(_python.PyCapsule_IsValid(capsule, name))


def _pointer(capsule: Any, name: bytes) -> int:
    return int(_python.PyCapsule_GetPointer(capsule, name))
