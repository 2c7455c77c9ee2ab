"""What runs of captured steps need: memory, how many are under way, and that nobody waits."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32, i64
from sharedoa.backends.staging import HostStaging
from sharedoa.errors import DeviceError, HeapError
from sharedoa.heap.births_by_class import BirthsByClass
from sharedoa.runtime import population_sequence, vectorised
from sharedoa.runtime.population_plan import CannotPlanError

from ..backends.pretend_device import PretendDevice, PretendStaging
from ..heap.invariants import check_invariants
from .evolution import Animal, Being, Clock, EagerDevice, Plant, evolving, plans, run, state_of


def test_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where earlier runs have ended the host asks for nothing, as long as there is room."""
    for heap, world, step in evolving("eager", "auto", "64"):
        run((heap, world, step), 12)
        heap.synchronize()
        run((heap, world, step), 1)
        with monkeypatch.context() as patch:

            def refuse(*_: Any) -> None:
                raise AssertionError("the host waits")

            patch.setattr(EagerDevice, "synchronize", refuse)
            patch.setattr(HostStaging, "wait", refuse)
            run((heap, world, step), 3)
        assert state_of(heap) == world.state


def test_no_more_than_a_few_runs_are_under_way() -> None:
    """A device that is slower than the host gets no endless queue."""
    for heap, world, step in evolving("late", "auto", "64"):
        run((heap, world, step), 1)
        heap.synchronize()
        backend = heap.backend
        assert isinstance(backend, PretendDevice)
        run((heap, world, step), 1)
        each = len(backend._queue)
        run((heap, world, step), 20)
        assert len(backend._queue) <= 5 * each
        assert state_of(heap) == world.state


class Cell(oa.Object):
    number: i64

    def divide(self) -> None:
        oa.new(Cell, number=self.number * 2 + 1)
        self.number *= 2

    def bound(self) -> None:
        if self.number > 1 << 14:
            oa.delete(self)


