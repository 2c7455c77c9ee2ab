"""Lists of a fixed length in kernels: local, by reference, the same as in CPython everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, u8
from sharedoa.errors import ArgumentError, ClassError, CompileError, DeviceError
from sharedoa.targets.ptxas import assemble

from .everywhere import Results, check_everywhere, world
from .test_vectors import code_of

SIZE = 6


@oa.value
class Pair:
    a: f32
    b: i8


class Node(oa.Object):
    left: Node
    right: Node
    weight: f32
    seen: f32

    def depth_first(self, scratch: list[f32]) -> f32:
        """With a stack of its own; what it saw last goes to the caller's list."""
        stack = [self] * 8
        count, total = 1, f32(0)
        while count > 0:
            count -= 1
            node = stack[count]
            total += node.weight
            scratch[count % len(scratch)] = node.weight
            if node.left is not None:
                stack[count] = node.left
                count += 1
            if node.right is not None:
                stack[count] = node.right
                count += 1
        return total


class Heavy(Node):
    def depth_first(self, scratch: list[f32]) -> f32:
        scratch[-1] += 1.0
        return super().depth_first(scratch) * 2.0


@oa.func
def sort(values: list[i32]) -> None:
    for i in range(1, len(values)):
        for j in range(i, 0, -1):
            if values[j - 1] > values[j]:
                values[j - 1], values[j] = values[j], values[j - 1]


@oa.func
def fill(values: list[i32], seed: i32) -> i32:
    own = [i32(7)] * 3
    for k in range(len(values)):
        values[k] = (seed * 31 + k * 17) % 23
        own[k % 3] += values[k]
    return own[0] + own[1] * 2


@oa.kernel
def mixed(nodes: oa.Array[Node], out: oa.Array[i32], real: oa.Array[f64]):
    i = oa.grid(1)
    node = nodes[i]
    last = [f32(0)] * 3
    node.seen = node.depth_first(last) + last[0] + last[-1] * 2.0 + sum(last)
    numbers = [i32(0)] * SIZE
    alias = numbers
    total = fill(alias, i32(i))
    sort(numbers)
    for x in alias:
        total = total * 3 + x
    squares = [k * k + i for k in range(5)]
    squares[i % 5], flags = -1, [False, True] * 2
    flags[-1 - i % 4] = total % 2 == 0
    pairs = [Pair(f32(i), i8(k)) for k in range(4)]
    pairs[i % 4] = Pair(pairs[(i + 1) % 4].a + 1.0, i8(9))
    never = [i16(5), i16(i), i16(9)]  # no element is assigned to
    bytes = [u8(200), u8(i), u8(3)]
    bytes[i % 3] += u8(100)
    for k in range(3):
        row = [i32(k)] * 2
        row[k % 2] += i32(i) + i32(never[(i + k) % 3])
        total += row[0] * row[1] + i32(max(squares)) + i32(k in squares)
    a, b = [i32(1), i32(2)], [i32(3), i32(4)]
    for _ in range(i % 4):
        a, b = b, a
        a[0] += 10
    long = [f64(0)] * 100
    for k, x in enumerate(reversed(numbers)):
        long[k * 16] = f64(x) / 3.0
    where = a if i % 2 else b
    where[1] *= 5
    out[i] = total + a[0] * 100 + b[1] + i32(bytes[0]) + i32(pairs[2].b) + len(long) + sum(squares)
    real[i] = long[16] - long[-20] + (1.5 if flags[1] else 0.25) + pairs[i % 4].a


def run() -> Results:
    n = 13
    light, heavy = oa.new(Node, n), oa.new(Heavy, n)
    nodes = oa.concat(light, heavy)
    nodes.weight = np.arange(2 * n, dtype=np.float32)
    light[1:6].left, light[1:6].right = heavy[:5], heavy[5:10]
    heavy[0:4].left, heavy[:3].right = light[8:12], light[10:13]
    out, real = oa.zeros(2 * n, i32), oa.zeros(2 * n, f64)
    mixed[2 * n](nodes, out, real)
    return {"seen": nodes.seen.numpy().copy(), "out": out.numpy().copy(), "real": real.numpy()}


SOME = ("cpu", "tiles", "one by one", "debug", "warps")


@pytest.mark.parametrize("names", [SOME, pytest.param((), marks=pytest.mark.slow)])
def test_everywhere_as_in_cpython(names: tuple[str, ...]) -> None:
    found = check_everywhere(run, *names)
    assert len(set(found["out"].tolist())) > 20 and found["seen"].max() > 60


def test_known_indices_are_registers() -> None:
    @oa.kernel
    def by_list(a: oa.Array[f32]):
        i = oa.grid(1)
        v = [a[i], a[i + 1], a[i + 2]]
        for k in range(3):
            v[k] = v[k] * v[(k + 1) % 3]
        a[i] = v[0] + v[1] + v[2]

    @oa.kernel
    def by_index(a: oa.Array[i32], n: i32):
        i = oa.grid(1)
        v = [i32(0)] * 16
        for k in range(n):
            v[a[k] % 16] += k
        a[i] = v[i % 16]

    with oa.Heap(mode="auto", backend="cpu"):
        assert ".local" not in code_of(by_list)
        text = by_index.compile("nvptx").products["ptx"]
        assert ".local" in text
        report = assemble(text, "sm_90")
        assert report.stack == 64 and report.spill_stores == 0
        assert by_index.compile("amdgpu").products["o"][:4] == b"\x7fELF"


