"""Lists, vectors, inline arrays, arrays of two dimensions and shared memory: indices and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64

from .catalogue import CPU, add, case
from .probe import still_works
from .programs import module
from .texts import Entry, described, entries
from .verdicts import check, check_equal, refuses

_HEAD = """
from __future__ import annotations
import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64, u8

class P(oa.Object):
    x: i32
    table: oa.inline[i32, 2, 3]
    values: oa.inline[f32, 4]
    many: oa.Array[i32]

N = 64
sizes = [8, 16]

@oa.func
def first(values: list[i32]) -> i32:
    return values[0]
"""
_BODY = """
@oa.kernel
def kernel(a: oa.Array[i32], m: oa.Array[f32, 2], p: P, n: i32):
    i = oa.grid(1)
{body}

kernel[1](oa.zeros(4, i32), oa.zeros((2, 3), f32), P(), 3)
oa.synchronize()
"""

_REFUSED = """
list_of_unknown_length: constant, known
    z = [i32(0)] * n
    a[0] = z[0]
list_of_negative_length: length, positive|constant
    z = [i32(0)] * -3
    a[0] = len(z)
list_too_large: list|memory|bytes
    z = [f64(0)] * 10_000_000
    z[n] = 1.0
    a[0] = i32(z[n])
list_index_of_a_float: index|integer
    z = [i32(0)] * 4
    a[0] = z[1.5]
list_of_lists: list
    z = [[i32(0)] * 3, [i32(1)] * 3]
    a[0] = z[1][1]
list_appended: append, fixed
    z = [i32(1), 2]
    z.append(3)
list_popped: pop, fixed
    z = [i32(1), 2]
    a[0] = z.pop()
list_sliced_by_a_variable: slice|list
    z = [i32(1), 2, 3]
    y = z[n:]
    a[0] = y[0]
list_compared: list|compare
    z = [i32(1), 2]
    if z == [1, 2]:
        a[0] = 1
list_of_texts: str|text
    z = ["a", "b"]
    a[0] = len(z)
list_of_nothing: list|empty|positive
    z = []
    a[0] = len(z)
list_kept_in_a_field: list|many
    p.many = [i32(1), 2]
list_passed_as_an_array: list, f32|list, Array
    a[0] = first(a)
list_of_another_round: round|list
    z = [i32(0)] * 2
    y = z
    for k in range(3):
        y = z
        z = [i32(k)] * 2
    a[0] = y[0]
vector_component_unknown: w|vec3
    v = oa.vec3(1.0, 2.0, 3.0)
    a[0] = i32(v.w)
vector_component_assigned: value
    v = oa.vec3(1.0, 2.0, 3.0)
    v.x = 2.0
vector_of_too_few: vec3
    v = oa.vec3(1.0, 2.0)
    a[0] = i32(v.x)
vectors_of_two_lengths: vec2|vec3
    v = oa.vec3(1.0, 2.0, 3.0) + oa.vec2(1.0, 2.0)
    a[0] = i32(v.x)
vector_times_matrix_of_another_size: mat33|vec2
    v = oa.mat33(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0) @ oa.vec2(1.0, 2.0)
    a[0] = i32(v.x)
vector_compared_by_order: vec2|compare|order
    if oa.vec2(1.0, 2.0) < oa.vec2(2.0, 3.0):
        a[0] = 1
cross_of_four: cross|vec4
    v = oa.cross(oa.vec4(1.0), oa.vec4(2.0))
    a[0] = i32(v.x)
inline_constant_outside: 3|outside
    a[0] = p.table[1, 3]
inline_one_index_of_two_as_a_number: i32|inline|row
    a[0] = p.table[1]
inline_three_indices: index|indices|dimension
    a[0] = p.table[0, 1, 2]
inline_assigned_too_few: inline|items
    p.values = [1.0, 2.0]
rows_by_three_indices: index|indices|dimension
    m[0, 1, 2] = 1.0
row_assigned_whole: assigned|row
    m[0] = 1.0
