"""sharedoa: ordinary Python classes, with inheritance and virtual methods, on CPU and GPU.

    import sharedoa as oa
    from sharedoa import f32

    class Shape(oa.Object):
        def area(self) -> f32: ...

Everything public is a name of this package; see README.md for a first program and docs/ for more.
"""

from __future__ import annotations

from . import search_path  # noqa: F401  first: what follows imports our other packages
from .errors import (
    ArgumentError,
    BackendError,
    ClassError,
    CompileError,
    ConfigurationError,
    DeviceError,
    DumpError,
    HeapError,
    InternalError,
    SharedOAError,
)
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
from .model.functions import func
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
from .random import random, random_bits
from .runtime.capture import Capture, capture
from .runtime.hash_grid import HashGrid
from .runtime.kernel import Kernel, kernel
from .tracebacks import hide_our_frames

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
    "FieldView",
    "HashGrid",
    "Heap",
    "HeapError",
    "InternalError",
    "Kernel",
    "Object",
    "ObjectArray",
    "SharedOAError",
    "SplitArray",
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
    "current_heap",
    "delete",
    "dump",
    "f32",
    "f64",
    "func",
    "grid",
    "gridsize",
    "i8",
    "i16",
    "i32",
    "i64",
    "inline",
    "is_alive",
    "kernel",
    "load",
    "new",
    "random",
    "random_bits",
    "reduce",
    "reserve",
    "scan",
    "shared",
    "sort",
    "split",
    "synchronize",
    "syncthreads",
    "u8",
    "u16",
    "u32",
    "u64",
    "value",
    "where",
    "zeros",
]

__version__ = "0.1.0"
