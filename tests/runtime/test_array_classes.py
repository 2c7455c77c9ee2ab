"""An array holds objects of its class and below, whoever stores to it and by whatever class he
knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32, i64
from tests.codegen.interpreted import InterpretedGpu

GPU = InterpretedGpu()


class Base(oa.Object):
    p: i32

    def put(self, to: oa.Array[Base]) -> None:
        to[0] = self


class Narrow(Base):
    q: i64

    def grow(self) -> None:
        self.q += 1


class Deep(oa.Object):
    narrow: oa.Array[Narrow]


class Holder(oa.Object):
    held: oa.Array[Base]
    others: oa.Array[Base]


@oa.func
def set_first(to: oa.Array[Base], value: Base) -> None:
    to[0] = value


@oa.kernel
def store(a: oa.Array[Base], b: oa.Array[Base]):
    a[0] = b[0]


@oa.kernel
def store_by_a_function(a: oa.Array[Base], b: oa.Array[Base]):
    set_first(a, b[0])


@oa.kernel
def store_by_a_local(a: oa.Array[Base], b: oa.Array[Base]):
    name = a
    oa.atomic_exch(name, 0, b[0])


@oa.kernel
def store_in_held(a: oa.Array[Holder], b: oa.Array[Base]):
    a[0].held[0] = b[0]


@oa.kernel
def hold(a: oa.Array[Holder], b: oa.Array[Base]):
    a[0].others = b


@oa.kernel
def store_narrow(a: oa.Array[Narrow], b: oa.Array[Base]):
    first = b[0]
    if isinstance(first, Narrow):
        a[0] = first


@pytest.fixture(params=["cpu", "interpreted"])
def heap(request: pytest.FixtureRequest) -> Any:
    backend = GPU if request.param == "interpreted" else request.param
    with oa.Heap(mode="auto", backend=backend, capacity="16MiB") as made:
        yield made


@pytest.mark.parametrize("kernel", [store, store_by_a_function, store_by_a_local])
def test_a_parameter_that_is_stored_to(heap: oa.Heap, kernel: Any) -> None:
    base, narrow = oa.new(Base, 2, p=1), oa.new(Narrow, 2, p=2)
    for _ in range(3):
        with pytest.raises(oa.ArgumentError, match=r"argument a: .*Base to arrays.*Narrow"):
            kernel[1](narrow, base)
    mixed = oa.array(Base, narrow)
    assert mixed._run == narrow._run is not None  # type: ignore[attr-defined]
    for _ in range(3):
        kernel[1](mixed, narrow)
        kernel[1](mixed, base)
        with pytest.raises(oa.ArgumentError, match="Narrow"):
            kernel[1](narrow, base)
    assert mixed[0].p == 1 and narrow[0].p == 2
    with pytest.raises(oa.ArgumentError, match="Narrow"), oa.capture():
        kernel[1](narrow, base)


def test_a_method(heap: oa.Heap) -> None:
    base, narrow = oa.new(Base, 1, p=1), oa.new(Narrow, 2, p=2)
    with pytest.raises(oa.ArgumentError, match="argument to"):
        base.put(narrow)
    assert type(narrow[0]) is Narrow
    same = oa.array(Base, narrow)
    base.put(same)
    assert same[0] == base[0]


def test_reading_takes_arrays_of_subclasses(heap: oa.Heap) -> None:
    base, narrow = oa.new(Base, 2, p=1), oa.new(Narrow, 2, p=2)
    store[1](base, narrow)
    store_narrow[1](narrow, narrow)
    assert type(base[0]) is Narrow


@oa.kernel
def read_narrow(a: oa.Array[Narrow], out: oa.Array[i64]):
    i = oa.grid(1)
    out[i] = a[i].q


@oa.kernel
def read_held(a: oa.Array[Deep], out: oa.Array[i64]):
    i = oa.grid(1)
    out[i] = a[i].narrow[0].q


def read(narrow: Any) -> None:
    out = oa.zeros(len(narrow), i64)
    read_narrow[len(narrow)](narrow, out)
    assert out.numpy().tolist() == [5] * len(narrow)


STORES: dict[str, Any] = {
    "a kernel": lambda holders, base: store_in_held[1](holders, base),
    "a step": lambda holders, base: _run_step(holders, base),
    "a parameter": lambda holders, base: store[1](holders[0].held, base),
    "the host": lambda holders, base: holders[0].held.__setitem__(0, base[0]),
}


def _run_step(holders: Any, base: Any) -> None:
    with oa.capture() as step:
        store_in_held[1](holders, base)
    step.run()


HOLDS: dict[str, Any] = {
    "a list": lambda holders, narrow: setattr(holders, "held", [narrow] * 2),
    "pieces": lambda holders, narrow: setattr(holders, "held", oa.split(narrow, [1, 1])),
    "a piece": lambda holders, narrow: setattr(holders[0], "held", narrow[:1]),
    "another field": lambda holders, narrow: _by_another_field(holders, narrow),
    "what loaded": lambda holders, narrow: setattr(holders[0], "held", narrow),
}


def _by_another_field(holders: Any, narrow: Any) -> None:
    deep = oa.new(Deep, 2, narrow=narrow)
    holders.held = deep.narrow
    deep.narrow = oa.zeros(0, Narrow)


@pytest.mark.parametrize("stored", STORES)
@pytest.mark.parametrize("held", HOLDS)
def test_arrays_that_objects_hold(heap: oa.Heap, held: str, stored: str) -> None:
    """As arrays of a class above, which they are from the first store on."""
    base, narrow, other = oa.new(Base, 2), oa.new(Narrow, 2, q=5), oa.new(Narrow, 2, q=5)
    holders = oa.new(Holder, 2)
    read(narrow)
    if held == "another field" and stored != "a kernel":
        pytest.skip("once is enough")
    HOLDS[held](holders, narrow)
    for _ in range(2):
        read(narrow)
        read(other)
    if held == "another field":
        with pytest.raises(oa.ArgumentError, match="held as arrays of a subclass, too"):
            STORES[stored](holders, base)
        read(narrow)
        return
    STORES[stored](holders, base)
    heap.synchronize()
    assert type(holders[0].held[0]) is Base
    for _ in range(3):
        with pytest.raises(oa.ArgumentError, match=r"argument a takes .*any Base may"):
            read(narrow)
        read(other)
    with pytest.raises(oa.ArgumentError, match="any Base may"):
        narrow.grow()


def test_arrays_that_objects_hold_by_two_classes(heap: oa.Heap) -> None:
    base, narrow = oa.new(Base, 2), oa.new(Narrow, 2, q=5)
    holders, deep = oa.new(Holder, 1, held=oa.array(Base, narrow)), oa.new(Deep, 1, narrow=narrow)
    out = oa.zeros(1, i64)
    store_in_held[1](holders, base)
    read_held[1](deep, out)
    assert out[0] == 5
    holders[0].held = narrow
    for _ in range(2):
        with pytest.raises(oa.ArgumentError, match="held as arrays of a subclass, too"):
            store_in_held[1](holders, base)
        with pytest.raises(oa.ArgumentError, match="held as arrays of a subclass, too"):
            holders[0].held[0] = base[0]
        read_held[1](deep, out)
        assert out[0] == 5


def test_objects_are_given_arrays_of_their_very_class(heap: oa.Heap) -> None:
    narrow, holders = oa.new(Narrow, 2, q=5), oa.new(Holder, 2)
    with pytest.raises(oa.ArgumentError, match="argument b"):
        hold[1](holders, narrow)
    hold[1](holders, oa.array(Base, narrow))
    assert type(holders[0].others[0]) is Narrow


def test_after_loading(heap: oa.Heap, tmp_path: Path) -> None:
    narrow = oa.new(Narrow, 2, q=5)
    oa.dump(tmp_path / "heap", holders=oa.new(Holder, 2, held=narrow), narrow=narrow)
    with oa.Heap(mode="auto", backend=heap.backend, capacity="16MiB"):
        found = oa.load(tmp_path / "heap")
        read(found["narrow"])
        store_in_held[1](found["holders"], oa.new(Base, 2))
        with pytest.raises(oa.ArgumentError, match="any Base may"):
            read(found["narrow"])
