"""Captured calls on all objects with a thread for each slot do what those over lists do, and what
plain Python does."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from dispatch.dataclass import replace
from sharedoa import i32, i64
from sharedoa.heap.living import births_by_class
from sharedoa.model.field_address import LANES
from sharedoa.runtime import population_sequence, slot_calls
from sharedoa.runtime.launch import Program
from sharedoa.runtime.launch_sequence import RecordedLaunch
from sharedoa.runtime.population_sequence import PopulationSequence

from ..backends.pretend_device import PretendDevice
from ..codegen.interpreted import InterpretedGpu
from ..heap.invariants import check_invariants
from .evolution import mixed

SOWN = 24
Made = list[slot_calls.SlotCall | None]


class Season(oa.Object):
    turn: i64

    def pass_by(self) -> None:
        self.turn += 1


class Leaf(oa.Object):
    number: i64
    age: i32
    other: Leaf

    def fall(self, ended: oa.Array[i32]) -> None:
        if oa.delete(self):
            oa.atomic_add(ended, 0, 1)

    def wither(self, season: Season, ended: oa.Array[i32]) -> None:
        if mixed(self.number, season.turn) % 4:
            self.age += 1
            return
        self.fall(ended)

    def take(self, seen: oa.Array[i32]) -> None:
        """Also those that others have taken meanwhile."""
        oa.atomic_add(seen, 0, 1)
        other = self.other
        if other is not None and oa.delete(other):
            oa.atomic_add(seen, 1, 1)
        if self.number % 5 == 0 and oa.delete(self):
            oa.atomic_add(seen, 1, 1)


class Bud(Leaf):
    def wither(self, season: Season, ended: oa.Array[i32]) -> None:
        if mixed(self.number, season.turn + 5) % 8 == 0 and oa.is_alive(self):
            oa.delete(self)
            oa.delete(self)
            oa.atomic_add(ended, 0, 1)


@oa.kernel
def sow(season: Season) -> None:
    i = oa.grid(1)
    number = i64(i) + SOWN * season.turn
    if i % 3 == 0:
        Bud(number=number)
    else:
        Leaf(number=number)


def plain(number: int, turn: int) -> int:
    value = (number * 1103515245 + turn * 40503 + 12345) & 0x7FFFFFFF
    value = ((value ^ (value >> 13)) * 1274126177) & 0x7FFFFFFF
    return value ^ (value >> 16)


@pytest.fixture
def slot_by_slot(monkeypatch: pytest.MonkeyPatch) -> Made:
    """How launches were made: each as few objects as there are go slot by slot."""
    monkeypatch.setattr(slot_calls, "_FEWEST", 1)
    made: Made = []

    def noting(heap: oa.Heap, planned: Any, *given: Any) -> slot_calls.SlotCall | None:
        found = slot_calls.called_by_slot(heap, planned, *given)
        if planned.receivers:
            made.append(found)
        return found

    monkeypatch.setattr(population_sequence, "called_by_slot", noting)
    return made


Grown = list[tuple[list[int], list[tuple[int, int, int]]]]


def grown(device: str, layout: str, references: str, runs: int) -> Grown:
    """What has fallen and who lives after each of some runs, class by class in their order, with
    what the places of new objects are."""
    found: Grown = []
    options: dict[str, Any] = {"layout": layout, "references": references}
    backend: Any = PretendDevice(1 << 16) if device == "pretended" else device
    with oa.Heap(backend=backend, initial_region=32, capacity="1MiB", **options) as heap:
        season, ended = Season(turn=0), heap.zeros(1, i32)
        with oa.capture() as step:
            sow[SOWN](season)
            oa.all(Leaf).wither(season, ended)
            oa.all(Season).pass_by()
        for _ in range(runs):
            step.run()
            leaves = oa.all(Leaf)
            references_now = leaves._references().tolist()
            rows = zip(
                references_now, leaves.number.numpy().tolist(), leaves.age.numpy().tolist(),
                strict=True,
            )  # fmt: skip
            first = min(references_now, default=0)
            found.append((ended.numpy().tolist(), [(at - first, n, age) for at, n, age in rows]))
        check_invariants(heap)
    return found


@pytest.mark.parametrize(
    ("device", "layout", "references"),
    [
        ("pretended", "tile", "64"), ("pretended", "aos", "32"),
        pytest.param("pretended", "tile", "32", marks=pytest.mark.slow),
        *(pytest.param("cuda", layout, references, marks=pytest.mark.gpu)
          for layout, references in (("tile", "64"), ("aos", "32"))),
    ],
)  # fmt: skip
def test_the_same_as_with_lists(
    device: str,
    layout: str,
    references: str,
    slot_by_slot: Made,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same objects in the same places, in the same order."""
    runs = 12
    by_slot = grown(device, layout, references, runs)
    called = [each for each in slot_by_slot if each is not None]
    assert called and {each.program.source.name for each in called} == {"Leaf.wither"}
    slot_by_slot.clear()
    monkeypatch.setattr(slot_calls, "_FEWEST", 1 << 40)
    assert grown(device, layout, references, runs) == by_slot
    assert not any(slot_by_slot)
    leaves: dict[int, int] = {}
    buds: list[int] = []
    fallen = 0
    for turn, (ended, rows) in enumerate(by_slot):
        numbers = range(SOWN * turn, SOWN * (turn + 1))
        leaves |= {n: 0 for n in numbers if (n - numbers[0]) % 3}
        buds += [n for n in numbers if (n - numbers[0]) % 3 == 0]
        before = len(leaves) + len(buds)
        leaves = {n: age + 1 for n, age in leaves.items() if plain(n, turn) % 4}
        buds = [n for n in buds if plain(n, turn + 5) % 8]
        fallen += before - len(leaves) - len(buds)
        assert ended == [fallen]
        assert Counter((n, age) for _, n, age in rows) == Counter(
            [*leaves.items(), *((n, 0) for n in buds)]
        )


