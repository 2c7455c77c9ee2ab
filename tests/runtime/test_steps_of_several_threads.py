"""Captured steps whose populations change, run by several threads of Python."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.heap import moving
from sharedoa.heap.slots_on_device import count_living
from sharedoa.runtime import population_sequence
from sharedoa.runtime.population_sequence import PopulationSequence

from ..backends.pretend_device import PretendDevice
from ..heap.invariants import check_invariants


class Leaf(oa.Object):
    age: i32

    def wither(self, ended: oa.Array[i32]) -> None:
        self.age += 1
        if self.age == 5 and oa.delete(self):
            oa.atomic_add(ended, 0, 1)


@oa.kernel
def sow(count: i32) -> None:
    if oa.grid(1) < count:
        Leaf(age=0)


def test_nobody_plans_amid_anothers_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of the plan before had no bindings, or were not found: KeyError, AssertionError."""
    within: list[int] = []
    most: list[int] = []
    failures: list[BaseException] = []

    def slowly(name: str) -> None:
        original = getattr(PopulationSequence, name)

        def step(sequence: PopulationSequence, *given: Any) -> Any:
            within.append(1)
            most.append(len(within))
            time.sleep(0.002)
            try:
                return original(sequence, *given)
            finally:
                within.pop()

        monkeypatch.setattr(PopulationSequence, name, step)

    slowly("_make_plan")
    slowly("_run_planned")
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="4MiB", initial_region=16) as heap:
        ended = heap.zeros(1, i32)
        heap.new(Leaf, 20)
        with oa.capture() as step:
            oa.all(Leaf).wither(ended)

        def runs() -> None:
            try:
                with heap:
                    for _ in range(10):
                        heap.new(Leaf, 5)
                        step.run()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=runs) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert not failures and max(most) == 1
        assert len(oa.all(Leaf)) + ended[0] == 120


@pytest.mark.parametrize("name", ["compact", "plan"])
def test_what_ends_before_the_books_are_locked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Objects were moved, and regions became one, with bytes of a launch that had not run."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="4MiB", initial_region=16) as heap:
        ended = heap.zeros(1, i32)
        ages = [n % 5 for n in range(60)]
        heap.new(Leaf, 60, age=ages)
        oa.delete(heap.all(Leaf)[::3])
        with oa.capture() as step:
            oa.all(Leaf).wither(ended)
        step.run()
        with oa.capture() as other:
            sow[200](200)
        owner, function = {
            "compact": (moving, "_placement"),
            "plan": (population_sequence, "note_births"),
        }[name]  # fmt: skip
        original = getattr(owner, function)

        def then_run(*given: Any) -> Any:
            """As another thread might right now."""
            found = original(*given)
            monkeypatch.setattr(owner, function, original)
            step.run()
            return found

        monkeypatch.setattr(owner, function, then_run)
        if name == "compact":
            oa.compact()
        else:
            other.run()
        left = 40 + 200 * (name == "plan")
        assert len(oa.all(Leaf)) + ended[0] == left
        check_invariants(heap)


def test_what_moves_before_a_run_has_the_books(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lives was counted in regions whose memory had been given back: a launch met null."""
    with oa.Heap(backend=PretendDevice(1 << 16), capacity="4MiB", initial_region=16) as heap:
        ended = heap.zeros(1, i32)
        heap.new(Leaf, 60, age=[n % 5 for n in range(60)])
        with oa.capture() as step:
            oa.all(Leaf).wither(ended)
        step.run()
        oa.delete(heap.all(Leaf)[::2])  # with which the books are settled
        left = len(oa.all(Leaf))
        original, ended[0] = PopulationSequence._is_current, 0

        def then_compact(sequence: PopulationSequence) -> bool:
            """As another thread might right now."""
            is_current = original(sequence)
            if is_current:
                monkeypatch.setattr(PopulationSequence, "_is_current", original)
                oa.compact()
            return is_current

        def counted(placement: Any, regions: Any, lists: Any) -> None:
            assert {*regions} <= {*placement.all_regions()}
            count_living(placement, regions, lists)

        monkeypatch.setattr(PopulationSequence, "_is_current", then_compact)
        monkeypatch.setattr(population_sequence, "count_living", counted)
        step.run()
        assert len(oa.all(Leaf)) + ended[0] == left
        check_invariants(heap)
