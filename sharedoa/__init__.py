"""sharedoa: ordinary Python classes, with inheritance and virtual methods, on CPU and GPU.

    import sharedoa as oa
    from sharedoa import f32

    class Shape(oa.Object):
        def area(self) -> f32: ...

Everything public is a name of this package; see README.md for a first program and docs/ for more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from . import search_path  # noqa: F401  first: what follows imports our other packages
from .errors import (
    ArgumentError,
    BackendError,
    ClassError,
    CompileError,
    ConfigurationError,
    DeviceError,
    DumpError,
    ExportError,
    HeapError,
    InternalError,
    SharedOAError,
)
from .tracebacks import hide_our_frames

if TYPE_CHECKING:
    from .heap.array2 import Array2
    from .heap.arrays import Array, FieldView, ObjectArray
    from .heap.heap import Heap, current_heap
    from .heap.interface import (
        all,
        array,
        compact,
        concat,
        delete,
        dump,
        is_alive,
        load,
        new,
        reserve,
        sort,
        split,
        synchronize,
        zeros,
    )
    from .heap.split_array import SplitArray
    from .many.functions import count_nonzero, reduce, scan, where
    from .model.functions import custom_gradient, func
    from .model.intrinsics import (
        atomic_add,
        atomic_cas,
        atomic_exch,
        atomic_max,
        atomic_min,
        atomic_sub,
        grid,
        gridsize,
        shared,
        syncthreads,
    )
    from .model.object import Object
    from .model.structs import value
    from .model.type_names import f32, f64, i8, i16, i32, i64, inline, u8, u16, u32, u64
    from .philox import random_bits
    from .random_numbers import exponential, normal, randint, random, random64
    from .runtime.capture import Capture, capture
    from .runtime.fusion.block import Fusion, fuse
    from .runtime.hash_grid import HashGrid
    from .runtime.kernel import Kernel, kernel
    from .runtime.outside_gradients import jax_function, torch_function
    from .runtime.streams import stream
    from .runtime.tape import Tape, grad, tape
    from .sweeps.call import sweep
    from .vector_functions import (
        abs,
        cross,
        determinant,
        dot,
        inverse,
        length,
        max,
        min,
        normalize,
        outer,
        transpose,
    )
    from .vectors import (
        mat22,
        mat33,
        mat44,
        quat,
        vec2,
        vec2d,
        vec2i,
        vec3,
        vec3d,
        vec3i,
        vec4,
        vec4d,
        vec4i,
    )

hide_our_frames(SharedOAError)

__all__ = [
    "ArgumentError",
    "Array",
    "Array2",
    "BackendError",
    "Capture",
    "ClassError",
    "CompileError",
    "ConfigurationError",
    "DeviceError",
    "DumpError",
    "ExportError",
    "FieldView",
    "Fusion",
    "HashGrid",
    "Heap",
    "HeapError",
    "InternalError",
    "Kernel",
    "Object",
    "ObjectArray",
    "SharedOAError",
    "SplitArray",
    "Tape",
    "abs",
    "all",
    "array",
    "atomic_add",
    "atomic_cas",
    "atomic_exch",
    "atomic_max",
    "atomic_min",
    "atomic_sub",
    "capture",
    "compact",
    "concat",
    "count_nonzero",
    "cross",
    "current_heap",
    "custom_gradient",
    "delete",
    "determinant",
    "dot",
    "dump",
    "exponential",
    "f32",
    "f64",
    "func",
    "fuse",
    "grad",
    "grid",
    "gridsize",
    "i8",
    "i16",
    "i32",
    "i64",
    "inline",
    "inverse",
    "is_alive",
    "jax_function",
    "kernel",
    "length",
    "load",
    "mat22",
    "mat33",
    "mat44",
    "max",
    "min",
    "new",
    "normal",
    "normalize",
    "outer",
    "quat",
    "randint",
    "random",
    "random64",
    "random_bits",
    "reduce",
    "reserve",
    "scan",
    "shared",
    "sort",
    "split",
    "stream",
    "sweep",
    "synchronize",
    "syncthreads",
    "tape",
    "torch_function",
    "transpose",
    "u8",
    "u16",
    "u32",
    "u64",
    "value",
    "vec2",
    "vec2d",
    "vec2i",
    "vec3",
    "vec3d",
    "vec3i",
    "vec4",
    "vec4d",
    "vec4i",
    "where",
    "zeros",
]

#: What is imported when a program first names it, beside all that nearly every program does: much
#: of it needs the compiler, and vectors are made.
_LATER = {
    "many.functions": ("count_nonzero", "reduce", "scan", "where"),
    "runtime.capture": ("Capture", "capture"),
    "runtime.fusion.block": ("Fusion", "fuse"),
    "runtime.hash_grid": ("HashGrid",),
    "runtime.outside_gradients": ("jax_function", "torch_function"),
    "runtime.streams": ("stream",),
    "runtime.tape": ("Tape", "grad", "tape"),
    "sweeps.call": ("sweep",),
    "vectors": (
        "mat22", "mat33", "mat44", "quat", "vec2", "vec2d", "vec2i", "vec3", "vec3d", "vec3i",
        "vec4", "vec4d", "vec4i",
    ),
}  # fmt: skip
#: Makers of arrays that programs look for here.
_OF_NUMPY = ("arange", "empty", "full", "linspace", "ones", "zeros_like")
_MODULES = {name: module for module, names in _LATER.items() for name in names}
_EVERYDAY = tuple(name for name in __all__ if name not in _MODULES and name not in globals())


def __getattr__(name: str) -> object:
    if name not in __all__:
        missing = f"module {__name__!r} has no attribute {name!r}"
        if name in _OF_NUMPY:
            missing += f"; let NumPy make it: oa.array(f32, np.{name}(...))"
        raise AttributeError(missing)
    # First, whatever is asked for: of two threads of which each waits for what the other one
    # imports Python gives one a module of which half is there.
    from . import everyday

    where = _MODULES.get(name)
    module = everyday if where is None else import_module(f".{where}", __name__)
    names = _EVERYDAY if where is None else _LATER[where]
    found = {each: getattr(module, each) for each in names}
    globals().update(found)
    return found[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__version__ = "0.1.0"
