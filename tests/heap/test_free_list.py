"""Free slots, of which the lowest go out first, beside a sorted list of Python's."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest

from sharedoa.heap import regions
from sharedoa.heap.regions import FreeList


@pytest.mark.parametrize("seed", range(20))
def test_as_a_sorted_list(seed: int) -> None:
    random = Random(seed)
    slots, expected = FreeList(), list[int]()
    others = [*range(3000)]
    random.shuffle(others)
    for _ in range(400):
        what = random.randrange(5)
        if what == 0 and others:
            slots.push_one(others[-1])
            expected.append(others.pop())
        elif what == 1:
            count = random.choice([0, 1, 5, 200])
            given, others = others[:count], others[count:]
            slots.push(np.array(given, np.int64))
            expected += given
        elif what == 2 and expected:
            others.append(slots.pop())
            assert others[-1] == min(expected)
            expected.remove(others[-1])
            if random.random() < 0.3:
                slots.put_back(1)
                expected.append(others.pop())
        elif what > 2:
            count = random.randint(0, len(expected))
            found = slots.lowest(count).tolist()
            assert found == sorted(expected)[:count]
            if found:
                slots.drop(count, found[-1])
                if random.random() < 0.5:
                    slots.put_back(count)
                else:
                    expected, others = sorted(expected)[count:], others + found
        assert len(slots) == len(expected)
        assert sorted(slots.all().tolist()) == sorted(expected)


@pytest.mark.parametrize("count", [1, 50])
def test_who_comes_late_costs_no_look_at_all(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """A host deletes some objects at random and makes as many, where a million slots are free."""
    free, turns, looked_at = 1 << 20, 500, [0]
    slots = FreeList()
    slots.push(np.arange(0, 2 * free, 2))
    slots.lowest(1)
    others = 1 + 2 * np.random.default_rng(3).permutation(free)[: turns * count]

    def sort(slots: np.ndarray[Any, Any]) -> None:
        looked_at[0] += len(slots)
        real(slots)

    real = regions.sort
    monkeypatch.setattr(regions, "sort", sort)
    for turn in range(turns):
        if count == 1:
            slots.push_one(int(others[turn]))
            slots.pop()
        else:
            slots.push(others[turn * count :][:count])
            slots.drop(count, slots.lowest(count)[-1])
    assert looked_at[0] < turns * count * 4 * math.sqrt(free)
    assert len(slots) == free


def test_who_comes_one_by_one_is_seldom_moved() -> None:
    slots, memory, moves = FreeList(), None, 0
    for slot in range(2000):
        slots.push_one(slot)
        moves += slots.all().base is not memory
        memory = slots.all().base
    assert moves < 30
