"""References that are another one for each object: what is reached through them is a thread's own,
for as long as that is so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.heap import distinct_fields
from sharedoa.runtime import knobs

from .everywhere import check_everywhere
from .fused import N, Node, apart, fused, ring, state


class Seat(oa.Object):
    used: i32


class Guest(oa.Object):
    seat: Seat
    other: Seat
    x: f32

    def heat(self, by: i32) -> None:
        oa.atomic_add(self.seat, "used", by)

    def feel(self) -> None:
        if self.seat is not None:
            self.x += f32(self.seat.used)

    def use(self) -> None:
        self.use_of(self.seat)

    def use_of(self, seat: Seat) -> None:
        oa.atomic_max(seat, "used", 7)

    def feel_other(self) -> None:
        self.x += f32(self.other.used)

    def swap(self) -> None:
        kept = self.seat
        self.seat = self.other
        self.other = kept


@oa.kernel
def move_in(guests: oa.Array[Guest], seats: oa.Array[Seat]) -> None:
    guests[oa.grid(1)].seat = seats[0]


@oa.kernel
def bear(guests: oa.Array[Guest]) -> None:
    oa.new(Guest, seat=guests[0].seat, other=guests[0].other)


def born(guests: Any) -> None:
    bear[1](guests)


@oa.kernel
def heat_all(guests: oa.Array[Guest], by: i32) -> None:
    guests[oa.grid(1)].heat(by)


@oa.kernel
def feel_all(guests: oa.Array[Guest]) -> None:
    guests[oa.grid(1)].feel()


def _party(count: int = N) -> tuple[Any, Any]:
    guests, seats = oa.new(Guest, count), oa.new(Seat, count)
    seats.used = np.arange(count)
    order = np.random.default_rng(3).permutation(count)
    guests.seat = oa.array(Seat, [seats[int(i)] for i in order])
    guests.other = oa.array(Seat, [seats[(int(i) + 1) % count] for i in order])
    return guests, seats


def _seen(guests: Any, seats: Any) -> list[bytes]:
    guests = oa.all(Guest)
    return [np.ascontiguousarray(v.numpy()).tobytes() for v in (guests.x, seats.used)]


def _evening() -> None:
    oa.all(Guest).heat(1)
    oa.all(Guest).feel()
    oa.all(Guest).use()


def _in_turns(
    between: Callable[[Any, Any], Any], launched: list[Any], run: Callable[[], None] = _evening
) -> list[int]:
    """How many launches ``run`` is in blocks, with ``between`` done to guests and seats after the
    first one; everything is as it is without blocks."""
    found: list[Any] = []
    counts = []
    for within in (apart, oa.fuse):
        with fused():
            party = _party()
            for turn in range(3):
                if turn == 1:
                    between(*party)
                launched.clear()
                with within():
                    run()
                counts.append(len(launched))
            found.append(_seen(*party))
    assert found[0] == found[1]
    return counts[3:]


def test_what_is_reached_through_distinct_references_is_own(launched: list[Any]) -> None:
    assert _in_turns(lambda guests, seats: None, launched) == [1, 1, 1]


def _null(guests: Any, seats: Any) -> None:
    for guest in (guests[1], guests[2]):
        guest.seat = None


@pytest.mark.parametrize(
    ("between", "counts"),
    [
        pytest.param(
            lambda guests, seats: setattr(guests[3], "seat", guests[4].seat), [1, 3, 3], id="one"
        ),
        pytest.param(
            lambda guests, seats: setattr(guests, "seat", seats[7]), [1, 3, 3], id="all"
        ),
        pytest.param(
            lambda guests, seats: guests.seat.__setitem__(2, seats[0]), [1, 3, 3], id="element"
        ),
        pytest.param(
            lambda guests, seats: Guest(seat=guests[0].seat, other=seats[0]), [1, 3, 3], id="single"
        ),
        pytest.param(
            lambda guests, seats: born(guests), [1, 3, 3], id="born"
        ),
        pytest.param(
            lambda guests, seats: oa.new(Guest, seat=guests[0].seat, other=seats[0]), [1, 3, 3],
            id="new",
        ),
        pytest.param(
            lambda guests, seats: oa.new(Guest, 2, seat=oa.new(Seat, 2), other=seats[0]), [1, 1, 1],
            id="new ones of their own",
        ),
        pytest.param(lambda guests, seats: move_in[N](guests, seats), [1, 3, 3], id="kernel"),
        pytest.param(
            lambda guests, seats: oa.all(Guest).swap(), [1, 1, 1], id="kernel that permutes"
        ),
        pytest.param(lambda guests, seats: oa.sort(guests, "x"), [1, 1, 1], id="moved"),
        pytest.param(lambda guests, seats: oa.delete(guests[5]), [1, 1, 1], id="deleted"),
    ],
)  # fmt: skip
def test_changes_in_between_are_seen(
    between: Callable[[Any, Any], Any], counts: list[int], launched: list[Any]
) -> None:
    assert _in_turns(between, launched) == counts


def test_quick_launches_are_seen(launched: list[Any]) -> None:
    """Of a kernel that is bound, and gives somebody else's seat away."""
    with fused():
        guests, _ = _party()
        own, others = (oa.array(Seat, [guests[i].seat]) for i in (0, 1))
        for given, count in ((own, 1), (own, 1), (others, 3)):
            move_in[1](guests[:1], given)
            launched.clear()
            with oa.fuse():
                _evening()
            assert len(launched) == count


