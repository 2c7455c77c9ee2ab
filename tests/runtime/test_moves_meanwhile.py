"""One object that another thread moves while this one reads or writes it: what is found, and where
it is written, is the object's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.heap.by_type import ByTypePlacement
from sharedoa.heap.element_access import put_element

from ..heap.invariants import check_invariants
from ..interleaving import Place, place, places, switching


class Mover(oa.Object):
    number: i32


@oa.value
class Pair:
    number: i32
    mover: Mover


class Full(oa.Object):
    number: i32
    mover: Mover
    pair: Pair
    cells: oa.inline[i32, 3]
    movers: oa.inline[Mover, 2]
    numbers: oa.Array[i32]


_BACKWARDS = np.arange(6)[::-1]


class _All:
    """Objects of which each has its number in everything."""

    def __init__(self) -> None:
        self.movers = oa.new(Mover, 6, number=np.arange(6))
        self.full = oa.new(Full, 6, number=np.arange(6))
        self.kept = oa.concat(self.movers[3:], self.movers[:3])
        for number, (each, mover) in enumerate(zip(self.full, self.movers, strict=True)):
            each.mover, each.pair = mover, Pair(number, mover)
            each.cells, each.movers = [number] * 3, [mover, mover]
            each.numbers = oa.array(i32, [number])
        self.held = [*self.full], [*self.movers]

    def move(self) -> None:
        oa.sort(oa.all(Mover), _BACKWARDS)
        oa.sort(oa.all(Full), _BACKWARDS)


_READS: dict[str, Callable[[_All, Full], Any]] = {
    "number": lambda all, one: one.number,
    "reference": lambda all, one: one.mover.number,
    "value": lambda all, one: (one.pair.number, one.pair.mover.number),
    "elements": lambda all, one: (one.cells[1], one.movers[1].number),
    "array": lambda all, one: one.numbers[0],
    "element of an array": lambda all, one: all.kept[int(one.number) - 3].number,
    "all of an array": lambda all, one: [each.number for each in all.kept],
}


def _wrote(write: Callable[[_All, Full, Mover], Any]) -> Callable[[_All, Full], Any]:
    """Something of the next one is written; what everyone has then."""

    def wrote(all: _All, one: Full) -> Any:
        full, movers = all.held
        write(all, one, movers[2])
        return [
            (e.number, e.mover.number, e.pair.mover.number, e.cells[1], e.movers[1].number,
             e.numbers[0], [each.number for each in all.kept])
            for e in full
        ]  # fmt: skip

    return wrote


_WRITES: dict[str, Callable[[_All, Full, Mover], Any]] = {
    "number": lambda all, one, mover: setattr(one, "number", 7),
    "reference": lambda all, one, mover: setattr(one, "mover", mover),
    "value": lambda all, one, mover: setattr(one, "pair", Pair(1, mover)),
    "array": lambda all, one, mover: setattr(one, "numbers", oa.array(i32, [7])),
    "element": lambda all, one, mover: one.cells.__setitem__(1, 7),
    "reference among elements": lambda all, one, mover: one.movers.__setitem__(1, mover),
    "element of an array": lambda all, one, mover: all.kept.__setitem__(0, mover),
}


@pytest.fixture
def shared() -> Iterator[oa.Heap]:
    """A heap that another thread has used before."""
    with oa.Heap(backend="cpu", capacity="64MiB", initial_region=16) as made:
        other = threading.Thread(target=made.wait)
        other.start()
        other.join()
        yield made
        check_invariants(made)


_WROTE = {name: _wrote(write) for name, write in _WRITES.items()}
_READ_ONE = place(ByTypePlacement.read_one, "with self.access")
_WRITE_ONE = place(ByTypePlacement.write_one, "with self.access")
_WRAP = place(oa.Heap.wrap, "known = ")
_AT_LINES: dict[str, tuple[Callable[[_All, Full], Any], Place]] = {
    "array": (_READS["array"], _READ_ONE),
    "value": (_READS["value"], _WRAP),
    "reference": (_READS["reference"], _WRAP),
    "elements": (_READS["elements"], _READ_ONE),
    "element of an array": (_READS["element of an array"], _WRAP),
    "all of an array": (_READS["all of an array"], _WRAP),
    "array written": (_WROTE["array"], _WRITE_ONE),
    "element written": (_WROTE["element"], _WRITE_ONE),
    "reference among elements written": (_WROTE["reference among elements"], _WRITE_ONE),
    "element of an array written": (_WROTE["element of an array"], place(put_element, "dtype")),
}


def _found(heap: oa.Heap, access: Callable[[_All, Full], Any], at: Place) -> Any:
    oa.delete(oa.all(Full))
    oa.delete(oa.all(Mover))
    things = _All()

    def move() -> None:
        with heap:
            things.move()

    with switching(at, move) as other:
        try:
            found = access(things, things.held[0][1])
        except oa.HeapError as error:
            found = error
        if not other.has_begun:  # as a timer or the collector led there the first time
            other.go()
    return found


@pytest.mark.parametrize(("access", "at"), _AT_LINES.values(), ids=_AT_LINES)
def test_one_object_that_moves_meanwhile(shared: oa.Heap, access: Any, at: Place) -> None:
    things = _All()
    expected = access(things, things.held[0][1])
    assert _found(shared, access, at) == expected


def test_some_elements_are_right_or_refused(shared: oa.Heap) -> None:
    def some(things: _All, one: Full) -> Any:
        return one.cells[1:].tolist()

    things = _All()
    expected = some(things, things.held[0][1])
    for text in ("since = ", "selection = ", "return"):
        found = _found(shared, some, place(oa.Heap.field_of_one, text))
        assert found == expected or isinstance(found, oa.HeapError)


def test_another_one_that_lies_where_it_was() -> None:
    with oa.Heap(backend="cpu", capacity="1MiB", initial_region=16) as heap:
        movers, full = [*oa.new(Mover, 6)], oa.new(Full)
        before = {each._reference for each in movers}
        full.mover = movers[1]
        assert full.mover is movers[1]

        def move() -> None:
            with heap:
                for _ in range(300):
                    oa.sort(oa.all(Mover), np.roll(np.arange(6), 1))
                    if not before.isdisjoint(each._reference for each in movers):
                        break

        with switching(_WRAP, move):
            found = full.mover
        assert found is movers[1] and full.mover is found
        assert not before.isdisjoint(each._reference for each in movers)


@pytest.mark.slow
@pytest.mark.parametrize("access", [*_READS.values(), *_WROTE.values()], ids=[*_READS, *_WROTE])
def test_one_object_that_moves_at_any_line(shared: oa.Heap, access: Any) -> None:
    things = _All()
    access(things, things.held[0][1])
    expected = access(things, things.held[0][1])
    lines = places(lambda: access(things, things.held[0][1]))
    assert [at for at in lines if _found(shared, access, at) != expected] == []