def test_an_index_outside_is_found_in_debug_mode() -> None:
    @oa.kernel
    def far(i: i32, out: oa.Array[i32]):
        stack = [i32(1)] * 4
        stack[i] = 5
        out[0] = stack[0] + stack[3]

    for index in (4, -5):
        with world("debug") as heap:
            out = oa.zeros(1, i32)
            far[1](-1, out)
            assert out[0] == 6
            far[1](index, out)
            with pytest.raises(DeviceError, match=f"index {index}"):
                heap.synchronize()


def test_lists_are_private_where_threads_share_loops() -> None:
    """The rounds of the inner loop may be done by other threads, which cannot reach the list."""

    @oa.kernel
    def count(ends: oa.Array[i32], data: oa.Array[i32], out: oa.Array[i32]):
        i = oa.grid(1)
        found = [i32(0)] * 4
        total = i32(0)
        for k in range(ends[i], ends[i + 1]):
            found[data[k] % 4] += 1
            total += found[data[k] % 4] * 3 + len(found)
        out[i] = total + found[i % 4]

    def results() -> Results:
        ends = np.cumsum(np.arange(41) % 9).astype(np.int32)
        data = np.arange(int(ends[-1]) + 1, dtype=np.int32) * 7 % 11
        out = oa.zeros(40, i32)
        count[40](oa.array(i32, ends), oa.array(i32, data), out)
        return {"out": out.numpy().copy()}

    check_everywhere(results, "warps")

    @oa.kernel
    def only_its_length(ends: oa.Array[i32], data: oa.Array[i32], out: oa.Array[i32]):
        i = oa.grid(1)
        found = [i32(0)] * 4 if i % 2 == 0 else [i32(0)] * 3
        total = i32(0)
        for k in range(ends[i], ends[i + 1]):
            total += data[k] * len(found)
        out[i] = total + found[0]

    def lengths() -> Results:
        ends = np.cumsum(np.arange(41) % 9).astype(np.int32)
        data = np.arange(int(ends[-1]) + 1, dtype=np.int32) * 7 % 11
        out = oa.zeros(40, i32)
        only_its_length[40](oa.array(i32, ends), oa.array(i32, data), out)
        return {"out": out.numpy().copy()}

    check_everywhere(lengths, "warps")


def wrong(source: str, annotations: str = "a: oa.Array[f32], n: oa.i32") -> Callable[..., None]:
    import linecache

    lines = [f"def kernel({annotations}):", *(f"    {line}" for line in source.split("; "))]
    file = f"<lists {source}>"
    linecache.cache[file] = (1, None, [f"{line}\n" for line in lines], file)
    names: dict[str, Any] = {"oa": oa, "f32": f32, "i32": i32, "sort": sort}
    exec(compile("\n".join(lines), file, "exec"), names)
    found: Callable[..., None] = names["kernel"]
    return found


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("s = [f32(0)] * n", "the length of a list is no positive constant"),
        ("s = []", "a list without elements"),
        ("s = [f32(0)] * 4; s.append(1.0)", "the length of a list in a kernel is fixed"),
        ("s = [f32(0)] * 4; s[0] = i32(1)", "the list holds f32, and i32 is assigned"),
        ("s = [i32(0)] * 4; s[0] += 0.5", "the list holds i32, and f64 is assigned"),
        ("s = [len(a)] * 2; s[0] = n; s[1] = a[0]", "the list holds int, and i32 is assigned"),
        ("s = [f32(0), i32(1)]", "an element of the list is f32 in one case and i32"),
        ("s = [[f32(0)] * 3] * 3", "a list cannot hold list[f32]"),
        ("s = [f32(0)] * 4; s = [i32(0)] * 4", "s is list[f32] and list[i32] is assigned"),
        ("s = [f32(0)] * 4; x = s[n:]", "the length of this list is not known"),
        ("s = [f32(0)] * 4; oa.atomic_add(s, 0, 1.0)", "an atomic needs a field"),
        ("s = [x for x in a]", "the length of this list is not known"),
        ("s = [f32(0)] * 4; sort(s)", "sort: values takes list[i32], not list[f32]"),
        ("s = [f32(0)] * 9000", "16384 are most"),
        (
            "p = [f32(0)] * 2; x = f32(0); for k in range(3):;     s = [x] * 2;     x += p[0];"
            "     p = s; a[0] = x",
            "the one of a round before is used",
        ),
    ],
)  # fmt: skip
def test_complaints(source: str, message: str) -> None:
    with oa.Heap(backend="cpu"), pytest.raises(CompileError) as caught:
        oa.kernel(wrong(source)).compile("host")
    assert message in str(caught.value)


def test_lists_stay_in_kernels() -> None:
    with pytest.raises(ClassError, match="only known in kernels, functions and methods"):
        oa.kernel(wrong("n = n", "s: list[f32], n: oa.i32")).compile("host")
    with pytest.raises(ClassError, match="only known in kernels, functions and methods"):

        @oa.func
        def made() -> list[f32]:
            return [f32(0)]

        made()
    with pytest.raises(ClassError, match="only known in kernels, functions and methods"):

        class Holds(oa.Object):
            s: list[f32]

        oa.new(Holds)
    with oa.Heap(backend="cpu"), pytest.raises(ArgumentError, match="takes list"):
        oa.new(Node, 3).depth_first([1.0])
    values = [3, 1, 2]
    sort(values)
    assert values == [1, 2, 3]
