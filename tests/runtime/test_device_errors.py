"""Errors of running kernels: which kernel, line, thread and object; then the process goes on."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import sharedoa as oa
from dispatch.errors import RECORD_DTYPE, ErrorCode
from sharedoa import f32, i32
from sharedoa.heap.placement import FieldPath
from sharedoa.heap.provider import HostProvider
from sharedoa.runtime.code_cache.descriptions import Outline
from sharedoa.runtime.device_errors import ErrorRecords, Loaded


class Base(oa.Object):
    value: i32

    def get(self) -> i32: ...


class Leaf(Base):
    def get(self) -> i32:
        return self.value


@oa.kernel
def call_all(objects: oa.Array[Base], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = objects[i].get()  # the call


@oa.kernel
def index(out: oa.Array[i32], at: i32):
    i = oa.grid(1)
    if i == 3:
        out[at] = 1  # the index


@oa.kernel
def divide(out: oa.Array[i32], by: i32):
    i = oa.grid(1)
    out[i] = i32(10) // by


@oa.kernel
def insist(out: oa.Array[i32], limit: i32):
    i = oa.grid(1)
    assert i < limit, "too far"
    out[i] = 1


@pytest.fixture(params=["coal", "sharedoa", "typepointer", "range+switch", "cuda", "concord"])
def checked(request):
    with oa.Heap(mode=request.param, backend="cpu", capacity="256MiB", debug=True) as heap:
        yield heap


def caught_by(launch):
    with pytest.raises(oa.DeviceError) as caught:
        launch()
        oa.synchronize()
    oa.synchronize()  # reported once
    return caught.value


def test_a_null_receiver(checked):
    objects, out = oa.array(Base, [Leaf(value=1), None, Leaf(value=3)]), oa.zeros(3, i32)
    error = caught_by(lambda: call_all[3](objects, out))
    assert "call_all" in error.message and "thread 1" in error.message
    assert "null" in error.message and "# the call" in error.message
    assert f"{__file__}:{call_all.function.__code__.co_firstlineno + 3}" in error.message
    assert error.help
    assert out.numpy().tolist() == [1, 0, 3]


def test_a_freed_object(checked):
    leaves, out = oa.new(Leaf, 3, value=5), oa.zeros(3, i32)
    oa.delete(leaves[2])  # this line
    line = test_a_freed_object.__code__.co_firstlineno + 2
    error = caught_by(lambda: call_all[3](leaves, out))
    assert "thread 2" in error.message
    assert "the Leaf at 0x" in error.message
    assert f"was deleted by {__file__}:{line}" in error.message


def test_a_freed_object_whose_class_has_new_ones(checked):
    leaves, out = oa.new(Leaf, 3, value=5), oa.zeros(3, i32)
    oa.delete(leaves[2])
    others = oa.new(Leaf, 8, value=6)
    error = caught_by(lambda: call_all[3](leaves, out))
    assert "thread 2" in error.message and "the Leaf at 0x" in error.message
    call_all[3](others, out)
    assert out.numpy().tolist() == [6, 6, 6]


class Stranger(oa.Object):
    other: i32


def test_a_freed_object_where_there_could_be_one_of_another_class(checked):
    leaves, out = oa.new(Leaf, 3, value=5), oa.zeros(3, i32)
    oa.delete(leaves)
    strangers = oa.new(Stranger, 3, other=7)
    error = caught_by(lambda: call_all[3](leaves, out))
    assert "the Leaf at 0x" in error.message and "was deleted by" in error.message
    assert strangers.other.numpy().tolist() == [7, 7, 7]


def test_a_foreign_object(checked):
    with oa.Heap(mode=checked.mode.name, backend="cpu", capacity="256MiB") as other:
        stranger = Leaf(value=1)
    out = oa.zeros(1, i32)
    with pytest.raises(oa.ArgumentError):
        oa.array(Base, [stranger])
    del other
    oa.synchronize()
    assert out[0] == 0


def test_an_index_out_of_bounds(checked):
    out = oa.zeros(8, i32)
    error = caught_by(lambda: index[8](out, 8))
    assert "index 8" in error.message and "length 8" in error.message
    assert "thread 3" in error.message and "# the index" in error.message
    error = caught_by(lambda: index[8](out, -9))
    assert "index -9" in error.message
    index[8](out, -1)
    oa.synchronize()
    assert out[7] == 1


def test_a_division_by_zero(checked):
    error = caught_by(lambda: divide[2](oa.zeros(2, i32), 0))
    assert "divided by zero" in error.message and "thread 0" in error.message


def test_an_assertion_is_checked_without_debug_too():
    with oa.Heap(backend="cpu", capacity="256MiB"):
        out = oa.zeros(4, i32)
        error = caught_by(lambda: insist[4](out, 2))
        assert "insist" in error.message
        assert "an assertion failed: too far\n" in error.message
        insist[4](out, 4)
        assert out.numpy().tolist() == [1] * 4


class Counted(oa.Object):
    value: i32

    def lower(self, k: i32) -> i32:
        assert k > 0, "{k} must be positive"
        assert self.value >= k
        return self.value - k


@oa.kernel
def lower_all(objects: oa.Array[Counted], k: i32):
    objects[oa.grid(1)].lower(k)


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("debug", [False, True])
def test_an_assertion_says_its_text_or_else_what_it_tests(backend, debug):
    with oa.Heap(backend=backend, capacity="256MiB", debug=debug):
        counted = oa.new(Counted, 3, value=2)
        for launch in (lambda k: lower_all[3](counted, k), counted.lower):
            error = caught_by(lambda launch=launch: launch(-1))
            assert ": an assertion failed: {k} must be positive\n" in error.message
            error = caught_by(lambda launch=launch: launch(3))
            assert ": an assertion failed: self.value >= k\n" in error.message


def test_reading_results_reports_too(checked):
    out = oa.zeros(4, i32)
    insist[4](out, 2)
    with pytest.raises(oa.DeviceError, match="insist"):
        out.numpy()


def test_debug_for_one_launch_alone():
    with oa.Heap(backend="cpu", capacity="256MiB"):
        out = oa.zeros(2, i32)
        divide[2](out, 0)
        assert out.numpy().tolist() == [0, 0]
        error = caught_by(lambda: divide[2](out, 0, debug=True))
        assert "// by" in error.message


def test_two_kernels_that_fail_are_told_apart():
    with oa.Heap(backend="cpu", capacity="256MiB"):
        out = oa.zeros(2, i32)
        insist[2](out, 5)
        error = caught_by(lambda: insist[2](out, 1))
        assert "insist" in error.message
        error = caught_by(lambda: divide[2](out, 0, debug=True))
        assert "divide" in error.message


def test_a_record_that_is_being_filled_is_left_until_it_is():
    """While one thread waits, the kernel of another may have claimed a record and given no code."""
    records = ErrorRecords(HostProvider())

    def claimed(name: str) -> np.ndarray:
        outline = Outline("", False, False, 1, (), {})
        loaded = Loaded(name, outline, debug=True, handle=None)
        memory = (ctypes.c_uint8 * RECORD_DTYPE.itemsize).from_address(records.claim(loaded))
        record = np.ctypeslib.as_array(memory).view(RECORD_DTYPE)
        record["flag"] = 1
        return record

    filling = claimed("filling")
    records.raise_first()
    assert filling["flag"][0]
    claimed("complete")["code"] = ErrorCode.ASSERTION
    with pytest.raises(oa.DeviceError, match="complete"):
        records.raise_first()
    records.raise_first()
    filling["code"] = ErrorCode.ASSERTION
    with pytest.raises(oa.DeviceError, match="filling"):
        records.raise_first()
    assert not filling["flag"][0]


@oa.kernel
def compute(values: oa.Array[f32], by: i32):
    i = oa.grid(1)
    values[i] = f32(i // by)


def test_cpython_names_thread_and_line():
    with oa.Heap(backend="python", capacity="256MiB"):
        values = oa.zeros(2, f32)
        with pytest.raises(oa.DeviceError, match=r"kernel insist, thread 1: AssertionError") as e:
            insist[2](oa.zeros(2, i32), 1)
        assert isinstance(e.value.__cause__, AssertionError)
        assert f"{__file__}:" in e.value.message
        compute[2](values, 1)
        assert values.numpy().tolist() == [0, 1]


@oa.value
class Pair:
    number: i32
    link: Leaf


class Holder(oa.Object):
    link: Leaf
    any: Base
    items: oa.inline[Base, 3]
    pair: Pair
    out: i32

    def read(self) -> None:
        self.out = self.link.value  # read here

    def call(self) -> None:
        self.out = self.any.get()  # called here

    def read_member(self) -> None:
        self.out = self.pair.link.value  # member read here

    def store(self, other: Base) -> None:
        self.any = other  # stored here

    def store_element(self, other: Base) -> None:
        self.items[1] = other  # element stored here

    def store_member(self, other: Leaf) -> None:
        self.pair = Pair(1, other)  # member stored here

    def exchange(self, other: Base) -> None:
        oa.atomic_exch(self, "any", other)  # exchanged here

    def compare(self, other: Base) -> None:
        oa.atomic_cas(self, "any", None, other)  # compared here

    def clear(self) -> None:
        self.any = None  # type: ignore[assignment]
        self.items[0] = None


class OtherLeaf(Base):
    def get(self) -> i32:
        return 1


def forge(obj, path, other):
    """Write a reference that no way of writing fields would take."""
    heap = obj._heap
    address = heap.encoding.address(obj._reference)
    heap.placement.write_one(address, path, other, None)


@oa.kernel
def put(holders: oa.Array[Holder], leaves: oa.Array[Leaf], how: i32):
    i = oa.grid(1)
    if how == 0:
        holders[i].store(leaves[i])
    elif how == 1:
        holders[i].store_element(leaves[i])
    elif how == 2:
        holders[i].store_member(leaves[i])
    elif how == 3:
        holders[i].exchange(leaves[i])
    elif how == 4:
        holders[i].compare(leaves[i])


@oa.kernel
def put_elements(bases: oa.Array[Base], leaves: oa.Array[Leaf]):
    i = oa.grid(1)
    bases[i] = leaves[i]  # array element stored here


STORES = ["# stored here", "# element stored here", "# member stored here", "# exchanged here",
          "# compared here"]  # fmt: skip


@pytest.mark.parametrize("how", range(5))
def test_a_deleted_object_that_is_stored(checked, how):
    holders, leaves = oa.new(Holder, 3), oa.new(Leaf, 3)
    put[3](holders, leaves, how)
    oa.synchronize()
    oa.delete(leaves[1])
    holders.any = None
    error = caught_by(lambda: put[3](holders, leaves, how))
    assert "thread 1: the Leaf at 0x" in error.message
    assert f"was deleted by {__file__}" in error.message
    assert ": it is stored in Holder." in error.message and STORES[how] in error.message


def test_a_deleted_object_that_is_stored_in_an_array(checked):
    bases, leaves = oa.zeros(3, Base), oa.new(Leaf, 3)
    put_elements[3](bases, leaves)
    oa.synchronize()
    oa.delete(leaves[2])
    error = caught_by(lambda: put_elements[3](bases, leaves))
    assert "thread 2" in error.message and "was deleted by" in error.message
    assert "it is stored in an element of an array" in error.message
    assert "# array element stored here" in error.message


def test_null_may_be_stored(checked):
    oa.new(Holder, 3).clear()
    oa.synchronize()


@pytest.mark.parametrize("method", ["read", "read_member"])
def test_an_object_of_another_class_behind_a_field(checked, method):
    holders, other = oa.new(Holder, 3), OtherLeaf(value=7)
    holders.link = Leaf(value=1)
    for holder in holders:
        holder.pair = Pair(1, holder.link)
    getattr(holders, method)()
    oa.synchronize()
    path = FieldPath("link") if method == "read" else FieldPath("pair", ("link",))
    forge(holders[2], path, checked.reference(other))
    error = caught_by(getattr(holders, method))
    assert "is of class OtherLeaf, and Leaf is declared" in error.message
    assert "thread 2" in error.message and "read here" in error.message
    assert holders.out.numpy().tolist() == [1, 1, 0]


def test_an_object_of_another_family_is_not_called(checked):
    holders, other = oa.new(Holder, 2), Stranger(other=7)
    holders.any = Leaf(value=1)
    forge(holders[1], FieldPath("any"), checked.reference(other))
    error = caught_by(holders.call)
    assert "is of class Stranger, and Base is declared" in error.message
    assert "# called here" in error.message
    assert holders.out.numpy().tolist() == [1, 0]


def test_classes_and_objects_made_between_launches_are_known(checked):
    """No report for what was not there when the code was compiled."""
    holders, leaves = oa.new(Holder, 3), oa.new(Leaf, 3)
    put[3](holders, leaves, 0)
    oa.synchronize()

    class Late(Leaf):
        pass

    put[3](holders, oa.array(Leaf, [Late(value=1), Late(value=2), leaves[0]]), 0)
    oa.synchronize()
    assert type(holders[0].any) is Late
