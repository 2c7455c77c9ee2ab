"""Slots that regions lend to launches: nobody else has them meanwhile, and all come back."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from dispatch import state
from dispatch.births import BORN, ENDED
from sharedoa import f64, i32
from sharedoa.errors import HeapError
from sharedoa.heap.births import Births
from sharedoa.heap.by_type import ByTypePlacement
from sharedoa.heap.living import births_by_class
from sharedoa.heap.regions import Loan, Region, SlotNumbers
from sharedoa.heap.slots_on_host import SlotsOnHost
from sharedoa.model.classes import ClassType


class One(oa.Object):
    number: i32


class Other(oa.Object):
    number: f64


@oa.kernel
def make_both(out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    One(number=i)
    Other(number=i)
    out[i] = 1


def placement_of(heap: oa.Heap) -> ByTypePlacement:
    placement = heap.placement
    assert isinstance(placement, ByTypePlacement)
    return placement


def lend(heap: oa.Heap, cls: ClassType, count: int) -> list[Loan]:
    return SlotsOnHost(placement_of(heap), heap.residency).lend(cls, count)


def slots_of(loan: Loan) -> SlotNumbers:
    assert loan.slots is not None
    return loan.slots


def end(heap: oa.Heap, loan: Loan, born: SlotNumbers, touched: SlotNumbers) -> None:
    before = placement_of(heap).count(loan.region.cls)
    loan.region.end_loan(loan, born, touched)
    placement_of(heap).note_population(loan.region.cls, before)


def require_partition(region: Region, lent: list[int]) -> None:
    """Each slot is one of: in use, free, lent, never used."""
    used = np.flatnonzero(region.live[: region.unused_from]).tolist()
    free = region.free_list.all().tolist()
    rest = range(region.unused_from, region.capacity)
    assert sorted([*used, *free, *lent, *rest]) == list(range(region.capacity))
    assert (region.used, region.lent) == (len(used), len(lent))
    assert region.room == len(free) + len(rest)


@pytest.mark.parametrize("seed", range(20))
def test_every_slot_is_one_persons(seed: int) -> None:
    choose = random.Random(seed)
    with oa.Heap(backend="cpu", initial_region=256) as heap:
        objects = list(oa.new(One, 20, number=np.arange(20)))
        placement = placement_of(heap)
        loans: list[Loan] = []
        for _ in range(60):
            (region,) = placement.regions(One.__sharedoa__)
            match choose.randrange(5):
                case 0 if region.room > 20:
                    objects += list(oa.new(One, choose.randrange(1, 20), number=1))
                case 1 if len(objects) > 10:
                    choose.shuffle(objects)
                    oa.delete(objects[:5])
                    objects = objects[5:]
                case 2:
                    loans += lend(heap, One.__sharedoa__, choose.randrange(0, 40))
                case 3 | 4 if loans:
                    loan = loans.pop(choose.randrange(len(loans)))
                    each = choose.choice((0.0, 0.5, 1.0))
                    born = np.array([choose.random() < each for _ in slots_of(loan)], np.bool_)
                    before = len(oa.all(One))
                    end(heap, loan, slots_of(loan)[born], slots_of(loan)[born])
                    assert len(oa.all(One)) == before + int(born.sum())
                    objects = list(oa.all(One))
            require_partition(region, [int(slot) for loan in loans for slot in slots_of(loan)])


def test_what_was_never_used_still_is_not() -> None:
    with oa.Heap(backend="cpu", initial_region=256) as heap:
        oa.new(One, 10)
        placement = placement_of(heap)
        (region,) = placement.regions(One.__sharedoa__)
        (loan,) = lend(heap, One.__sharedoa__, 100)
        assert region.unused_from == 110
        end(heap, loan, slots_of(loan)[[0, 7]], slots_of(loan)[[0, 7, 20]])
        assert region.unused_from == 31 and len(region.free_list) == 19


def test_regions_with_lent_slots_stay() -> None:
    """They are neither freed nor joined with their neighbours: a launch knows their slots."""
    with oa.Heap(backend="cpu", initial_region=32) as heap:
        all_of_them = oa.new(One, 32)
        placement = placement_of(heap)
        (region,) = placement.regions(One.__sharedoa__)
        oa.delete(all_of_them[:31])
        loans = lend(heap, One.__sharedoa__, 31)
        oa.delete(all_of_them[31:])
        oa.new(One, 40)
        assert region in placement.regions(One.__sharedoa__)
        for loan in loans:
            end(heap, loan, slots_of(loan)[:3], slots_of(loan)[:3])
        assert len(oa.all(One)) == 43


def test_a_shortage_of_another_class_frees_nothing_that_is_lent() -> None:
    """In debug mode memory of deleted objects is given out again when there is no other."""
    with oa.Heap(backend="cpu", debug=True, capacity="1MiB", initial_region=1024) as heap:
        gone = oa.new(One, 20_000)
        rest = oa.new(Other, 1024)
        oa.delete(gone)
        births = births_by_class(heap)
        with heap.lock:
            lent = births.lend({One.__sharedoa__: 1, Other.__sharedoa__: 1}, 1000)
            for places in lent:
                for loan in places.loans:
                    assert loan.region in births.placement.regions(places.cls)
            for _ in range(20):
                try:
                    oa.new(Other, 10_000)
                except HeapError:
                    break
            for places in lent:
                for loan in places.loans:
                    assert loan.region in births.placement.regions(places.cls)
            births.return_unused(lent)
        assert len(rest) == 1024


def test_a_launch_that_cannot_be_gives_back_what_was_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    with oa.Heap(backend="cpu", initial_region=64) as heap:
        out = oa.zeros(4, i32)
        make_both[4](out)

        def fail(*_: Any) -> None:
            raise HeapError("no memory", "pretended")

        with monkeypatch.context() as patch:
            patch.setattr(Births, "_hold", fail)
            with pytest.raises(HeapError, match="no memory"):
                make_both[4](out)
        with monkeypatch.context() as patch:
            real = SlotsOnHost.lend

            def fail_for_other(self: SlotsOnHost, cls: Any, count: int) -> Any:
                return real(self, cls, count) if cls is One.__sharedoa__ else fail()

            patch.setattr(SlotsOnHost, "lend", fail_for_other)
            with pytest.raises(HeapError, match="no memory"):
                make_both[4](out)
        for cls in (One, Other):
            assert all(not region.lent for region in placement_of(heap).regions(cls.__sharedoa__))
            assert len(oa.all(cls)) == 4
        make_both[4](out)
        assert len(oa.all(One)) == 8


def test_host_code_in_a_kernel_of_cpython_gets_other_slots() -> None:
    with oa.Heap(backend="python", initial_region=16) as heap:
        old = oa.new(One, 12, number=7)
        oa.delete(old[4:8])

        @oa.kernel
        def makes(out: oa.Array[i32]) -> None:
            i = oa.grid(1)
            One(number=100 + i)
            heap.new(One, 2, number=200 + i)
            out[i] = 1

        makes[6](oa.zeros(6, i32))
        found = sorted(int(each.number) for each in oa.all(One))
        expected = [7] * 8 + [100 + i for i in range(6)] + 2 * [200 + i for i in range(6)]
        assert found == sorted(expected)


def test_what_ended_is_not_born() -> None:
    """A byte that says born and ended is of an object that nobody will see."""
    with oa.Heap(backend="cpu") as heap:
        births = births_by_class(heap)
        with heap.lock:
            births.show_living()
            (places,) = births.lend({One.__sharedoa__: None}, 4)
            (loan,) = places.loans
            loan.region.live[loan.slots] = [BORN, BORN | ENDED, 0, BORN]
            births.settle([places], [])
        assert len(oa.all(One)) == 2


def test_other_kernels_are_not_told_of_the_birth_table() -> None:
    """Their state block is as long as it was, and not written anew when the table moves."""

    @oa.kernel
    def plain(out: oa.Array[i32]) -> None:
        out[0] = 1

    with oa.Heap(backend="cpu"):
        out = oa.zeros(4, i32)
        make_both[4](out)
        plain[1](out)
        assert len(plain.program.binding.unit.state) <= state.BIRTHS
        assert len(make_both.program.binding.unit.state) == state.MOST_WORDS