rows_by_a_float: index|integer
    m[1.0, 0] = 1.0
shape_assigned: shape
    m.shape = (1, 2)
shared_of_a_variable: constant|known
    tile = oa.shared(f32, n)
    tile[0] = 1.0
shared_of_a_list_around: constant|list|number
    tile = oa.shared(f32, sizes[0])
    tile[0] = 1.0
shared_of_nothing: 0|positive
    tile = oa.shared(f32, 0)
    tile[0] = 1.0
shared_of_negative_size: -4|positive
    tile = oa.shared(f32, -4)
    tile[0] = 1.0
shared_too_large: 48|KiB|bytes
    tile = oa.shared(f64, 100_000)
    tile[0] = 1.0
shared_of_objects: P|references|number
    tile = oa.shared(P, 4) if n else oa.shared(P, 8)
    tile[0] = p
shared_in_a_branch: shared|statement
    if n > 2:
        tile = oa.shared(f32, 8)
        tile[0] = 1.0
shared_constant_outside: 8|outside
    tile = oa.shared(f32, 8)
    tile[8] = 1.0
shared_passed_on: shared|tile|list
    tile = oa.shared(i32, 8)
    a[0] = first(tile)
"""


def _add(entry: Entry) -> None:
    def run() -> None:
        body = "\n".join(f"    {line}" for line in entry.body.splitlines())
        kinds = (oa.CompileError, oa.ClassError, oa.ArgumentError)
        with refuses(kinds, *entry.words):
            module(_HEAD + _BODY.format(body=body))
        still_works()

    run.__doc__ = described("A kernel with", entry)
    add(f"places.{entry.name}", run, debug=False, backends=CPU)


for _entry in entries(_REFUSED):
    _add(_entry)


class P(oa.Object):
    x: i32
    guard: i64
    table: oa.inline[i32, 2, 3]
    after: i64
    next: P


def _outside(kernel: Any, *arguments: Any, words: str = "out of bounds") -> None:
    """Debug mode says where, and what is beside it is as it was."""
    with refuses(oa.DeviceError, words):
        kernel[1](*arguments)
        oa.synchronize()
    still_works()


@case(normal=False)
def list_index_outside() -> None:
    """Indices of a list that are only known when the kernel runs."""

    @oa.kernel
    def look(n: i32, a: oa.Array[i32]):
        z = [i32(7)] * 4
        a[0] = z[n]

    @oa.kernel
    def store(n: i32, a: oa.Array[i32]):
        z = [i32(7)] * 4
        z[n] = 1
        a[0] = z[0]

    @oa.kernel
    def known(n: i32, a: oa.Array[i32]):
        z = [i32(7)] * 4
        a[0] = z[n - n + 5]

    out = oa.zeros(1, i32)
    _outside(known, 1, out)
    for kernel in (look, store):
        for n in (4, -5, 2**31 - 1, -(2**31)):
            _outside(kernel, n, out)
    look[1](-4, out)
    check_equal(int(out[0]), 7)


@case(normal=False)
def inline_index_outside() -> None:
    """Each index of an inline array is looked at by itself, though the element exists."""

    @oa.kernel
    def look(p: P, i: i32, k: i32, a: oa.Array[i32]):
        a[0] = p.table[i, k]

    @oa.kernel
    def store(p: P, i: i32, k: i32):
        p.table[i, k] = 5

    p, out = P(guard=11, after=12), oa.zeros(1, i32)
    for i, k in ((2, 0), (0, 3), (-3, 0), (0, -4), (1, 2**30)):
        _outside(look, p, i, k, out)
        _outside(store, p, i, k)
    check_equal((p.guard, p.after), (11, 12))


@case(normal=False)
def rows_and_columns_outside() -> None:
    """Each index of an array of two dimensions is looked at by itself."""

    @oa.kernel
    def look(m: oa.Array[i32, 2], y: i32, x: i32, a: oa.Array[i32]):
        a[0] = m[y, x]

    @oa.kernel
    def by_row(m: oa.Array[i32, 2], y: i32, x: i32, a: oa.Array[i32]):
        row = m[y]
        row[x] = 3

    m, out = oa.array(i32, np.arange(6).reshape(2, 3)), oa.zeros(1, i32)
    for y, x in ((2, 0), (0, 3), (-3, 0), (0, -4)):
        _outside(look, m, y, x, out)
        _outside(by_row, m, y, x, out)
    check_equal(m.numpy(), np.arange(6).reshape(2, 3))


@case(normal=False)
def shared_index_outside() -> None:
    """An index of shared memory that is only known when the kernel runs."""

    @oa.kernel
    def store(n: i32, a: oa.Array[i32]):
        tile = oa.shared(i32, 8)
        tile[n] = 1
        oa.syncthreads()
        a[0] = tile[0]

    out = oa.zeros(1, i32)
    for n in (8, -9, 1 << 30):
        _outside(store, n, out)


@case()
def slices_outside() -> None:
    """Slices of arrays in kernels are cut as Python's, whatever their ends."""

    @oa.kernel
    def cut(a: oa.Array[i32], start: i32, stop: i32, out: oa.Array[i32]):
        part = a[start:stop]
        out[0] = len(part)
        for k in range(len(part)):
            out[1] += part[k]

    a, here = oa.array(i32, range(1, 11)), list(range(1, 11))
    for start in (-100, -11, -3, 0, 4, 10, 100):
        for stop in (-100, -10, -2, 0, 5, 10, 2**31 - 1):
            out = oa.zeros(2, i32)
            cut[1](a, start, stop, out)
            check_equal(out.numpy(), [len(here[start:stop]), sum(here[start:stop])])


