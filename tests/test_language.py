"""The language end to end, in every mode on every backend: what each construct computes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, i64, u8, u32, u64
from sharedoa.runtime.pipeline import ON_DEMAND


@oa.value
class Vector:
    x: f32
    y: f32

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)


class Tree(oa.Object):
    """A binary tree with nodes of several kinds."""

    left: Tree
    right: Tree
    value: i32

    def total(self) -> i64: ...

    def depth(self, limit: i32) -> i32:
        if limit == 0:
            return 0
        below = i32(0)
        if self.left is not None:
            below = self.left.depth(limit - 1)
        if self.right is not None:
            below = max(below, self.right.depth(limit - 1))
        return below + 1


class Sum(Tree):
    def total(self) -> i64:
        result = i64(self.value)
        if self.left is not None:
            result += self.left.total()
        if self.right is not None:
            result += self.right.total()
        return result


class Doubled(Sum):
    def total(self) -> i64:
        return 2 * super().total()


class Counted(Doubled):
    visits: i32
    place: Vector

    def total(self) -> i64:
        self.visits += 1
        self.place = self.place + Vector(1, 0.5)
        return super().total() + Sum.total(self)


class Leaf(Tree):
    scale: f32
    marks: oa.inline[u32, 3]

    def total(self) -> i64:
        marked = u32(0)
        for k in range(len(self.marks)):
            marked += self.marks[-1 - k]
        return i64(self.scale * f32(self.value)) + marked

    def depth(self, limit: i32) -> i32:
        return 1


@oa.kernel
def walk(trees: oa.Array[Tree], totals: oa.Array[i64], depths: oa.Array[i32]):
    i = oa.grid(1)
    if i < len(trees):
        tree = trees[i]
        if tree is None:
            totals[i] = -1
        else:
            totals[i] = tree.total()
            depths[i] = tree.depth(10)


def make_trees() -> list[Tree | None]:
    """Four trees, none of which shares a node with another, and a null."""
    trees: list[Tree | None] = []
    for k in range(4):
        leaf = oa.new(Leaf, value=3 + k, scale=1.5, marks=[1, 2, 3])
        other = oa.new(Leaf, value=-7, scale=0.5, marks=[k, 0, 2**31])
        counted = oa.new(Counted, value=10, left=leaf, visits=5, place=Vector(0, 0))
        doubled = oa.new(Doubled, value=100, left=counted, right=other)
        trees.append(oa.new((Sum, Doubled)[k % 2], value=1000, right=doubled))
    return [*trees, None]


def expected_total(k: int) -> int:
    leaf = int(1.5 * (3 + k)) + 6
    other = -3 + k + 2**31  # the product is -3.5, which truncates to -3
    counted = 3 * (10 + leaf)
    doubled = 2 * (100 + counted + other)
    return (1000 + doubled) * (k % 2 + 1)


def test_recursion_super_and_null(heap: oa.Heap) -> None:
    roots = make_trees()
    trees = oa.array(Tree, roots)
    totals, depths = oa.zeros(5, i64), oa.zeros(5, i32)
    walk[8](trees, totals, depths)
    assert totals.numpy().tolist() == [*map(expected_total, range(4)), -1]
    assert depths.numpy().tolist() == [4, 4, 4, 4, 0]
    counted = oa.all(Counted)
    assert counted.visits.numpy().tolist() == [6, 6, 6, 6]
    assert [node.place for node in counted] == [Vector(1, 0.5)] * 4
    # CPython runs the same methods on the same memory
    assert [root.total() for root in roots if root is not None] == [*map(expected_total, range(4))]
    assert counted.visits.numpy().tolist() == [7, 7, 7, 7]


@oa.kernel
def classify(trees: oa.Array[Tree], out: oa.Array[i32]):
    i = oa.grid(1)
    tree = trees[i]
    kind = i32(0)
    if isinstance(tree, Leaf):
        kind = i32(tree.scale * 100)
    elif isinstance(tree, (Counted, Leaf)):
        kind = 2
    elif isinstance(tree, Doubled):
        kind = 3
    elif isinstance(tree, Tree):
        kind = 4
    if tree is None or tree.left is None:
        kind = -kind
    out[i] = kind


def test_isinstance_and_identity(heap: oa.Heap) -> None:
    some = oa.new(Sum)
    objects = [
        oa.new(Leaf, scale=2.5), oa.new(Counted, left=some), oa.new(Doubled), oa.new(Sum), None
    ]  # fmt: skip
    out = oa.zeros(5, i32)
    classify[5](oa.array(Tree, objects), out)
    assert out.numpy().tolist() == [-250, 2, -3, -4, 0]


@oa.kernel
def exchange(trees: oa.Array[Tree], order: oa.Array[i32], same: oa.Array[bool]):
    i = oa.grid(1)
    tree, next = trees[i], trees[order[i]]
    tree.left = next
    tree.right = None
    same[i] = tree is next and tree.left is tree


def test_references_are_written_by_kernels(heap: oa.Heap) -> None:
    objects = [oa.new(cls, value=k) for k, cls in enumerate((Sum, Leaf, Counted, Doubled))]
    same = oa.zeros(4, bool)
    exchange[4](oa.array(Tree, objects), oa.array(i32, [1, 0, 2, 1]), same)
    assert [o.left for o in objects] == [objects[1], objects[0], objects[2], objects[1]]
    assert [type(o.left) for o in objects] == [Leaf, Sum, Counted, Leaf]
    assert same.numpy().tolist() == [False, False, True, False]
    assert all(o.right is None for o in objects)
    # on the host, too, two ways to one object give one object
    assert objects[2].left is objects[2]


@oa.kernel
def draw(out: oa.Array[f32], bits: oa.Array[u32], seed: u64):
    i = oa.grid(1)
    out[i] = oa.random(seed, i)
    bits[i] = oa.random_bits(seed + 1, 2**40 + i)


def test_random_numbers_are_those_of_the_host(backend: str) -> None:
    with oa.Heap(backend=backend):
        out, bits = oa.zeros(200, f32), oa.zeros(200, u32)
        draw[200](out, bits, 12345)
    assert out.numpy().tolist() == [oa.random(12345, k) for k in range(200)]
    assert bits.numpy().tolist() == [oa.random_bits(12346, 2**40 + k) for k in range(200)]
    assert 0 <= out.numpy().min() and out.numpy().max() < 1
    assert len(set(bits.numpy().tolist())) == 200


@oa.kernel
def rotate(data: oa.Array[i32], block: i32):
    i = oa.grid(1)
    first = i // block * block
    for _ in range(3):
        mine = data[first + (i + 1) % block]
        oa.syncthreads()
        data[i] = mine
        oa.syncthreads()


def test_a_barrier_separates_reads_from_writes(backend: str) -> None:
    with oa.Heap(backend=backend):
        data = oa.array(i32, np.arange(96, dtype=np.int32))
        rotate[96, 32](data, 32)
        expected = np.roll(np.arange(96).reshape(3, 32), -3, axis=1).ravel()
        np.testing.assert_array_equal(data.numpy(), expected)


class Counter(oa.Object):
    hits: i32
    weight: f32
    lowest: i64
    highest: u32
    last: Counter


@oa.kernel
def count(counters: oa.Array[Counter], histogram: oa.Array[i32], n: i32):
    i = oa.grid(1)
    if i < n:
        counter = counters[i % len(counters)]
        oa.atomic_add(counter, "hits", 1)
        oa.atomic_add(counter, "weight", 0.25)
        oa.atomic_min(counter, "lowest", -i)
        oa.atomic_max(counter, "highest", u32(i))
        oa.atomic_add(histogram, i % 7, 2)
        oa.atomic_sub(histogram, i % 7, 1)
        oa.atomic_exch(counter, "last", counter)
        oa.atomic_cas(histogram, 7, 0, 5)


@pytest.mark.parametrize("mode", ["cuda", "typepointer", "range+switch"])
def test_atomics_lose_nothing(mode: str, backend: str) -> None:
    n = 300 if backend == "python" else 30_000
    with oa.Heap(mode=mode, backend=backend, capacity="256MiB"):
        counters = oa.new(Counter, 3)
        histogram = oa.zeros(8, i32)
        count[n](counters, histogram, n)
        assert counters.hits.numpy().tolist() == [n // 3] * 3
        assert counters.weight.numpy().tolist() == [n // 3 / 4] * 3
        assert counters.lowest.numpy().tolist() == [-(n - 3), -(n - 2), -(n - 1)]
        assert counters.highest.numpy().tolist() == [n - 3, n - 2, n - 1]
        assert histogram.numpy().tolist() == [*np.bincount(np.arange(n) % 7).tolist(), 5]
        assert all(counter.last is counter for counter in counters)


@oa.kernel
def fill(out: oa.Array[i32], width: i32):
    x, y = oa.grid(2)
    nx, ny = oa.gridsize(2)
    out[y * width + x] = x + 100 * y + 10_000 * i32(nx) + 1_000_000 * i32(ny)


def test_two_dimensions(backend: str) -> None:
    with oa.Heap(backend=backend):
        out = oa.zeros(15, i32)
        fill[(5, 3)](out, 5)
        y, x = np.divmod(np.arange(15), 5)
        np.testing.assert_array_equal(out.numpy(), x + 100 * y + 3_050_000)


@oa.value
class Pair:
    first: i32
    second: f64


@oa.value
class Nested:
    pair: Pair
    code: u8


class Holder(oa.Object):
    """Fields of every kind that holds others."""

    one: Nested
    several: oa.inline[Nested, 3]
    numbers: oa.Array[f32]
    next: Holder
    others: oa.inline[Holder, 2]

    def nested(self, k: i32) -> Pair:
        return self.several[k].pair

    def both(self, k: i32 = 3) -> tuple[i32, Holder]:
        return self.one.pair.first + k, self.next


@oa.kernel
def rearrange(holders: oa.Array[Holder], values: oa.Array[Nested], out: oa.Array[f64]):
    holder = holders[0]
    holder.several[1] = Nested(Pair(5, holder.one.pair.second), 7)
    holder.one = values[0]
    values[1] = holder.several[1]
    out[0] = holder.nested(1).second + holder.nested(1).first
    out[1] = holder.numbers[1] + holder.numbers[-1] + len(holder.numbers)
    holder.numbers[0] += 2
    holder.others[1] = holder.next
    k, next = holder.both(k=4)
    out[2] = k
    out[3] = holder.others[1].one.code + (1 if holder.others[0] is None else 0)
    holder.numbers = next.numbers
    out[4] = len(holder.numbers)
    together = (holder.one, holder.numbers)
    out[5] = together[0].code + together[1][0]
    if holder.one == values[0] and holder.one != values[1]:
        out[6] = 1


def test_values_arrays_and_references_inside_objects(heap: oa.Heap) -> None:
    first, second = oa.array(f32, [1, 2, 3]), oa.array(f32, [10, 20])
    holder = oa.new(Holder, one=Nested(Pair(1, 2.5), 3), numbers=first)
    holder.next = oa.new(Holder, one=Nested(Pair(9, 2.5), 30), numbers=second)
    values = oa.array(Nested, [Nested(Pair(11, 12.5), 13), Nested(Pair(0, 0), 0)])
    out = oa.zeros(7, f64)
    rearrange[1](oa.array(Holder, [holder]), values, out)
    assert out.numpy().tolist() == [7.5, 8, 15, 31, 2, 23, 1]
    assert values[1] == holder.several[1] == Nested(Pair(5, 2.5), 7)
    assert holder.one == values[0]
    assert holder.several[0] == Nested(Pair(0, 0), 0)
    assert [holder.others[0], holder.others[1]] == [None, holder.next]
    assert first.numpy().tolist() == [3, 2, 3]
    assert holder.numbers.numpy().tolist() == [10, 20]


@oa.kernel
def extremes_of_zeros(a: oa.Array[u32], out: oa.Array[f64]):
    i = oa.grid(1)
    x = f64(a[i])
    out[4 * i] = max(f64(-0.0), x)
    out[4 * i + 1] = min(x, f64(-0.0))
    out[4 * i + 2] = f64(-0.0) if x <= f64(-0.0) else x
    best = f64(-0.0)
    if x > best:
        best = x
    out[4 * i + 3] = best


@pytest.mark.parametrize("target", ["nvptx", "amdgpu"])
def test_extremes_keep_the_sign_of_zero_on_gpus(target: str) -> None:
    """Python's max and min give the first of two zeros, whatever their signs."""
    with oa.Heap(backend="cpu"):
        made = extremes_of_zeros.compile(target)
    text = str(made.products["ptx"]) if target == "nvptx" else ON_DEMAND["s"](made)
    assert not re.search(r"\b(max|min)\.f64|v_(max|min)\w*_f64", text)


def test_extremes_of_zeros(heap: oa.Heap) -> None:
    out = oa.zeros(8, f64)
    extremes_of_zeros[2](oa.array(u32, [0, 3]), out)
    found = out.numpy()
    np.testing.assert_array_equal(found, [-0.0, 0.0, -0.0, -0.0, 3.0, -0.0, 3.0, 3.0])
    np.testing.assert_array_equal(np.signbit(found[:4]), [True, False, True, True])
