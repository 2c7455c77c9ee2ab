"""Reductions, scans, sorting and selection against NumPy, and bit by bit between backends."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from sharedoa.errors import HeapError
from sharedoa.many import (
    block_scan,
    block_sort,
    plans,
    reduction,
    scan,
    scratch,
    sort_plan,
    sorting,
    warp_sort,
)
from sharedoa.many.operators import operator
from sharedoa.model.scalars import boolean
from tests.backends.pretend_device import PretendDevice
from tests.codegen.interpreted import InterpretedGpu

from .small import small_sizes

ALL = ("sum", "mean", "min", "max", "any", "all", "argmin", "argmax")


class Point(oa.Object):
    x: f32
    counts: oa.inline[i32, 3]


class Other(Point):
    pass


@oa.value
class Affine:
    """x -> scale * x + shift; combining them is associative and not commutative."""

    scale: i64
    shift: i64


@oa.func
def then(f: Affine, g: Affine) -> Affine:
    return Affine(f.scale * g.scale, f.shift * g.scale + g.shift)


@oa.func
def sum32(a: f32, b: f32) -> f32:
    return a + b


@pytest.fixture
def small_tree() -> Iterator[None]:
    with small_sizes():
        yield


@pytest.fixture
def processor() -> Iterator[None]:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        yield


def numbers(type: Any, length: int) -> np.ndarray:
    random = np.random.default_rng(length)
    if type in (f32, f64):
        return (random.normal(size=length) * 10.0 ** random.integers(-3, 6, length)).astype(
            type.dtype
        )
    low, high = (0, 2) if type == boolean else type.range
    return random.integers(low, high, length, dtype=np.int64 if low < 0 else np.uint64).astype(
        type.dtype
    )


def same(found: Any, expected: Any, tolerance: float = 1e-4) -> bool:
    """Of one type, and equal but for the rounding of sums."""
    if found.dtype != expected.dtype:
        return False
    if found.dtype.kind == "f":
        return bool(np.isclose(found, expected, rtol=tolerance, equal_nan=True))
    return bool(found == expected)


_SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in (f64, i32, u64)]


@pytest.mark.parametrize("type", [f32, i8, boolean, *_SLOW], ids=str)
def test_as_numpy(small_tree: None, backend: str, type: Any) -> None:
    with oa.Heap(backend=backend, capacity="64MiB"):
        for length in (1, 7, 300):
            given = numbers(type, length)
            array = oa.array(type, given)
            for name in ALL:
                assert same(getattr(array, name)(), getattr(given, name)()), (name, length)
            assert oa.count_nonzero(array) == np.count_nonzero(given)
            order = array.argsort()
            assert np.array_equal(order, np.argsort(given, kind="stable"))
            sums = array.cumsum()
            assert same(sums[length - 1], given.cumsum()[-1])
            assert sums.dtype == given.cumsum().dtype
            (chosen,) = oa.where(array)
            assert np.array_equal(chosen, np.nonzero(given)[0])
            array.sort()
            assert np.array_equal(array, np.sort(given))


def results(backend: Any) -> list[bytes]:
    """Of sums whose order matters, and what else has special numbers."""
    with oa.Heap(backend=backend, capacity="64MiB"):
        given = numbers(f32, 700)
        array = oa.array(f32, given)
        strange = given[:90].copy()
        strange[[3, 50]] = 0.0, -0.0
        strange[[7, 60]] = np.nan, -np.nan
        strange.view(np.uint32)[[11, 70]] = 0x7FC00005, 0xFFC00001  # NaNs of other bits
        other = oa.array(f32, strange)
        found = [array.sum(), array.mean(), array.cumsum(), oa.reduce(sum32, array)]
        found += [oa.scan(sum32, array), other.argsort(), other.min(), other.sum()]
        found += [oa.array(f32, [0.0, -0.0, 1.0]).min(), oa.array(f32, [-0.0, 0.0]).max()]
        found += [oa.where(array, other[1], 2), oa.array(i16, given[:50].astype(np.int16)).sum()]
        found += [oa.array(f32, numbers(f32, 4200)).cumsum()]
        tied = oa.array(i8, np.full(300, 7, np.int8))
        found += [tied.argmin(), tied.argmax(), other.argmin(), oa.array(f32, given[::-1]).argmax()]
        found += [oa.array(f32, given[:260]).argsort(), oa.array(i16, numbers(i16, 260)).argsort()]
        for each in (oa.array(i8, numbers(i8, 450)), oa.array(f32, given[:420]), other):
            each.sort()
            found.append(each)
        # With what the first sorts of so many left behind.
        for each in (oa.array(i8, numbers(i8, 451)[1:]), oa.array(f32, given[419::-1])):
            each.sort()
            found.append(each)
        points = oa.new(Point, 90, x=given[:90], counts=np.arange(270).reshape(90, 3))
        found += [points.x.sum(), points.x.argmin(), points[5:70].x.max(), points.counts.sum()]
        found += [points[[3, 80, 4, 80]].x.sum(), points[::-2].x.argmax()]
        oa.new(Other, 3, x=1e9)
        found += [oa.all(Point).x.argmax(), oa.count_nonzero(points.x)]
        return [np.asarray(each).tobytes() for each in found]


def test_the_same_bits_everywhere(small_tree: None) -> None:
    by_numpy = results("python")
    assert results("cpu") == by_numpy
    assert results(InterpretedGpu()) == by_numpy


@pytest.mark.parametrize("type", [f32, pytest.param(i16, marks=pytest.mark.slow)], ids=str)
def test_lengths_around_blocks(small_tree: None, type: Any) -> None:
    """Of one block of a scan and of several, one level and two, and of what a thread reads at once;
    the second time by what the first one has made ready."""
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB"):
        for length in (1, 2, 63, 64, 65, 128, 15 * 64 + 1, 16 * 64, 16 * 64 + 1):
            given = numbers(type, length)
            sums = scan.sums_in_cpython(given) if type is f32 else given.cumsum()
            array = oa.array(type, given)
            for _ in range(2):
                assert array.cumsum().numpy().tobytes() == sums.tobytes(), length
                assert array.min() == given.min() and array.argmin() == given.argmin(), length


def test_what_is_ready_is_for_numbers_alone(small_tree: None) -> None:
    """Not for values of a class that is named as numbers are."""

    Named: Any = oa.value(type("f32", (), {"__annotations__": {"x": f32}}))
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB"):
        assert oa.array(f32, [1.0, 2.0]).sum() == 3.0
        with pytest.raises(oa.ArgumentError, match="has no sum, as its elements are no numbers"):
            oa.array(Named, [Named(f32(1)), Named(f32(2))]).sum()


class Interrupting(PretendDevice):
    """``meanwhile`` is called once while somebody waits."""

    meanwhile: Callable[[], None] | None = None

    def synchronize(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        super().synchronize()


def test_a_call_within_a_call(small_tree: None) -> None:
    """As of a signal: each has its own result; and what is called again takes no new memory."""
    device = Interrupting(1 << 16)
    left = weakref.ref(_call_within_a_call(device))
    device.meanwhile = None
    gc.collect()
    assert left() is None, "plans keep the heap"


def _call_within_a_call(device: Interrupting) -> oa.Heap:
    with oa.Heap(backend=device, capacity="64MiB") as heap:
        given = numbers(f32, 90)
        given[80] = 1e9
        array, other = oa.array(f32, given), oa.array(f32, given[::-1].copy())
        expected = [80, 9, given[:70].argmax()]
        assert [array.argmax(), other.argmax(), array[:70].argmax()] == expected
        inner: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(heap, "new_storage", None)
            assert array.argmax() == 80
        device.meanwhile = lambda: inner.append(other.argmax())
        assert array.argmax() == 80 and inner == [9]
        return heap


def test_plans_leave_room(small_tree: None) -> None:
    """They are few, and keep a small part of it."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="2MiB") as heap:
        array = oa.array(u8, np.arange(90, dtype=np.uint8))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plans, "_MOST_PLANS", 3)
            for length in range(80, 88):
                array[:length].sum()
                assert 1 <= len(heap.plans) <= 3
            patch.setattr(plans, "_SHARE", 2048)
            long = oa.zeros(2000, u8)
            assert long.cumsum()[1999] == 0
            assert sum(each.size for each in heap.plans.values()) <= 1 << 10


