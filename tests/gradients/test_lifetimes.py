"""Adjoints go with what they are of: where something else lies afterwards, there are none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.errors import HeapError
from sharedoa.runtime import tape as tapes

from .copying_device import CopyingDevice

COUNT = 100


class Bead(oa.Object):
    x: f64
    k: f64

    def grow(self) -> None:
        self.x *= self.k


class Weight(Bead):
    def grow(self) -> None:
        self.x *= 2.0 * self.k


@oa.kernel
def squares(numbers: oa.Array[f64], out: oa.Array[f64]) -> None:
    oa.atomic_add(out, 0, numbers[oa.grid(1)] ** 2)


@oa.kernel
def replace(beads: oa.Array[Bead], made: oa.Array[Bead], gone: i32) -> None:
    i = oa.grid(1)
    if i < gone:
        oa.delete(beads[i])
    else:
        made[i - gone] = Bead(x=3.0, k=5.0)


@pytest.fixture(params=["cpu", "python", "device"])
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    backend = CopyingDevice(64 << 20) if request.param == "device" else request.param
    with oa.Heap(backend=backend, capacity="64MiB", initial_region=16) as made:
        yield made


def _backward(numbers: oa.Array[Any], out: oa.Array[Any]) -> None:
    with oa.tape() as tape:
        squares[COUNT](numbers, out)
    tape.backward(out)


def test_arrays_where_others_were(heap: oa.Heap) -> None:
    out, numbers = oa.zeros(1, f64), oa.array(f64, np.arange(1.0, COUNT + 1))
    kept = oa.array(f64, np.arange(1.0, COUNT + 1))
    _backward(kept, out)
    _backward(numbers, out)
    np.testing.assert_array_equal(oa.grad(numbers), 2 * np.arange(1.0, COUNT + 1))
    place = numbers._address
    del numbers
    gc.collect()
    heap.synchronize()
    others = oa.array(f64, np.full(COUNT, 0.5))
    assert others._address == place
    _backward(others, out)  # adds what there was to those of ``kept`` alone
    np.testing.assert_array_equal(oa.grad(others), np.ones(COUNT))
    np.testing.assert_array_equal(oa.grad(kept), 2 * np.arange(1.0, COUNT + 1))
    del others
    gc.collect()
    heap.synchronize()
    others = oa.zeros(COUNT, f64)
    assert others._address == place and not oa.grad(others).any()


def test_objects_where_others_were(heap: oa.Heap) -> None:
    beads = oa.concat(oa.new(Bead, 4, x=1.0, k=3.0), oa.new(Weight, 2, x=1.0, k=3.0))
    with oa.tape() as tape:
        oa.all(Bead).grow()
        loss = beads.x.sum()
    tape.backward(loss)
    oa.delete(beads[1])
    oa.delete(beads[4:])  # the class has no region any more
    first, last = oa.new(Bead, 1, x=1.0, k=7.0), oa.new(Weight, 2, x=1.0, k=7.0)
    assert first.grad.x[0] == first.grad.k[0] == 0.0 and not last.grad.x.numpy().any()
    assert first[0].x == 1.0 and first[0].k == 7.0
    with oa.tape() as tape:
        oa.all(Bead).grow()
        loss = first.x.sum() + last.x.sum()
    tape.backward(loss)
    np.testing.assert_array_equal(first.grad.x, [7.0])
    np.testing.assert_array_equal(last.grad.x, [14.0, 14.0])
    np.testing.assert_array_equal(oa.concat(beads[:1], beads[2:4]).grad.x, [3.0] * 3)


def test_objects_that_launches_make_where_others_were(heap: oa.Heap) -> None:
    beads, made = oa.new(Bead, 4, x=1.0, k=3.0), oa.zeros(2, Bead)
    with oa.tape() as tape:
        oa.all(Bead).grow()
        loss = beads.x.sum()
    tape.backward(loss)
    replace[2](beads[1:3], made, 2)
    replace[2](made, made, 0)
    np.testing.assert_array_equal(made.k, [5.0, 5.0])
    np.testing.assert_array_equal(made.grad.x, [0.0, 0.0])
    np.testing.assert_array_equal(oa.concat(beads[:1], beads[3:]).grad.x, [3.0, 3.0])


def test_a_way_back_that_fails(monkeypatch: pytest.MonkeyPatch, heap: oa.Heap) -> None:
    out, numbers = oa.zeros(1, f64), oa.array(f64, np.ones(COUNT))
    _backward(numbers, out)

    def fails(*given: Any) -> None:
        raise HeapError("it fails")

    with monkeypatch.context() as patch:
        patch.setattr(tapes.Tape, "_go_back", fails)
        with pytest.raises(HeapError, match="it fails"):
            _backward(numbers, out)
    np.testing.assert_array_equal(oa.grad(numbers), np.full(COUNT, 2.0))
    assert oa.grad(out)[0] == 1.0


def test_zeros_that_a_device_is_about_to_write() -> None:
    device = CopyingDevice(64 << 20)
    with oa.Heap(backend=device, capacity="64MiB"):
        out, numbers = oa.zeros(1, f64), oa.array(f64, np.ones(COUNT))
        with oa.tape() as tape:
            squares[COUNT](numbers, out)
        tape.backward(out)
        tape.zero()
        assert not oa.grad(numbers).any()
        # What the host has looked at goes back first.
        for are_read in (True, False):
            tape.zero()
            device.moved.clear()
            tape.backward(out)
            assert bool(device.moved) == are_read