@pytest.mark.parametrize("device", ["late", "eager", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_growth_to_the_limit(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room is made again and again; runs lose nothing."""
    made = plans(monkeypatch)
    backend: Any = {"late": PretendDevice(1 << 16), "eager": EagerDevice()}.get(device, device)
    with oa.Heap(backend=backend, initial_region=2) as heap:
        Cell(number=1)
        with oa.capture() as step:
            oa.all(Cell).divide()
        for generation in range(1, 12):
            step.run()
            if generation % 4 == 0:
                assert len(heap.all(Cell)) == 1 << generation
        assert sorted(heap.all(Cell).number.numpy().tolist()) == list(range(1 << 11, 1 << 12))
        assert 3 <= len(made) <= 11
        with oa.capture() as bounding:
            oa.all(Cell).divide()
            oa.all(Cell).bound()
        bounding.run(3)
        found = heap.all(Cell).number.numpy()
        assert sorted(found.tolist()) == [1 << 14]
        check_invariants(heap)


def test_memory_for_reports_goes_with_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()  # what other tests have left
    made, closed = plans(monkeypatch), list[HostStaging]()
    monkeypatch.setattr(HostStaging, "close", lambda staging: closed.append(staging))
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=2):
        Cell(number=1)
        with oa.capture() as step:
            oa.all(Cell).divide()
        step.run(10)
        assert len(made) > 2
        assert len(closed) == len(made) - 1


def test_without_room_the_launch_says_so() -> None:
    with oa.Heap(backend=PretendDevice(1 << 16), capacity=1 << 20, initial_region=32) as heap:
        oa.new(Cell, 64, number=1)
        with oa.capture() as step:
            oa.all(Cell).divide()
        with pytest.raises((HeapError, DeviceError), match=r"room|fit|more"):
            step.run(40)
            heap.synchronize()
        count = len(heap.all(Cell))
        assert count >= 64 and (heap.all(Cell).number.numpy() >= 1).all()
        oa.delete(heap.all(Cell)[: count // 2])
        assert len(heap.all(Cell)) == count - count // 2


def test_lists_after_runs_look_at_all_slots() -> None:
    """Runs look at the first slots of a large region alone, and sum up no more."""
    for heap, world, step in evolving("late", "auto", "64", initial_region=1 << 13):
        for _ in range(4):
            run((heap, world, step), 5)
            heap.all(Being).grow()
            for each in (*world.plants, *world.animals):
                each[1] += 1
            assert state_of(heap) == world.state


@oa.kernel
def make_animals() -> None:
    Animal(number=i64(oa.grid(1)))


@oa.kernel
def end_animals(animals: oa.Array[Animal]) -> None:
    oa.delete(animals[oa.grid(1)])


def test_a_step_that_ends_all_it_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its room stays, though the host looks in between."""
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32) as heap:
        clock = Clock(turn=0)
        with oa.capture() as step:
            make_animals[500]()
            oa.all(Animal).live(clock)
            oa.all(Animal).end()
        step.run(2)
        made = plans(monkeypatch)
        for _ in range(3):
            assert len(heap.all(Animal)) == 0
            step.run(2)
        assert not made
        check_invariants(heap)


def test_others_get_what_launches_have_emptied() -> None:
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32, capacity="2MiB") as heap:
        animals = heap.new(Animal, 30_000)
        end_animals[30_000](animals)
        del animals
        assert len(heap.all(Animal)) == 0
        plants = heap.new(Plant, 40_000, number=7)
        assert len(heap.all(Plant)) == 40_000
        assert (plants.number == 7).all()
        check_invariants(heap)


def test_objects_of_the_host_behind_all_slots_of_the_plan() -> None:
    """Objects that it has made and deleted between runs leave others far behind."""
    for heap, world, step in evolving("eager", "auto", "64", initial_region=1 << 13):
        run((heap, world, step), 5)
        many = heap.new(Plant, 4000, number=5)
        heap.delete(many[:3995])
        world.plants += [[5, 0] for _ in range(5)]
        run((heap, world, step), 1)
        assert state_of(heap) == world.state


def test_a_thousand_runs_need_no_more_memory() -> None:
    for heap, world, step in evolving("eager", "auto", "64"):
        run((heap, world, step), 60)
        before = heap.stats().slab_bytes
        run((heap, world, step), 400)
        assert state_of(heap) == world.state
        assert heap.stats().slab_bytes <= 2 * before
        assert population_sequence._PIECES < 10


class Spore(oa.Object):
    """Of the many that each may make it makes one at most."""

    number: i64

    def spread(self) -> None:
        for direction in range(8):
            if self.number % 8 == direction:
                oa.new(Husk, number=self.number)
                oa.new(Spore, number=self.number + 1)

    def wither(self) -> None:
        oa.delete(self)


class Husk(oa.Object):
    number: i64

    def decay(self) -> None:
        oa.delete(self)


@pytest.mark.parametrize("capacity", ["3MiB", "6MiB", "32MiB"])
def test_room_where_each_object_may_make_several(capacity: str) -> None:
    """The bound on what a run makes grows ninefold a run. Two runs ahead are not planned for, and
    where memory runs short, others' empty regions go without harm."""
    with oa.Heap(backend=PretendDevice(1 << 22), capacity=capacity, initial_region=32) as heap:
        oa.new(Spore, 1000, number=range(1000))
        with oa.capture() as step:
            oa.all(Husk).decay()
            oa.all(Spore).spread()
        for runs in range(1, 4):
            step.run()
            assert len(heap.all(Spore)) == 1000 << runs
            assert len(heap.all(Husk)) == 500 << runs
        check_invariants(heap)


def test_there_is_room_for_the_lists_of_a_run_too() -> None:
    """Regions that double would leave none."""
    with oa.Heap(backend=PretendDevice(1 << 22), capacity="2MiB", initial_region=32) as heap:
        oa.new(Spore, 4000, number=range(4000))
        with oa.capture() as step:
            oa.all(Husk).decay()
            oa.all(Spore).spread()
        step.run()
        assert len(heap.all(Spore)) == 8000 and len(heap.all(Husk)) == 4000
        check_invariants(heap)


class Seed(oa.Object):
    number: i64
    seen: i32

    def see(self, by: i32) -> None:
        self.seen += by

    def sprout(self) -> None:
        self.number += 1
        if self.number % 16 == 0:
            Shoot(number=self.number)
            oa.delete(self)


class Shoot(oa.Object):
    """Of eight places that may have a seed each, as many have as the season gives."""

    number: i64

    def sow(self, season: oa.Array[i32]) -> None:
        for place in range(8):
            if place < season[0]:
                oa.new(Seed, number=self.number + place)
        oa.delete(self)


def test_where_not_all_fit_no_region_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take the memory that others need; and it may take seconds to make and to drop."""
    slots = list[tuple[int, int]]()
    usual = population_sequence.PopulationSequence._make_plan

    def make_plan(sequence: Any) -> None:
        regions: Any = heap.placement.all_regions  # type: ignore[attr-defined]
        before = sum(region.capacity for region in regions())
        try:
            usual(sequence)
        except CannotPlanError:
            slots.append((before, sum(region.capacity for region in regions())))
            raise

    monkeypatch.setattr(population_sequence.PopulationSequence, "_make_plan", make_plan)
    with oa.Heap(backend=PretendDevice(1 << 22), capacity="1MiB", initial_region=32) as heap:
        oa.new(Seed, 6000, number=range(6000))
        season = oa.array(i32, [1])
        with oa.capture() as step:
            oa.all(Seed).sprout()
            oa.all(Shoot).sow(season)
        step.run(3)
        assert len(heap.all(Seed)) == 6000
        check_invariants(heap)
    assert slots and all(after <= before for before, after in slots), slots


class _Marked(PretendStaging):
    def has_ended(self, piece: int) -> bool:
        return self._device._done >= self._marks[piece]

    def close(self) -> None:
        """Other launches may be under way."""


class LateDevice(PretendDevice):
    """Waits for no more than it has to; ``under_way``: launches at the beginning of each part."""

    def __init__(self) -> None:
        super().__init__(1 << 16)
        self.under_way: list[int] = []

    def _staging(self, pieces: int, piece_bytes: int) -> Any:
        return _Marked(self, piece_bytes, pieces)

    def replay(self, recorded: Any, times: int) -> None:
        self.under_way.append(len(self._queue))
        super().replay(recorded, times)


def test_runs_that_report_amid_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many seeds there may be after a run says little, before its last launch it says enough:
    the next run is there before the one before it has ended."""
    device, made = LateDevice(), plans(monkeypatch)
    with oa.Heap(backend=device, initial_region=32) as heap:
        numbers, season = [*range(1000)], oa.array(i32, [1])
        oa.new(Seed, 1000, number=numbers)
        with oa.capture() as step:
            oa.all(Seed).sprout()
            oa.all(Shoot).sow(season)

        def run(count: int, each: int) -> None:
            nonlocal numbers
            season[0] = each
            for _ in range(count):
                step.run()
                grown = [number + 1 for number in numbers]
                sown = [n + place for n in grown if n % 16 == 0 for place in range(each)]
                numbers = [n for n in grown if n % 16] + sown

        run(40, 1)
        idle = device.under_way.count(0)
        assert len(made) == 1 and len(device.under_way) > 70, "most runs are cut in two"
        assert idle < 10
        # More than what a run leaves before its last launch come in that.
        run(5, 8)
        run(3, 1)
        assert sorted(heap.all(Seed).number.numpy().tolist()) == sorted(numbers)
        assert len(made) > 1
        check_invariants(heap)


class Coin(oa.Object):
    number: i32

    def spend(self, spent: oa.Array[i64]) -> None:
        oa.atomic_add(spent, 0, self.number)
        if self.number % 5:
            oa.delete(self)


class Penny(Coin): ...


class Dime(Coin): ...


@oa.kernel
def mint(turns: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if (i + turns[0]) % 3 == 0:
        oa.new(Penny, number=i)
    elif i % 2:
        oa.new(Dime, number=i)


def test_who_makes_one_class_makes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of objects of two classes, of which each thread makes one object, has no room for one
    of each; what it has room for is enough for all that live."""
    made, threads = plans(monkeypatch), 96
    with oa.Heap(backend=LateDevice(), initial_region=32) as heap:
        turns, spent = oa.array(i32, [0]), oa.zeros(1, i64)
        with oa.capture() as step:
            mint[threads](turns)
            oa.all(Coin).spend(spent)
        kept: list[int] = []
        expected = 0
        for turn in range(12):
            turns[0] = turn
            kept += [i for i in range(threads) if (i + turn) % 3 == 0 or i % 2]
            expected += sum(kept)
            kept = [i for i in kept if i % 5 == 0]
            step.run()
        assert spent[0] == expected
        assert sorted(oa.all(Coin).number.numpy().tolist()) == sorted(kept)
        check_invariants(heap)
        plan: Any = made[0]
        most = plan.most(dict.fromkeys(plan.counted, 10), 3)
        coins, pennies, dimes = (cls.__sharedoa__ for cls in (Coin, Penny, Dime))
        both = pennies, dimes
        assert most == {coins: 10, pennies: 298, dimes: 154, both: 308}
        assert plan.launches[-1].most_threads(most) == 308


@oa.kernel
def mint_in_turn(every: i32) -> None:
    i = oa.grid(1)
    if i % every == 0:
        if i % 2:
            oa.new(Penny, number=i)
        else:
            oa.new(Dime, number=i)


def test_who_takes_turns_has_no_more_room_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the threads makes an object, of one of two classes."""
    made, lent = plans(monkeypatch), list[int]()
    lay_out = BirthsByClass.lay_out

    def noting(self: BirthsByClass, places: Any, report_bytes: int, threads: int) -> Any:
        lent.extend(each.room for each in places)
        return lay_out(self, places, report_bytes, threads)

    monkeypatch.setattr(BirthsByClass, "lay_out", noting)
    ways = (LateDevice(), True, "auto"), (LateDevice(), False, "auto"), ("cpu", False, "auto")
    for backend, captures, mode in (*ways, ("cpu", False, "cuda"), ("python", False, "auto")):
        with oa.Heap(backend=backend, mode=mode) as heap:
            if captures:
                with oa.capture() as step:
                    mint_in_turn[100](3)
                step.run(2)
                step.run()
            else:
                for _ in range(3):
                    mint_in_turn[100](3)
            pennies, dimes = ([each.number for each in oa.all(cls)] for cls in (Penny, Dime))
            assert pennies == [*range(3, 100, 6)] * 3 and dimes == [*range(0, 100, 6)] * 3
            if mode == "auto":
                check_invariants(heap)
    assert lent == [17] * len(lent) and len(lent) >= 14
    penny, dime = Penny.__sharedoa__, Dime.__sharedoa__
    plan: Any = made[0]
    assert plan.room(dict.fromkeys(plan.counted, 10)) == {penny: 17, dime: 17}
    assert plan.most({penny: 1, dime: 2}, 2) == {penny: 18, dime: 19}


@pytest.mark.parametrize("lived", [False, True])
def test_classes_of_which_nothing_is_made(lived: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class without regions needs none; one with some lists none of their slots."""
    made = plans(monkeypatch)
    with oa.Heap(backend=LateDevice()) as heap:
        if lived:
            oa.new(Penny, 5, number=7)
        with oa.capture() as step:
            mint_in_turn[40](4)
        for _ in range(3):
            step.run()
        assert [each.number for each in oa.all(Dime)] == [*range(0, 40, 4)] * 3
        assert [each.number for each in oa.all(Penny)] == [7] * (5 * lived)
        check_invariants(heap)
    plan: Any = made[0]
    assert len(made) < 3 and plan.room(dict.fromkeys(plan.counted, 10))[Penny.__sharedoa__] == 0


def test_calls_between_runs_take_who_lives_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """They list them once, and list them again when others live."""
    planned: list[Any] = []
    usual = vectorised.planned_launches

    def noting(*given: Any) -> Any:
        planned.append(given)
        return usual(*given)

    monkeypatch.setattr(vectorised, "planned_launches", noting)
    with oa.Heap(backend=LateDevice(), initial_region=32) as heap:
        oa.new(Seed, 1000, number=range(1000))
        season = oa.array(i32, [1])
        with oa.capture() as step:
            oa.all(Seed).sprout()
            oa.all(Shoot).sow(season)
        seeds = heap.all(Seed)
        for _ in range(8):
            step.run()
            before = len(planned)
            for by in (1, 10, 100):
                seeds.see(by)
            assert len(planned) == before + 1
            assert set((seeds.seen.numpy() % 1000).tolist()) == {111}
            seeds.seen = 0


class Tree(oa.Object):
    number: i64

    def shed(self, turn: oa.Array[i64]) -> None:
        if self.number == turn[0]:
            Nut(number=self.number)


class Nut(oa.Object):
    number: i64

    def roll(self) -> None:
        self.number += 1000


def test_few_that_double_are_no_reason_for_another_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other threads of a run are many."""
    made = plans(monkeypatch)
    with oa.Heap(backend=LateDevice(), initial_region=32) as heap:
        oa.new(Tree, 4000, number=range(4000))
        turn = oa.array(i64, [0])
        with oa.capture() as step:
            oa.all(Tree).shed(turn)
            oa.all(Nut).roll()
        for number in range(60):
            turn[0] = number
            step.run()
        assert len(heap.all(Nut)) == 60 and len(made) <= 3
        check_invariants(heap)
