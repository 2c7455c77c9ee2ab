"""Few numbers in memory of the host: the quick way gives what the one that looks at everything
does, and takes it where there is something to look at."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i8, i32, u64
from sharedoa.errors import ArgumentError, HeapError
from sharedoa.many import calls, few, functions
from sharedoa.model.scalars import boolean
from tests.backends.pretend_device import PretendDevice
from tests.codegen.interpreted import InterpretedGpu

from .small import small_sizes

ALL = ("sum", "mean", "min", "max", "any", "all", "argmin", "argmax", "cumsum", "argsort")


class Point(oa.Object):
    x: f32
    n: i32


@oa.kernel
def kernel_add(values: oa.Array[f32], by: f32) -> None:
    i = oa.grid(1)
    values[i] += by


def numbers(type: Any, length: int) -> np.ndarray:
    random = np.random.default_rng(length)
    values = random.integers(-100 if type in (f32, f64, i8, i32) else 0, 100, length)
    given = (values / 7 if type in (f32, f64) else values).astype(type.dtype)
    if type in (f32, f64) and length > 10:
        given[3], given[5], given[7] = -0.0, 0.0, -np.inf
        if length % 2:
            given[length // 2] = np.copysign(np.nan, -1)
    return given


def bits(found: Any) -> tuple[Any, bytes]:
    values = found.numpy() if isinstance(found, oa.Array) else np.asarray(found)
    return values.dtype, values.tobytes()


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_as_what_looks_at_everything(backend: str) -> None:
    with oa.Heap(backend=backend, capacity="64MiB"):
        for type in (f32, f64, i8, i32, u64, boolean):
            for length in (1, 300, 301):
                given = numbers(type, length)
                array, other = oa.array(type, given), oa.array(type, given)
                for name in ALL:
                    assert few.at_hand(array) is not None
                    found, careful = getattr(array, name)(), calls.many(other, name, {})
                    assert bits(found) == bits(careful), (name, type, length)
                assert oa.count_nonzero(array) == np.count_nonzero(given)
                (places,), (same,) = oa.where(array), functions._where([other])
                assert bits(places) == bits(same)
                chosen, same = oa.where(array, array, 1), functions._where([other, other, 1])
                assert bits(chosen) == bits(same)
                array.sort()
                calls.many(other, "sort", {})
                assert bits(array) == bits(other)
                if type is not boolean:  # of what the elements are now
                    array[0] = 77
                    assert array.max() == np.asarray(array).max() or length == 301


def test_numbers_that_have_no_type() -> None:
    """Refused as where everything is looked at; NumPy would take some for floats."""
    with oa.Heap(backend="python", capacity="64MiB"):
        for array in (oa.array(f32, [1.0]), oa.array(i32, [1])):
            for number in (1 << 64, -(1 << 63) - 1):
                with pytest.raises(ArgumentError, match=r"oa.where does not take int"):
                    oa.where(array, array, number)
        found = oa.where(array, (1 << 64) - 1, oa.array(u64, [0]))
        assert found.dtype == np.uint64 and found[0] == (1 << 64) - 1


@pytest.mark.parametrize("backend", ["cpu", "python", "ptx"])
def test_choices_of_arrays_and_numbers(backend: str) -> None:
    """By NumPy and by kernels, each operand of a type of its own; the second time by what the first
    one has left."""
    device: Any = InterpretedGpu() if backend == "ptx" else backend
    with small_sizes(), oa.Heap(backend=device, capacity="64MiB"):
        plain = numbers(i8, 70) // 50, numbers(i32, 70), numbers(f32, 70)
        arrays = [oa.array(*pair) for pair in zip((i8, i32, f32), plain, strict=True)]
        for are_arrays in itertools.product((True, False), repeat=3):
            if not any(are_arrays):
                continue
            for some in ((True, 7, 0.5), (False, -2, 3.0)):
                given, expected = list(some), list(some)
                for k in itertools.compress(range(3), are_arrays):
                    given[k], expected[k] = arrays[k], plain[k]
                assert bits(oa.where(*given)) == bits(np.where(*expected)), (are_arrays, some)


def test_choices_on_two_heaps() -> None:
    """Refused, also where what the first call has left would do."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="64MiB"):
        array = oa.array(i32, [1, 0])
        assert np.array_equal(oa.where(array, array, 3), [1, 3])
        assert np.array_equal(oa.where(array, array, array), [1, 0])
        with oa.Heap(backend="cpu", capacity="64MiB"):
            other = oa.array(i32, [1, 0])
        for operands in ((array, array, other), (array, other, 3), (other, array, array)):
            with pytest.raises(ArgumentError, match="arrays of two heaps"):
                oa.where(*operands)


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_fields_as_arrays(backend: str) -> None:
    with oa.Heap(backend=backend, capacity="64MiB"):
        x, n = numbers(f32, 301), numbers(i32, 301)
        points = oa.new(Point, 301, x=x, n=n)
        mixed = np.random.default_rng(1).permutation(301)
        for objects, order in ((points, slice(None)), (points[mixed], mixed)):
            for field, given in ((objects.x, x[order]), (objects.n, n[order])):
                array = oa.array(f32 if field.dtype.kind == "f" else i32, given)
                for name in ALL:
                    assert bits(getattr(field, name)()) == bits(getattr(array, name)()), name
                assert oa.count_nonzero(field) == np.count_nonzero(given)
                assert bits(oa.where(field, field, 2)) == bits(oa.where(array, array, 2))
                field.sort()
                array.sort()
                assert bits(field) == bits(array)
                field[...] = given