@pytest.mark.parametrize("references", ["64", "32"])
def test_those_that_others_end_meanwhile_are_called(references: str, slot_by_slot: Made) -> None:
    """In holes, in several regions of several classes; who is ended twice counts once."""
    with oa.Heap(
        backend=PretendDevice(1 << 16), references=references, initial_region=32, capacity="1MiB"
    ) as heap:
        kept: list[Leaf] = []
        for kind, count in ((Leaf, 70), (Bud, 40), (Leaf, 300), (Bud, 33)):
            made = heap.new(kind, count, number=np.arange(count))
            order = np.random.default_rng(count).permutation(count)
            oa.delete(made[np.sort(order[: count // 3])])
            kept += [made[int(n)] for n in np.sort(order[count // 3 :])]
        for number, each in enumerate(kept):
            each.other = kept[(7 * number + 1) % len(kept)] if number % 2 else None
        seen = heap.zeros(2, i32)
        gone = {id(kept[(7 * number + 1) % len(kept)]) for number in range(1, len(kept), 2)}
        gone |= {id(each) for each in kept if each.number % 5 == 0}
        with oa.capture() as step:
            oa.all(Leaf).take(seen)
        step.run()
        assert seen.numpy().tolist() == [len(kept), len(gone)]
        assert [oa.is_alive(each) for each in kept] == [id(each) not in gone for each in kept]
        check_invariants(heap)
    (launch,) = (each for each in slot_by_slot if each is not None)
    assert launch.threads < 3 * len(kept)
    assert not any(launch.arguments[place] % LANES for place in launch.first_threads)


def test_a_class_without_memory_has_no_threads(
    slot_by_slot: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def noting(*given: Any) -> slot_calls.SlotCall | None:
        asked.append(given)
        return slot_calls.called_by_slot(*given)

    monkeypatch.setattr(population_sequence, "called_by_slot", noting)
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        heap.new(Leaf, 60)
        seen = heap.zeros(2, i32)
        with oa.capture() as step:
            oa.all(Leaf).take(seen)
        step.run()
        ((_, planned, *others),) = asked
        planned = replace(planned, receivers=(*planned.receivers, Bud.__sharedoa__))
        with heap.lock:
            found = slot_calls.called_by_slot(heap, planned, *others)
        assert found is not None and found.first_threads == frozenset()


def test_in_the_interpreter_of_ptx(slot_by_slot: Made) -> None:
    with oa.Heap(backend=InterpretedGpu(), initial_region=32, capacity="1MiB") as heap:
        leaves = heap.new(Leaf, 90, number=np.arange(90))
        buds = heap.new(Bud, 50, number=np.arange(90, 140))
        oa.delete([*leaves[::3], *buds[1::2]])
        season, ended = Season(turn=0), heap.zeros(1, i32)
        with oa.capture() as step:
            oa.all(Leaf).wither(season, ended)
        step.run()
        living = [n for n in range(90) if n % 3 and plain(n, 0) % 4]
        living += [n for n in range(90, 140) if not n % 2 and plain(n, 5) % 8]
        assert oa.all(Leaf).number.numpy().tolist() == living
        assert ended.numpy().tolist() == [60 + 25 - len(living)]
    assert any(slot_by_slot)


def test_bytes_are_asked_and_written_without_a_search(
    slot_by_slot: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not as memory that nobody writes to in the launch."""
    texts: list[str] = []
    bind = RecordedLaunch.bind

    def noting(launch: RecordedLaunch, *given: Any) -> Any:
        found = bind(launch, *given)
        texts.append(str(found.unit.compilation.products["ptx"]))
        return found

    monkeypatch.setattr(RecordedLaunch, "bind", noting)
    with oa.Heap(backend=InterpretedGpu()) as heap:
        heap.new(Thing, 40, number=np.arange(40))
        with oa.capture() as step:
            oa.all(Thing).end()
        step.run()
        assert len(heap.all(Thing)) == 20
    (text,) = texts
    loads = re.findall(r"ld\.global\S*", text)
    assert len(loads) == 2 and "ld.global.b8" in loads, text
    assert len(re.findall(r"(?:atom|red)\.\S*global\S*", text)) == 1, text


class Thing(oa.Object):
    number: i64

    def check(self) -> None:
        assert self.number >= 0
        if self.number % 2:
            oa.delete(self)

    def divide(self) -> None:
        if self.number % 2:
            oa.delete(self)
        else:
            Thing(number=self.number // 2)

    def grow(self) -> None:
        self.number += 1

    def end(self) -> None:
        if self.number % 2:
            oa.delete(self)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("check", False), ("divide", False), ("grow", False), ("end", True)],
)
def test_methods_of_which_the_number_of_a_thread_is_seen_have_a_list(
    name: str, expected: bool, slot_by_slot: Made
) -> None:
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        things = heap.new(Thing, 60, number=np.arange(60) // 3)
        oa.delete(things[::4])
        left = [n // 3 for n in range(60) if n % 4]
        with oa.capture() as step:
            getattr(oa.all(Thing), name)()
            oa.all(Thing).end()
        step.run()
        match name:
            case "grow":
                left = [n + 1 for n in left if n % 2]
            case "divide":
                left = [n for n in left if not n % 2]
                left += [n // 2 for n in left if not n // 2 % 2]
            case _:
                left = [n for n in left if not n % 2]
        assert sorted(heap.all(Thing).number.numpy().tolist()) == sorted(left)
    assert (slot_by_slot[0] is not None) == expected


def test_few_objects_in_many_slots_have_a_list(slot_by_slot: Made) -> None:
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        things = heap.new(Thing, 600, number=np.arange(600))
        oa.delete(things[100:598])
        with oa.capture() as step:
            oa.all(Thing).end()
        step.run()
        assert heap.all(Thing).number.numpy().tolist() == [*range(0, 100, 2), 598]
    assert not any(slot_by_slot)


def test_as_many_regions_as_code_is_made_for(
    slot_by_slot: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three regions have the code of four; more than there are stretches have a list."""
    options: dict[str, Any] = {"references": "32", "initial_region": 32, "capacity": "1MiB"}
    with oa.Heap(backend=PretendDevice(1 << 16), **options) as heap:
        for number in range(3):
            # Between them others lie, so that regions do not become one.
            heap.new(Thing, 40 << number)
            heap.new(Leaf, 40 << number)
        with oa.capture() as step:
            oa.all(Thing).end()
        step.run()
        assert len([*births_by_class(heap).placement.regions(Thing.__sharedoa__)]) == 3
        (launch,) = slot_by_slot
        assert launch is not None and len(launch.first_threads) == 4 - 1
        monkeypatch.setattr(slot_calls, "MOST_STRETCHES", 3)
        slot_by_slot.clear()
        with oa.capture() as step:
            oa.all(Thing).end()
        step.run()
        assert slot_by_slot == [None]


def test_other_numbers_of_slots_have_the_same_code(
    slot_by_slot: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = []
    bind = RecordedLaunch.bind

    def noting(launch: RecordedLaunch, *given: Any) -> Any:
        units.append(bind(launch, *given).unit)
        return launch.binding

    monkeypatch.setattr(RecordedLaunch, "bind", noting)
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=4096) as heap:
        taken = heap.zeros(2, i32)
        with oa.capture() as step:
            oa.all(Leaf).take(taken)
        for number in range(1, 4):
            heap.new(Leaf, 50 * number, number=1)
            heap.new(Bud, 70, number=2)
            step.run()
        assert len(heap.all(Leaf)) == 6 * 50 + 3 * 70
    first_threads = {each.arguments[2] for each in slot_by_slot if each is not None}
    assert len(first_threads) == 3 and len(set(map(id, units))) == 1


def test_programs_are_asked_before_the_books_are_locked(
    slot_by_slot: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who compiles beside launches has a program's lock and waits for that on the books."""
    uses, recorded = Program.uses, PopulationSequence._recorded
    is_locked = False

    def asked(program: Program) -> Any:
        assert not is_locked
        return uses(program)

    def locked(*given: Any) -> Any:
        nonlocal is_locked
        is_locked = True
        try:
            return recorded(*given)
        finally:
            is_locked = False

    monkeypatch.setattr(Program, "uses", asked)
    monkeypatch.setattr(PopulationSequence, "_recorded", locked)
    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        heap.new(Thing, 60, number=np.arange(60))
        with oa.capture() as step:
            oa.all(Thing).end()
            oa.all(Thing).divide()
        step.run()
        assert len(heap.all(Thing)) == 60
    assert [each is not None for each in slot_by_slot[:2]] == [True, False]


def test_a_plan_that_was_interrupted_is_made_again(
    slot_by_slot: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes when the heap's books are free again, before programs are asked."""

    noted = population_sequence._note_uses

    def interrupted(launches: Any) -> None:
        monkeypatch.setattr(population_sequence, "_note_uses", noted)
        raise KeyboardInterrupt

    with oa.Heap(backend=PretendDevice(1 << 16)) as heap:
        heap.new(Thing, 60, number=np.arange(60))
        with oa.capture() as step:
            oa.all(Thing).end()
        monkeypatch.setattr(population_sequence, "_note_uses", interrupted)
        with pytest.raises(KeyboardInterrupt):
            step.run()
        step.run()
        assert len(heap.all(Thing)) == 30
    assert len(slot_by_slot) == 2 and all(slot_by_slot)


def test_modes_that_know_nothing_of_populations_have_lists(slot_by_slot: Made) -> None:
    with oa.Heap(backend=PretendDevice(1 << 16), mode="typepointer") as heap:
        heap.new(Thing, 60, number=np.arange(60))
        with oa.capture() as step:
            oa.all(Thing).end()
        step.run()
        assert len(heap.all(Thing)) == 30
    assert slot_by_slot == [None]