def test_objects_that_are_made_one_by_one_are_seen(launched: list[Any]) -> None:
    """Also by what was written for their class, which reports no fields."""
    with fused():
        guests, seats = _party()
        for shares, count in ((False, 1), (False, 1), (True, 3)):
            Guest(seat=guests[0].seat if shares else Seat(), other=seats[0])
            launched.clear()
            with oa.fuse():
                _evening()
            assert len(launched) == count


def test_a_captured_step_that_shares_seats(launched: list[Any]) -> None:
    """What other captured steps and quick launches do is seen by its next run."""
    found = []
    for is_fused in ("0", "always"):
        with knobs.scope(fuse=is_fused), oa.Heap(backend="cpu"):
            guests, seats = _party()
            move_in[1](guests[:1], oa.array(Seat, [guests[0].seat]))  # its code is there
            with oa.capture() as step:
                _evening()
            step.run(2)
            if is_fused == "always":
                assert step.explain().count("one with the launch before it") == 2
            with oa.capture() as other:
                move_in[N](guests, seats[3:])
            other.run()
            step.run(2)
            if is_fused == "always":
                assert "Seat.used is" in step.explain()
            guests.seat = oa.array(Seat, [seats[i] for i in range(N)])
            step.run()
            move_in[N](guests, seats)
            step.run()
            found.append(_seen(guests, seats))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("run", "count"),
    [
        # The same seat is the other one of somebody else.
        (lambda: [oa.all(Guest).heat(1), oa.all(Guest).feel_other()], 2),
        (lambda: [oa.all(Guest).feel_other(), oa.all(Guest).heat(1)], 2),
        # Who has which seat changes within the block.
        (lambda: [oa.all(Guest).heat(1), oa.all(Guest).swap(), oa.all(Guest).feel()], 2),
        (lambda: [oa.all(Guest).swap(), oa.all(Guest).heat(1), oa.all(Guest).feel()], 2),
    ],
)
def test_other_ways_to_the_same(run: Callable[[], None], count: int, launched: list[Any]) -> None:
    assert _in_turns(lambda guests, seats: None, launched, run) == [count] * 3


def test_own_objects_and_references_to_them_are_two_ways(launched: list[Any]) -> None:
    found = []
    for within in (apart, oa.fuse):
        with fused():
            nodes = ring()
            launched.clear()
            with within():
                oa.all(Node).give()
                oa.all(Node).give()
                oa.all(Node).push(0.5)
                oa.all(Node).lend()
            found.append(state(nodes))
    assert len(launched) == 3  # next.force twice, force, next.force
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name])


def test_arrays_of_guests(launched: list[Any]) -> None:
    def run(guests: Any, seats: Any) -> None:
        heat_all[20](guests[:20], 3)
        feel_all[20](guests[:20])

    for shares, count in ((False, 1), (True, 2)):
        found = []
        for within in (apart, oa.fuse):
            with fused():
                guests, seats = _party()
                if shares:
                    guests[30].seat = guests[2].seat  # one of those who are not called counts, too
                launched.clear()
                with within():
                    run(guests, seats)
                found.append(_seen(guests, seats))
        assert found[0] == found[1]
        assert len(launched) == count


def test_a_field_that_changes_again_and_again_is_given_up(launched: list[Any]) -> None:
    with fused() as heap:
        guests, seats = _party()
        counts = []
        for turn in range(6):
            launched.clear()
            with oa.fuse():
                _evening()
            counts.append(len(launched))
            guests.seat = oa.array(Seat, [seats[(i + turn) % N] for i in range(N)])
        assert counts == [1, 1, 1, 3, 3, 3]
        cls = Guest.__sharedoa__  # type: ignore[attr-defined]
        assert not heap.distinct.are_distinct(heap, cls, (cls, "seat"))


def test_nothing_is_known_with_several_threads(launched: list[Any]) -> None:
    with fused() as heap:
        guests, _ = _party()
        thread = threading.Thread(target=lambda: guests.x.numpy())
        thread.start()
        thread.join()
        launched.clear()
        with oa.fuse():
            _evening()
        assert heap.upkeep.is_shared
        assert len(launched) == 3


def test_everywhere() -> None:
    def run() -> dict[str, np.ndarray[Any, Any]]:
        with knobs.scope(fuse="always"):
            guests, seats = _party(12)
            for turn in range(2):
                with oa.fuse():
                    _evening()
                    oa.all(Guest).feel_other()
                if turn == 0:
                    guests[3].seat = guests[4].seat
                with oa.capture() as step:
                    _evening()
                step.run(2)
                guests[3].seat = seats[5]
            return {"x": guests.x.numpy().copy(), "used": seats.used.numpy().copy()}

    check_everywhere(run)


def test_what_keeps_changing_is_not_read_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where it is so, nor where it is not."""
    looks: list[Any] = []
    look = distinct_fields._look

    def noting(*given: Any) -> bool:
        looks.append(given)
        return look(*given)

    monkeypatch.setattr(distinct_fields, "_look", noting)
    for shares in (False, True):
        with fused():
            guests, seats = _party()
            if shares:
                guests.seat = seats[1]
            looks.clear()
            for _ in range(8):
                with oa.fuse():
                    _evening()
                oa.new(Guest, 2, seat=oa.new(Seat, 2), other=seats[0])
            assert len(looks) == 3