def test_amid_launches_that_wait_or_are_recorded() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        array = oa.array(f32, np.arange(90))
        assert array.sum() == 4005  # at hand from now on
        with oa.fuse():
            kernel_add[90](array, 1.0)
            assert array.sum() == 4005 + 90 and oa.count_nonzero(array) == 90
            kernel_add[90](array, 1.0)
        for call in (array.sum, array.sort, lambda: oa.count_nonzero(array)):
            with pytest.raises(HeapError, match=r"inside a block of oa.capture"), oa.capture():
                call()
        with oa.capture() as step:
            kernel_add[90](array, 1.0)
        step.run()
        assert array.sum() == 4005 + 270 and array.argmax() == 89
        points = oa.new(Point, 9, x=2.0)
        with oa.tape() as tape:
            loss = points.x.sum()
        tape.backward(loss)
        assert points.grad.x.sum() == 9


def test_views_of_objects_that_went_or_moved() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        points = oa.new(Point, 100, x=1.0)
        first, rest = points[:10].x, points[10:].x
        assert first.sum() == 10 and rest.sum() == 90
        oa.delete(points[5])
        with pytest.raises(HeapError, match="was deleted"):
            first.sum()
        with pytest.raises(HeapError, match="was deleted"):
            oa.where(first)
        assert rest.sum() == 90
        others = oa.new(Point, 1, x=5.0)
        with pytest.raises(HeapError, match="was deleted"):
            first.sum()
        assert others.x.sum() == 5 and oa.all(Point).x.sum() == 104
        oa.compact(Point)
        with pytest.raises(HeapError, match="before objects moved"):
            rest.min()


def test_what_another_thread_launches() -> None:
    """A sum waits for it, also the second one."""
    waiting, go = threading.Event(), threading.Event()

    with oa.Heap(backend="python", capacity="64MiB"):
        array = oa.array(f32, np.arange(90))
        assert array.sum() == 4005

        def wait_and_add(values: oa.Array[f32]) -> None:
            waiting.set()
            go.wait(10)
            values[0] = 1000.0

        kernel = oa.kernel(wait_and_add)
        thread = threading.Thread(target=kernel[1], args=(array,))
        thread.start()
        assert waiting.wait(10)
        threading.Timer(0.02, go.set).start()
        assert array.sum() == 5005
        thread.join()


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_equal_elements_of_rows_stay_as_they_were(backend: str) -> None:
    """No processor's own order, which is what NumPy gives where nothing else is asked for."""
    given = np.random.default_rng(1).choice([0.0, -0.0, 1.0], (2, 500))
    with oa.Heap(backend=backend, capacity="64MiB"):
        array = oa.array(f64, given)
        expected = np.argsort(given, kind="stable")
        assert np.array_equal(array.argsort(), expected)
        assert np.array_equal(array.argsort(axis=1, kind="quicksort"), expected)
        assert np.array_equal(array.argsort(stable=False), expected)
        with pytest.raises(ValueError, match="kind"):
            array.argsort(kind="unknown")
        array.sort(stable=True)
        assert bits(array) == bits(np.take_along_axis(given, expected, 1))
