"""Arrays, fields and references to other libraries, and theirs to kernels, without a copy."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, u64


class Body(oa.Object, layout="aos"):
    x: f32
    k: i32
    h: oa.inline[f32, 3]
    samples: oa.Array[f32]

    def shift(self, by: f32) -> None:
        self.x += by


class Loose(oa.Object, layout="tile"):
    x: f32


@oa.value
class Pair:
    a: f32
    b: f32


@oa.kernel
def twice(a: oa.Array[f32]) -> None:
    i = oa.grid(1)
    if i < len(a):
        a[i] *= 2.0


@oa.kernel
def total(a: oa.Array[f32], b: oa.Array[oa.f64]) -> None:
    for value in a:
        b[0] += value


@oa.kernel
def turn(a: oa.Array[f32, 2]) -> None:
    i = oa.grid(1)
    if i < a.shape[0]:
        a[i, 0], a[i, 1] = a[i, 1], a[i, 0]


@oa.kernel
def keep(bodies: oa.Array[Body], a: oa.Array[f32]) -> None:
    bodies[0].samples = a


class Foreign:
    """An array of a library that has DLPack; ``versions`` are those that it was asked for."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def test_arrays_are_shared_and_live_as_long_as_somebody_looks() -> None:
    with oa.Heap(mode="auto") as heap:
        for array in (oa.array(f32, range(8)), oa.array(u64, range(8)), oa.zeros((4, 2), oa.f64)):
            assert array.__dlpack_device__() == (1, 0)
            assert not hasattr(array, "__cuda_array_interface__")
            other = np.from_dlpack(array)
            assert other.shape == array.shape and other.dtype == array.dtype
            other[1] = 77
            assert np.all(array.numpy()[1] == 77)
        view = np.from_dlpack(oa.array(f32, np.arange(10_000)))
        gc.collect()
        heap.synchronize()
        oa.zeros(10, f32)
        assert view[9_999] == 9_999 and heap.stats().array_bytes >= 40_000
        del view
        gc.collect()
        heap.synchronize()
        assert heap.stats().array_bytes < 40_000
        assert np.from_dlpack(oa.zeros(0, f32)).shape == (0,)
        copied = np.from_dlpack(array, copy=True)
        copied[:] = 5
        assert not np.any(array.numpy() == 5)
        with pytest.raises(oa.ExportError, match="a component: view"):
            np.from_dlpack(oa.array(Pair, [Pair(1, 2)]))
        with pytest.raises(oa.ExportError, match="is asked for on"):
            array.__dlpack__(dl_device=(2, 0))
        with pytest.raises(oa.ExportError, match="has no stream"):
            array.__dlpack__(stream=1)


def test_fields_are_strided_and_references_read_only() -> None:
    with oa.Heap(mode="auto"):
        bodies = oa.new(Body, 9, x=np.arange(9), k=range(9))
        x, h = np.from_dlpack(bodies.x), np.from_dlpack(bodies[2:8].h)
        assert x.strides[0] > 4 and h.shape == (6, 3) and list(x) == list(range(9))
        x[3], h[0, 1] = 50, 60
        bodies.shift(1.0)
        assert bodies[3].x == x[3] == 51 and bodies[2].h[1] == 60
        references = np.from_dlpack(bodies)
        assert references.dtype == bodies.dtype and not references.flags.writeable
        assert list(references) == list(bodies.numpy())
        with pytest.raises(oa.ExportError, match="read-only"):
            bodies.__dlpack__()  # of the version that cannot say so
        for apart in (bodies[[4, 1, 1]].x, oa.new(Loose, 64).x):
            with pytest.raises(oa.ExportError, match="equal distances"):
                np.from_dlpack(apart)
    with oa.Heap(mode="cuda"), pytest.raises(oa.ExportError, match="one by one"):
        np.from_dlpack(oa.new(Body, 3).x)


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_kernels_take_foreign_arrays_where_they_are(backend: str) -> None:
    with oa.Heap(mode="auto", backend=backend):
        values = np.arange(6, dtype=np.float32)
        other = Foreign(values)
        twice[6](other)
        assert list(values) == [0, 2, 4, 6, 8, 10]
        taken, shared = oa.array(other), oa.array(values)
        twice[6](taken)
        twice[2](taken[4:])
        twice[6](a=shared)
        assert list(values) == [0, 8, 16, 24, 64, 80] and taken[5] == 80 and shared[1] == 8
        taken[0] = 7
        assert values[0] == 7 and taken.sum() == values.sum() and list(taken) == list(values)
        assert np.shares_memory(np.from_dlpack(taken), values)
        rows = np.arange(6, dtype=np.float32).reshape(3, 2)
        turn[3](Foreign(rows))
        table = oa.array(rows)
        turn[1](table)
        assert rows.tolist() == [[0, 1], [3, 2], [5, 4]] and table[2, 0] == 5
        twice[2](table[1])
        assert rows[1].tolist() == [6, 4]
        if backend == "cpu":
            with oa.capture() as step:
                twice[6](taken)
            step.run(2)
            assert values[1] == 32


def test_what_is_taken_is_kept() -> None:
    with oa.Heap(mode="auto"):
        values = np.arange(4, dtype=np.float32)
        gone = weakref.ref(values)
        taken = oa.array(values)
        del values
        gc.collect()
        assert gone() is not None and list(taken[1:]) == [1, 2, 3]
        del taken
        gc.collect()
        assert gone() is None


