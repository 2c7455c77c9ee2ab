"""Captured steps whose populations change without the host: runs, and what the host does between
them."""

from __future__ import annotations

import gc
import signal
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32, i64
from sharedoa.backends.slot_kernels import SlotKernels
from sharedoa.backends.staging import HostStaging
from sharedoa.errors import HeapError
from sharedoa.runtime import background, clustering
from sharedoa.runtime.launch_sequence import RecordedLaunch
from sharedoa.runtime.population_sequence import PopulationSequence

from ..backends.pretend_device import PretendDevice
from ..heap.invariants import check_invariants
from .evolution import (
    Animal,
    Being,
    Both,
    EagerDevice,
    Plant,
    end_old,
    evolving,
    plans,
    run,
    state_of,
)

FEW = (("late", "auto", "64"), ("late", "typepointer", "64"), ("eager", "header+vtable", "64"))
OTHERS = (("late", "coal", "64"), ("eager", "auto", "32"))
ON_GPUS = [
    pytest.param(("cuda", mode, references), marks=pytest.mark.gpu)
    for mode, references in (
        ("auto", "64"), ("sharedoa", "64"), ("typepointer", "64"), ("auto", "32"),
    )
]  # fmt: skip
#: For tests of what the host does when runs have ended, which asks nothing of the mode.
in_few = pytest.mark.parametrize(
    "both",
    [FEW[0], FEW[2], *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS), *ON_GPUS],
    ids=str,
    indirect=True,
)


@pytest.fixture(params=[*FEW, *OTHERS, *ON_GPUS], ids=str)
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    """A captured step of a heap, and the same by plain Python."""
    yield from evolving(*request.param)