@case()
def two_names_of_a_list() -> None:
    """One list under two names and as two arguments, changed by one of them."""

    @oa.func
    def mix(a: list[i32], b: list[i32]) -> i32:
        a[1] = b[0] + 10
        b[1] = a[1] * 2
        return a[1] + b[1]

    @oa.kernel
    def run(out: oa.Array[i32]):
        i = oa.grid(1)
        z = [i32(1), 2, 3]
        t = z if i % 2 == 0 else [i32(5), 6, 7]
        out[i] = mix(z, t) * 1000 + z[1] * 10 + t[1]

    out = oa.zeros(4, i32)
    run[4](out)
    check_equal(out.numpy(), _mixed())


def _mixed() -> list[int]:
    found = []
    for i in range(4):
        z = [1, 2, 3]
        t = z if i % 2 == 0 else [5, 6, 7]
        z[1] = t[0] + 10
        t[1] = z[1] * 2
        found.append((z[1] + t[1]) * 1000 + z[1] * 10 + t[1])
    return found


@case()
def lists_of_threads() -> None:
    """A list belongs to one thread: a thousand threads in and out of recursion."""

    @oa.func
    def fill(z: list[i32], depth: i32, seed: i32) -> i32:
        own = [i32(0)] * 3
        for k in range(3):
            own[k] = z[k] + seed
        if depth > 0:
            return fill(own, depth - 1, seed)
        return own[0] + own[1] + own[2]

    @oa.kernel
    def run(out: oa.Array[i32]):
        i = oa.grid(1)
        z = [i32(0), 1, 2]
        out[i] = fill(z, 5, i) * 10 + z[2]

    out = oa.zeros(1000, i32)
    run[1000](out)
    check_equal(out.numpy(), [(3 + 18 * i) * 10 + 2 for i in range(1000)])


@case()
def objects_in_lists() -> None:
    """Lists of objects, with null among them, which a kernel follows."""

    @oa.kernel
    def walk(p: P, out: oa.Array[i32]):
        stack = [p] * 4
        stack[1] = p.next
        stack[2] = None
        count = 0
        for one in stack:
            if one is not None:
                count += one.x
        out[0] = count

    out, last = oa.zeros(1, i32), P(x=100)
    walk[1](P(x=1, next=last), out)
    check_equal(int(out[0]), 102)
    walk[1](P(x=1), out)
    check_equal(int(out[0]), 2)