def test_what_is_read_only_goes_to_kernels_that_only_read() -> None:
    with oa.Heap(mode="auto"):
        values, found = np.arange(4, dtype=np.float32), oa.zeros(1, oa.f64)
        values.flags.writeable = False
        total[1](Foreign(values), found)
        assert found[0] == 6
        with pytest.raises(oa.ArgumentError, match="read-only, and the kernel stores"):
            twice[4](Foreign(values))
        with pytest.raises(oa.ArgumentError, match="is read-only"):
            oa.array(values)
        assert list(values) == [0, 1, 2, 3]


@oa.kernel
def add(a: oa.Array[oa.f64]) -> None:
    a[0] += 1.0


@oa.kernel
def change(a: oa.Array[f32], b: oa.Array[i32], found: oa.Array[i32]) -> None:
    i = oa.grid(1)
    before = b[i]
    a[i] = 1.0
    found[i] = b[i] - before


@oa.kernel
def compare(a: oa.Array[f32], b: oa.Array[i32], found: oa.Array[oa.f64]) -> None:
    i = oa.grid(1)
    found[i] = 1.0 if b[i] == 0 else a[i]


class Holder(oa.Object):
    held: oa.Array[f32]


@oa.kernel
def change_held(holder: Holder, b: oa.Array[i32], found: oa.Array[i32]) -> None:
    before = b[0]
    holder.held[0] = 1.0
    found[0] = b[0] - before


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_memory_has_elements_of_one_type_in_a_launch_that_stores(backend: str) -> None:
    """Code takes those of another type for other memory."""
    with oa.Heap(mode="auto", backend=backend):
        values, found = np.zeros(8, np.float32), oa.zeros(8, i32)
        numbers, own = values.view(np.int32), oa.array(f32, values)
        taken = oa.array(np.from_dlpack(own).view(np.int32))
        holder = Holder(held=own)
        for launch in (
            lambda: change[4](oa.array(values), oa.array(numbers), found),
            lambda: change[4](oa.array(values), oa.array(numbers[3:]), found),
            lambda: change[4](oa.array(values), Foreign(numbers), found),
            lambda: change[4](own, taken, found),
            lambda: change_held[1](holder, taken, found),
        ):
            with pytest.raises(oa.ArgumentError, match="stores to one of them"):
                launch()
        change[4](oa.array(values[:4]), oa.array(numbers[4:]), found)
        compare[4](own, taken, oa.zeros(4, oa.f64))
        assert list(found) == [0] * 8 and list(values) == [1] * 4 + [0] * 4


def test_fields_are_no_arrays() -> None:
    class Alone(oa.Object, layout="aos"):
        x: oa.f64

    with oa.Heap(mode="auto"):
        objects = oa.new(Alone, 8)
        with pytest.raises(oa.ArgumentError, match="lies in fields of Alone objects"):
            oa.array(np.from_dlpack(objects.x))
        with pytest.raises(oa.ArgumentError, match="argument a: a tests Foreign lies in fields"):
            add[1](Foreign(np.from_dlpack(objects.x)))
        assert len(oa.array(oa.f64, np.from_dlpack(objects.x))) == 8


def test_what_is_refused() -> None:
    with oa.Heap(mode="auto"):
        bodies, values = oa.new(Body, 2), np.arange(8, dtype=np.float32)
        taken = oa.array(values)
        for store in (
            lambda: keep[1](bodies, Foreign(values)),
            lambda: keep[1](bodies, taken),
            lambda: setattr(bodies[0], "samples", taken),
            lambda: setattr(bodies, "samples", taken),
            lambda: setattr(bodies, "samples", oa.split(taken, [4, 4])),
            lambda: oa.new(Body, samples=taken[2:]),
        ):
            with pytest.raises(oa.ArgumentError, match="another library"):
                store()
        for given, told in (
            (values[::2], "gaps"),
            (values.reshape(2, 2, 2), "3 dimensions"),
            (values.astype(np.complex64), "do not know elements of type complex64"),
        ):
            with pytest.raises(oa.ArgumentError, match=told):
                oa.array(given)
            with pytest.raises(oa.ArgumentError, match=told):
                twice[1](Foreign(given))
        with pytest.raises(oa.ArgumentError, match=r"takes Array\[f32\]"):
            twice[1](Foreign(values.astype(np.float64)))
        with pytest.raises(oa.ArgumentError, match="name the type of elements first"):
            oa.array([1, 2])

        class OnGpu:
            __cuda_array_interface__: dict[str, Any] = {}

        with pytest.raises(oa.ArgumentError, match="it lies on a GPU"):
            oa.array(OnGpu())
        for block in (oa.tape, oa.fuse):
            with block(), pytest.raises(oa.ArgumentError, match="of another library"):
                twice[8](taken)
        with oa.stream(5):
            twice[8](taken)
        with pytest.raises(oa.ArgumentError, match="takes a stream, not 'x'"), oa.stream("x"):
            pass


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    with oa.Heap(mode="auto"):
        array, found = oa.array(f32, range(5)), oa.zeros(1, oa.f64)
        assert jax.dlpack.from_dlpack(array).tolist() == [0, 1, 2, 3, 4]
        given = jax.numpy.arange(5, dtype=np.float32)
        total[1](given, found)
        assert found[0] == 10
        with pytest.raises(oa.ArgumentError, match="read-only"):
            twice[5](given)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    with oa.Heap(mode="auto"):
        bodies = oa.new(Body, 5, x=np.arange(5))
        x = torch.from_dlpack(bodies.x)
        x *= 2
        assert list(bodies.x) == [0, 2, 4, 6, 8]
        tensor = torch.arange(6, dtype=torch.float32)
        twice[6](tensor)
        assert tensor.tolist() == [0, 2, 4, 6, 8, 10]
        with pytest.raises(oa.ArgumentError, match="gaps"):
            twice[3](tensor[::2])