def test_runs_do_what_python_does(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    heap, world, _ = both
    made = plans(monkeypatch)
    for count in (1, 1, 2, 5, 1, 20, 0, 3):
        run(both, count)
        assert state_of(heap) == world.state
    assert len(heap.all(Being)) == len(world.plants) + len(world.animals)
    assert 1 <= len(made) < 30


class Seed(oa.Object):
    number: i64

    def grow(self) -> None:
        self.number += 3

    def add(self, by: i64) -> None:
        self.number += by

    def split(self) -> None:
        if self.number % 2:
            Seed(number=self.number // 2)


def test_what_a_step_does_again_is_bound_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as who lives stays the same; it counts as often as it is done."""
    bound: list[str] = []
    bind = RecordedLaunch.bind

    def noting(launch: RecordedLaunch, *given: Any) -> Any:
        bound.append(launch.program.source.name)
        return bind(launch, *given)

    monkeypatch.setattr(RecordedLaunch, "bind", noting)
    monkeypatch.setattr(clustering, "FEWEST_OBJECTS", 32)
    monkeypatch.setattr(clustering, "FEWEST_THREADS", 32)
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        numbers = list(range(64))
        oa.new(Seed, 64, number=numbers)
        with oa.capture() as step:
            for _ in range(5):
                oa.all(Seed).grow()
            oa.all(Seed).split()
            for _ in range(3):
                oa.all(Seed).grow()
            for by in (1, 2):
                oa.all(Seed).add(by)
        step.run()
        # The first one and the first behind the births have a list made of who lives.
        assert Counter(bound) == {"Seed.grow": 3, "Seed.split": 1, "Seed.add": 2}
        ((launched,),) = (
            known.values()
            for program, known in clustering._known[heap].programs.items()
            if program.source.name == "Seed.grow"
        )
        assert launched.launches == 8
        step.run(2)
        for _ in range(3):
            numbers = [each + 15 for each in numbers]
            numbers += [each // 2 for each in numbers if each % 2]
            numbers = [each + 9 + 3 for each in numbers]
        assert sorted(heap.all(Seed).number.numpy().tolist()) == sorted(numbers)


def test_the_host_changes_things_between_runs(both: Both) -> None:
    heap, world, _ = both
    random = Random(7)
    for round in range(14):
        run(both, random.randint(1, 4))
        match round % 7:
            case 0:
                heap.new(Plant, 5, number=np.arange(5) + 100 * round)
                world.plants += [[k + 100 * round, 0] for k in range(5)]
            case 1:
                gone = [each for each in heap.all(Plant) if each.number % 3 == 0]
                heap.delete(gone)
                world.plants = [each for each in world.plants if each[0] % 3]
                assert not any(oa.is_alive(each) for each in gone)
            case 2:
                with heap:
                    oa.compact()
            case 3:
                oa.sort(heap.all(Plant), "number")
            case 4:
                heap.all(Animal).energy = 3
                for each in world.animals:
                    each[2] = 3
            case 5:
                heap.all(Being).grow()
                for each in (*world.plants, *world.animals):
                    each[1] += 1
            case 6:
                ended = heap.zeros(1, i32)
                beings = oa.concat(heap.all(Plant))
                end_old[min(4, len(beings))](beings, ended)
                assert int(ended[0]) == min(4, len(beings))
                left = Counter(heap.all(Plant).number.numpy().tolist())
                kept = []
                for each in world.plants:
                    if left[each[0]]:
                        left[each[0]] -= 1
                        kept.append(each)
                world.plants = kept
        assert state_of(heap) == world.state, round
    check_invariants(heap)


@in_few
def test_proxies_of_what_a_run_ended_say_so(both: Both) -> None:
    heap, world, _ = both
    run(both, 3)
    held = list(heap.all(Being))
    before = {int(each.number) for each in held}
    run(both, 4)
    alive = [oa.is_alive(each) for each in held]
    assert before and not all(alive)
    with pytest.raises(HeapError, match="deleted"):
        _ = held[alive.index(False)].number
    assert state_of(heap) == world.state


class Hare(oa.Object):
    number: i64

    def leave(self) -> None:
        if self.number % 3 == 0:
            oa.delete(self)

    def breed(self) -> None:
        if self.number % 2 == 0:
            Hare(number=self.number + 1001)


@pytest.mark.parametrize("then", ["breed", "make one", "look", "make many"])
def test_no_proxy_becomes_that_of_who_got_the_place(then: str) -> None:
    """In the same run, or made by the host, which settles what the run has done for that."""
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32) as heap:
        held = [Hare(number=n) for n in range(20)]
        with oa.capture() as step:
            oa.all(Hare).leave()
            if then == "breed":
                oa.all(Hare).breed()
        step.run()
        made: list[Hare] = []
        match then:
            case "make one":
                made = [Hare(number=2001)]
            case "look":
                heap.stats()
                made = [Hare(number=2001)]
            case "make many":
                made = [*heap.new(Hare, 5, number=2001)]
        assert [oa.is_alive(each) for each in held] == [n % 3 > 0 for n in range(20)]
        assert all(oa.is_alive(each) and each.number == 2001 for each in made)
        with pytest.raises(HeapError, match="deleted"):
            _ = held[18].number
        check_invariants(heap)


def test_a_signal_comes_when_proxies_have_been_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not between the books, in which places of what has gone are free, and the proxies."""
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32) as heap:
        held = [Hare(number=n) for n in range(20)]
        with oa.capture() as step:
            oa.all(Hare).leave()
        step.run()
        bury = heap.memory.bury

        def interrupted(deletions: int) -> None:
            signal.raise_signal(signal.SIGINT)
            bury(deletions)

        with monkeypatch.context() as patch:
            patch.setattr(heap.memory, "bury", interrupted)
            with pytest.raises(KeyboardInterrupt):
                heap.settle()
        made = [*heap.new(Hare, 5, number=2001)]
        assert [oa.is_alive(each) for each in held] == [n % 3 > 0 for n in range(20)]
        assert all(oa.is_alive(each) and each.number == 2001 for each in made)
        check_invariants(heap)


@in_few
def test_a_run_launches_when_nobody_else_has_the_books(both: Both) -> None:
    """Who has the heap's lock may wait for all that are launching (``stand_still``)."""
    heap, world, step = both
    run(both, 3)
    other = threading.Thread(target=step.run, args=(1,))
    with heap.lock:
        other.start()
        other.join(0.2)
        assert not heap.memory.launching, "this thread would wait for one that waits for it"
    other.join()
    world.run()
    assert state_of(heap) == world.state


@in_few
def test_a_dump_has_what_runs_made(both: Both, tmp_path: Path) -> None:
    heap, world, _ = both
    run(both, 6)
    heap.dump(tmp_path / "dump")
    with oa.Heap(backend="cpu") as other:
        other.load(tmp_path / "dump")
        assert state_of(other) == world.state


@in_few
def test_two_steps_on_one_heap(both: Both) -> None:
    heap, world, first = both
    with oa.capture() as second:
        oa.all(Plant).grow()
        oa.all(Being).grow()
    for _ in range(4):
        run(both, 2)
        second.run(3)
        for each in world.plants:
            each[1] += 6
        for each in world.animals:
            each[1] += 3
    assert state_of(heap) == world.state


@in_few
def test_launches_after_a_run_see_its_objects(both: Both) -> None:
    """Nothing that a launch outside of the step rests on is what it was before the run."""
    heap, world, step = both
    ended = heap.zeros(1, i32)
    for _ in range(3):
        run(both, 2)
        heap.all(Being).grow()
        for each in (*world.plants, *world.animals):
            each[1] += 1
        step.run()
        world.run()
        beings = oa.concat(heap.all(Being))
        end_old[len(beings)](beings, ended)
        world.plants, world.animals = [], []
        assert len(heap.all(Being)) == 0
    run(both, 5)
    assert state_of(heap) == world.state


@oa.kernel
def make_plants(count: i32) -> None:
    i = oa.grid(1)
    if i < count and i % 3:
        Plant(number=i64(i))


def test_objects_that_the_host_makes_are_not_in_launches_before() -> None:
    """Also where the device has yet to look who lives."""
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32) as heap:
        make_plants[60](60)
        ended = heap.zeros(1, i32)
        beings = heap.all(Plant)[5:20]
        end_old[15](beings, ended)
        heap.all(Plant).grow()
        heap.new(Plant, 9, number=1000)
        found = heap.all(Plant)
        assert len(found) == 34
        ages = found.age.numpy()[found.number.numpy() == 1000]
        assert ages.tolist() == [0] * 9 and found.age.numpy().sum() == 25