@case()
def arrays_without_rows() -> None:
    """Arrays of two dimensions without rows or columns, and views of rows."""

    @oa.kernel
    def measure(m: oa.Array[f32, 2], out: oa.Array[i64]):
        out[0], out[1], out[2] = m.shape[0], m.shape[1], len(m)

    for shape in ((0, 5), (5, 0), (0, 0), (2, 3)):
        m, out = oa.zeros(shape, f32), oa.zeros(3, i64)
        measure[1](m, out)
        check_equal(out.numpy(), [*shape, shape[0]])
        check_equal(float(m.sum()), 0.0)
        check_equal(m.numpy().shape, shape)
    m = oa.array(f32, np.arange(6.0).reshape(2, 3))
    row = m[1]
    row[0] = 50.0
    check_equal(m.numpy(), [[0, 1, 2], [50, 4, 5]])
    with refuses((oa.ArgumentError, IndexError, ValueError), "3|shape|size|outside"):
        m[1] = np.zeros(4)
    with refuses((oa.ArgumentError, IndexError), "5|outside"):
        m[0, 5]
    check_equal(m.numpy(), [[0, 1, 2], [50, 4, 5]])


@case()
def one_dimension_for_two() -> None:
    """Arrays of one dimension where two are due, and the other way round."""

    @oa.kernel
    def two(m: oa.Array[f32, 2]):
        m[0, 0] = 1.0

    @oa.kernel
    def one(a: oa.Array[f32]):
        a[0] = 1.0

    with refuses(oa.ArgumentError, "m|two|2"):
        two[1](oa.zeros(4, f32))
    with refuses(oa.ArgumentError, "a|Array[f32]"):
        one[1](oa.zeros((2, 2), f32))
    with refuses(oa.ArgumentError, "f64|f32"):
        two[1](oa.zeros((2, 2), f64))


@case()
def vectors_without_a_direction() -> None:
    """Lengths of nothing, inverses of matrices that have none, division by zero: as IEEE says."""

    @oa.kernel
    def odd(out: oa.Array[f32]):
        none = oa.vec3(0.0, 0.0, 0.0)
        out[0] = oa.length(none)
        out[1] = oa.normalize(none).x
        out[2] = oa.inverse(oa.mat22(1.0, 2.0, 2.0, 4.0))[0, 0]
        out[3] = (oa.vec2(1.0, -1.0) / out[0]).y

    out = oa.zeros(4, f32)
    odd[1](out)
    with oa.Heap(backend="python"):
        here = oa.zeros(4, f32)
        odd[1](here)
        check_equal(out.numpy(), here.numpy())
    check(out[0] == 0 and not np.isfinite(out[3]), "numbers of nothing")


@case()
def small_integers_in_vectors_and_lists() -> None:
    """Numbers that their types do not hold wrap as fields do, and never spill over."""

    @oa.kernel
    def wrap(out: oa.Array[i32]):
        z = [i8(100)] * 3
        z[1] = i8(z[0] + z[2])
        v = oa.vec2i(2147483647, 5) + oa.vec2i(1, 0)
        out[0], out[1], out[2], out[3] = z[0], z[1], z[2], v.x
        out[4] = v.y

    out = oa.zeros(5, i32)
    wrap[1](out)
    check_equal(out.numpy(), [100, -56, 100, -(2**31), 5])


@case()
def shared_without_a_barrier_inside() -> None:
    """Blocks in turn: what one has left in shared memory is no result of another."""

    @oa.kernel
    def turn(out: oa.Array[i32]):
        i = oa.grid(1)
        tile = oa.shared(i32, 32)
        tile[i % 32] = i
        oa.syncthreads()
        out[i] = tile[31 - i % 32]

    out = oa.zeros(256, i32)
    turn[256, 32](out)
    check_equal(out.numpy(), [i // 32 * 32 + 31 - i % 32 for i in range(256)])
