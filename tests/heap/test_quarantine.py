"""Memory of deleted objects in debug mode: who gets it next, and when."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.heap.quarantine import SHARE, Quarantine
from sharedoa.model.object import shared_type

from ..modes import quick_modes


class Cell(oa.Object):
    value: i32


class Large(oa.Object):
    items: oa.inline[f64, 1024]


MODES = ["auto", "coal", "sharedoa", "typepointer", "cuda", "concord"]
CAPACITY = 64 << 20


@pytest.fixture(params=MODES)
def debugged(request):
    with oa.Heap(
        mode=request.param, backend="cpu", capacity=CAPACITY, debug=True, initial_region=8
    ) as heap:
        yield heap


def addresses(objects):
    heap = objects._heap
    return set(heap.encoding.address(objects.references()).tolist())


def test_places_of_deleted_objects_are_not_given_out_again(debugged):
    cells = oa.new(Cell, 8, value=1)
    gone = addresses(cells[2:5])
    oa.delete(cells[2:5])
    for _ in range(20):
        more = oa.new(Cell, 3, value=2)
        assert not gone & addresses(more)
        oa.delete(more)
    assert len(oa.all(Cell)) == 5


def test_nor_is_that_of_a_region_without_objects(debugged):
    cells = oa.new(Cell, 8)
    gone = addresses(cells)
    oa.delete(cells)
    others = oa.new(Large, 3)
    reached = {address + at for address in addresses(others) for at in range(0, 8192, 4)}
    assert not gone & reached


@pytest.mark.parametrize("debugged", quick_modes("auto", "cuda", of=MODES), indirect=True)
def test_the_oldest_places_are_given_out_again_when_too_many_are_held(debugged):
    """Quarantines do not know of modes, but whether objects are placed by type."""
    size = debugged.layout.record(shared_type(Large)).size
    held = CAPACITY // SHARE // size
    seen: set[int] = set()
    for turn in range(4 * held):
        made = oa.new(Large, 1)
        if addresses(made) <= seen:
            assert turn >= held - 1
            break
        seen |= addresses(made)
        oa.delete(made)
    else:
        pytest.fail("nothing was ever given out again")


def test_what_deleted_objects_hold_is_given_out_before_the_heap_is_full():
    """As much as without debug mode fits, whatever was deleted before."""
    with oa.Heap(backend="cpu", capacity=CAPACITY, debug=True, initial_region=8):
        for _ in range(10):
            large = oa.new(Large, 3000, items=1.0)
            assert large.items.numpy().sum() == 3000 * 1024
            oa.delete(large)
        array = oa.zeros((48 << 20) // 8, f64)
        assert len(array) == 6 << 20


def test_regions_that_become_one_keep_what_they_hold():
    with oa.Heap(backend="cpu", capacity=CAPACITY, debug=True, initial_region=8) as heap:
        cells = oa.new(Cell, 32, value=np.arange(32))
        gone = addresses(cells[3:30])
        oa.delete(cells[3:30])
        more = [oa.new(Cell, 64, value=5) for _ in range(4)]
        assert not any(gone & addresses(each) for each in more)
        for address in gone:
            cls, where = heap.placement.deleted_at(address)
            assert cls.python_class is Cell and where.startswith(__file__)
        assert heap.placement.deleted_at(min(addresses(cells[:3]))) is None


def test_batches_leave_oldest_first_and_in_parts():
    quarantine: Quarantine[str] = Quarantine(SHARE * 100)
    quarantine.add("a", np.arange(6), 10, "one")
    assert list(quarantine.overdue()) == []
    quarantine.add("b", np.arange(7), 10, "two")
    (batch,) = quarantine.overdue()
    assert (batch.owner, batch.places.tolist()) == ("a", [0, 1, 2])
    assert quarantine.find("a", 1) is None and quarantine.find("a", 4) == "one"
    quarantine.move("a", "c")
    assert quarantine.find("c", 4) == "one" and quarantine.find("b", 6) == "two"
    assert [batch.owner for batch in quarantine.everything()] == ["c", "b"]
    assert list(quarantine.everything()) == []