def test_plans_go_where_memory_is_short(small_tree: None) -> None:
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="2MiB") as heap:
        given = numbers(f32, 450)
        array = oa.array(f32, given)
        used = heap.memory.arrays.bytes_used
        array.sort()
        assert heap.plans and heap.memory.arrays.bytes_used > used
        with pytest.raises(HeapError, match="no room for"):
            oa.zeros(3 << 20, u8)
        assert not heap.plans and heap.memory.arrays.bytes_used == used
        array[...] = given
        array.sort()
        assert np.array_equal(array, np.sort(given))


@oa.kernel
def kernel_add(values: oa.Array[f32], by: f32) -> None:
    i = oa.grid(1)
    values[i] += by


@pytest.mark.parametrize("backend", ["pretended", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_amid_launches_that_wait_or_are_recorded(small_tree: None, backend: str) -> None:
    device: Any = PretendDevice(1 << 16) if backend == "pretended" else backend
    with oa.Heap(backend=device, capacity="64MiB"):
        array = oa.array(f32, np.arange(90))
        with oa.fuse():
            kernel_add[90](array, 1.0)
            assert array.sum() == 4005 + 90
            kernel_add[90](array, 1.0)
        with pytest.raises(HeapError, match=r"inside a block of oa.capture"), oa.capture():
            array.sum()
        with oa.capture() as step:
            kernel_add[90](array, 1.0)
        step.run()
        assert array.sum() == 4005 + 270 and array.argmax() == 89


def test_scans_and_sorts_in_a_recorded_step(small_tree: None) -> None:
    """It shares no memory with calls of other threads, which may come amid its launches."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB") as heap:
        given = numbers(f32, 450)
        array, other = oa.array(f32, given), oa.array(f32, given)
        for _ in range(2):
            other[...] = given
            assert same(other.cumsum()[449], given.cumsum()[-1], 1e-3)
            assert np.array_equal(other.argsort(), np.argsort(given, kind="stable"))
            other.sort()
            assert np.array_equal(other, np.sort(given))
        kept: list[Any] = [*heap.plans.values()]
        assert len(kept) == 3
        for plan in kept:
            plan._between = None
        move = block_sort.kernel_of_moves(sorting.keys_of(f32), u32, True, False)
        with oa.capture() as step:
            sums = array.cumsum()
            order = array.argsort()
            array.sort()
        step.run()
        heap.wait()
        assert np.array_equal(order, np.argsort(given, kind="stable"))
        assert np.array_equal(array, np.sort(given))
        assert not move.program.specialisation._variants, "code is made for each call"
        assert same(sums[449], given.cumsum()[-1], 1e-3)


@pytest.mark.parametrize("type", [i8, i16], ids=str)
def test_a_sort_leaves_zeros_for_the_next(small_tree: None, type: Any) -> None:
    """Blocks that run one after another would not see what those behind them said before."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB") as heap:
        for turn in range(3):
            given = numbers(type, 600)[:: 1 - turn % 2 * 2]
            array = oa.array(type, given)
            array.sort()
            assert np.array_equal(array, np.sort(given))
            (plan,) = (p for p in heap.plans.values() if isinstance(p, sort_plan.SortPlan))
            _, _, totals, *words = plan._between.arrays(heap)[:5]
            assert not totals.numpy().any() and not words[plan._is_turned].numpy().any()


def test_the_same_bits_on_a_processor_at_full_size() -> None:
    given = numbers(f32, 3 * reduction.PIECE + 1234)
    found = []
    for backend in ("python", "cpu"):
        with oa.Heap(backend=backend, capacity="64MiB"):
            array = oa.array(f32, given)
            found.append((array.sum().tobytes(), np.asarray(array.cumsum()).tobytes()))
    assert found[0] == found[1]


def test_blocks_of_a_gpu_on_a_processor(processor: None) -> None:
    """At full size: more keys than 16 bits can count, and several blocks."""
    keys = np.random.default_rng(3).integers(0, 2**16, 66_003).astype(np.uint16)
    keys[5000:6000] = keys[0]
    array, of_keys = oa.array(u16, keys), sorting.keys_of(u16)
    heap, length = array._heap, len(array)
    order = sort_plan.SortPlan(heap, of_keys, length, True)(array)
    assert np.array_equal(order, np.argsort(keys, kind="stable"))
    assert np.array_equal(array, keys)
    sort_plan.SortPlan(heap, of_keys, length, False)(array)
    assert np.array_equal(array, np.sort(keys))
    array, of = oa.array(f32, numbers(f32, 9000)), operator("sum", f32)
    sums = block_scan.scan_blocks(array, of.total, of.lift, of.combine)
    assert np.array_equal(sums, array.cumsum())
    total = block_scan.combine_blocks(array, of.total, of.lift, of.combine)
    assert total[0] == oa.reduce(sum32, array)


@pytest.mark.parametrize("in_step", [False, True])
def test_a_tile_looks_back(small_tree: None, in_step: bool) -> None:
    """As where tiles run side by side: what those before it have said so far is their own."""
    with oa.Heap(backend=InterpretedGpu() if in_step else "cpu", capacity="64MiB"):
        look_back(in_step)


def look_back(in_step: bool) -> None:
    tile, of_keys = 64 * 3, sorting.keys_of(u8)
    values = np.random.default_rng(5).integers(0, 9, 5 * tile - 7).astype(np.uint8)
    counts = np.array(
        [np.bincount(values[k : k + tile], minlength=256) for k in range(0, len(values), tile)]
    )
    own, all = 1 << 30, 1 << 31
    begins = np.cumsum(counts.sum(0)) - counts.sum(0)
    for before in (0, 2):  # the last one that has said it for all
        said = np.zeros((5, 256), np.uint32)
        said[before] = all + begins + counts[: before + 1].sum(0)
        said[before + 1 : 3] = own + counts[before + 1 : 3]
        if in_step:
            move = warp_sort.kernel_of_moves(of_keys, u32, False, False, 3)
        else:
            move = block_sort.kernel_of_moves(of_keys, u32, False, False)
        run = move[64, 64]
        to, words = oa.array(u8, np.full(len(values), 255)), oa.array(u32, said.ravel())
        ticket, nothing, one = oa.array(i32, [3]), oa.zeros(1280, u32), oa.zeros(1, i64)
        next_words = oa.array(u32, np.ones(1280, np.uint32))
        run(
            oa.array(u8, values), nothing, len(values), 0, 1, 2, nothing, ticket, words, next_words,
            to, nothing, one,
        )  # fmt: skip
        assert np.array_equal(np.flatnonzero(next_words.numpy() == 0), np.arange(768, 1024))
        written = np.full(len(values), 255)
        for digit in range(9):
            first = begins[digit] + counts[:3, digit].sum()
            written[first : first + counts[3, digit]] = digit
        assert np.array_equal(to, written) and ticket[0] == 4
        assert np.array_equal(words[768:1024], all + begins + counts[:4].sum(0))


@pytest.mark.gpu
@pytest.mark.parametrize("type", [f32, i8, f64, u64], ids=str)
@pytest.mark.parametrize("length", [1, 2048, 4097, 8192, 8193, 3_000_000, 20_000_000])
def test_the_same_bits_on_a_gpu(length: int, type: Any) -> None:
    given = numbers(type, length)
    found = []
    for backend in ("python", "cuda"):
        with oa.Heap(backend=backend, capacity="2GiB"):
            array = oa.array(type, given)
            some = [getattr(array, name)() for name in ALL]
            some += [array.cumsum(), array.argsort()]
            array.sort()
            found.append([np.asarray(each).tobytes() for each in (*some, array)])
    assert found[0] == found[1]


def test_fields(small_tree: None, heap: oa.Heap) -> None:
    x = numbers(f32, 100)
    points = oa.new(Point, 60, x=x[:60], counts=np.arange(180).reshape(60, 3))
    oa.new(Other, 40, x=x[60:])
    everybody = oa.all(Point)
    assert same(everybody.x.sum(), x.sum()) and everybody.x.argmax() == x.argmax()
    assert points.counts.sum() == 179 * 90 and points.counts.argmax() == 179
    assert points[::-2].x.min() == x[59::-2][:30].min()
    assert points[[3, 9, 4]].x.argsort().numpy().tolist() == np.argsort(x[[3, 9, 4]]).tolist()
    points.x.sort()
    assert np.array_equal(points.x, np.sort(x[:60]))
    assert same(np.sum(points.x), x[:60].sum()) and points.counts.sum(axis=0)[1] == 179 * 30
    chosen = oa.where(points.x > 0, points.x, np.zeros(60, np.float32))
    assert np.array_equal(chosen, np.maximum(np.sort(x[:60]), 0)) and chosen.dtype == np.float32


def test_functions_of_the_user(small_tree: None, backend: str) -> None:
    with oa.Heap(backend=backend, capacity="64MiB"):
        maps = oa.array(Affine, [Affine(1 + i % 2, i) for i in range(33)])
        total, before = Affine(i64(1), i64(0)), []
        for each in maps:
            total = then(total, each)
            before.append((total.scale, total.shift))
        found = oa.reduce(then, maps)
        assert (found.scale, found.shift) == before[-1]
        assert [(each.scale, each.shift) for each in oa.scan(then, maps)] == before
        assert oa.reduce(sum32, oa.zeros(0, f32), 3.0) == 3.0
        assert len(oa.scan(sum32, oa.zeros(0, f32))) == 0
        rows = oa.array(f32, np.arange(6, dtype=np.float32).reshape(2, 3))
        assert oa.scan(sum32, rows).numpy().tolist() == [0, 1, 3, 6, 10, 15]
        assert oa.reduce(sum32, rows) == 15


def test_the_first_element_for_the_host(small_tree: None) -> None:
    """Of any type, as ``oa.reduce`` gives them."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB"):
        for type, value in ((oa.mat22, np.eye(2)), (oa.vec3, [1, 2, 3]), (u8, 7), (f64, 0.5)):
            array = oa.zeros(3, type)
            array[:] = np.array([value] * 3)
            assert np.array_equal(scratch.first_of(array), value)


def test_of_nothing(processor: None) -> None:
    empty = oa.zeros(0, i32)
    assert empty.sum() == 0 and empty.any() == np.False_ and empty.all() == np.True_
    assert oa.count_nonzero(empty) == 0 and len(empty.cumsum()) == len(empty.argsort()) == 0
    empty.sort()
    for name in ("min", "max", "argmin", "argmax"):
        with pytest.raises(ValueError, match=rf"Array\[i32\] has no elements, and so no {name}"):
            getattr(empty, name)()
    with pytest.warns(RuntimeWarning):
        assert np.isnan(empty.mean())
    with pytest.raises(ValueError, match="of no elements\nhelp: give it an initial value"):
        oa.reduce(sum32, oa.zeros(0, f32))


def test_what_is_refused(processor: None) -> None:
    points, numbers = oa.new(Point, 3), oa.zeros(3, i32)
    with pytest.raises(oa.ArgumentError, match="has no sum, as its elements are no numbers\nhelp"):
        points.sum()
    with pytest.raises(oa.ArgumentError, match=r"or oa.sort\(objects, key\)"):
        points.sort()
    with pytest.raises(oa.ArgumentError, match=r"sum32.* does not combine elements of Array.i32"):
        oa.reduce(sum32, numbers)
    with pytest.raises(oa.ArgumentError, match=r"decorate a function .* with @oa.func"):
        oa.scan(lambda a, b: a, numbers)
    with pytest.raises(oa.ArgumentError, match=r"takes an array or a view"):
        oa.reduce(sum32, [1.0])
    with pytest.raises(oa.ArgumentError, match=r"shapes \(3,\), \(4,\)"):
        oa.where(numbers, numbers, np.zeros(4))
    with pytest.raises(oa.ArgumentError, match="one of two choices"):
        oa.where(numbers, 1)


def test_a_class_may_have_fields_of_these_names(processor: None) -> None:
    class Named(oa.Object):
        sum: i32
        size: i64

        def sort(self) -> None:
            self.sum = self.sum + i32(1)

    objects = oa.new(Named, 2, sum=[1, 2])
    objects.sort()
    assert objects.sum.numpy().tolist() == [2, 3]
    assert objects.sum.sum() == 5 and objects.size.max() == 0


def test_fields_are_sorted_where_a_device_has_them() -> None:
    values, order = (np.random.default_rng(k).permutation(300) for k in range(2))
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB"):
        points = oa.new(Point, 300, x=values)
        points[order].x.sort()
        assert points[order].x.numpy().tolist() == [*range(300)]
        points.x.sort()
        assert points.x.numpy().tolist() == [*range(300)]