def test_classes_without_objects() -> None:
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        ended, nobody = heap.zeros(1, i32), heap.array(Being, [None])
        with oa.capture() as step:
            end_old[1](nobody, ended)
        step.run(3)
        assert int(ended[0]) == len(heap.all(Being)) == 0


def test_an_interrupted_wait_loses_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for heap, world, step in evolving("late", "auto", "64"):
        run((heap, world, step), 3)
        for _ in range(6):
            with monkeypatch.context() as patch:

                def interrupt(*_: Any) -> None:
                    raise KeyboardInterrupt

                patch.setattr(HostStaging, "wait", interrupt)
                for _ in range(8):
                    try:
                        step.run()
                    except KeyboardInterrupt:
                        break
                    world.run()
            run((heap, world, step), 1)
        assert state_of(heap) == world.state


def test_a_method_that_comes_to_make_objects_is_captured_again() -> None:
    with oa.Heap(backend=PretendDevice(1 << 16)):

        class Thing(oa.Object):
            number: i64

            def act(self) -> None:
                self.number += 1

        class Other(oa.Object):
            number: i64

        Thing(number=1)
        with oa.capture() as step:
            oa.all(Thing).act()
        step.run(2)
        assert oa.all(Thing)[0].number == 3

        def act(self: Any) -> None:
            Other(number=self.number)

        Thing.act = act  # type: ignore[method-assign]
        step.run(2)
        assert oa.all(Other).number.numpy().tolist() == [3, 3]


@pytest.mark.parametrize("births", [False, True])
def test_a_method_that_gets_other_types_is_told(births: bool) -> None:
    """By the first run that finds it, and once more by the next one."""

    class Thing(oa.Object):
        number: i64

        def act(self) -> None:
            if births and self.number == 2:
                oa.new(Thing, number=7)
            self.number += 1

    def act(self: Any, by: i64) -> None:
        self.number += by

    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        things = heap.new(Thing, 3, number=1)
        with oa.capture() as step:
            oa.all(Thing).act()
        step.run()
        Thing.act = act  # type: ignore[method-assign, assignment]
        for _ in range(2):
            with pytest.raises(oa.ClassError, match="is gone or has other types"):
                step.run()
        assert things.number.numpy().tolist() == [2, 2, 2]


_by = 1


@oa.kernel
def raise_by(numbers: oa.Array[i64]) -> None:
    numbers[oa.grid(1)] += _by


@oa.kernel
def make_in_turn(number: i32) -> None:
    if oa.grid(1) % 2 == number:
        oa.new(Plant)


def test_a_name_of_a_launch_beside_births_means_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step was planned for ever."""
    monkeypatch.setattr(PopulationSequence, "_make_plan", limited(PopulationSequence._make_plan))
    with oa.Heap(backend=PretendDevice(1 << 16)):
        numbers = oa.zeros(3, i64)
        with oa.capture() as step:
            raise_by[3](numbers)
            make_in_turn[4](1)
        for by in (1, 10):
            monkeypatch.setitem(globals(), "_by", by)
            step.run()
        assert numbers.numpy().tolist() == [11] * 3
        assert len(oa.all(Plant)) == 4


def limited(function: Any) -> Any:
    calls = iter(range(9))

    def call(*given: Any) -> Any:
        next(calls)
        return function(*given)

    return call


def test_a_heap_goes_with_its_step() -> None:
    found = []
    for heap, world, step in evolving("eager", "auto", "64"):
        run((heap, world, step), 2)
        found.append(weakref.ref(heap))
    del heap, world, step
    gc.collect()
    assert found[0]() is None


class Twin(oa.Object):
    number: i64

    def part(self) -> None:
        if self.number > 0:
            self.number -= 1
            Twin(number=0)


def test_code_for_more_regions_is_made_beside() -> None:
    """The next plan lists new regions with the others: its run does not wait for a compiler."""
    with oa.Heap(backend=EagerDevice(), capacity="64MiB", initial_region=32) as heap:
        twins = heap.new(Twin, 40, number=1)
        with oa.capture() as step:
            oa.all(Twin).part()
        lists = heap.backend.slot_lists
        assert isinstance(lists, SlotKernels)
        step.run()
        assert background.wait()
        kernels = lists._regions.list
        assert [size for size in kernels if lists._kernels.is_loaded(kernels[size])][:2] == [1, 2]
        assert len(twins) == 40 and len(oa.all(Twin)) == 80
