"""What nearly every program uses, loaded together when it first names any of it.

``import sharedoa`` brings none of it, nor NumPy: who only passes the package on, asks for its
version or catches its errors does not wait for the rest.
"""

# ruff: noqa: F401

from __future__ import annotations

from . import later_parts
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
from .runtime.kernel import Kernel, kernel
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
