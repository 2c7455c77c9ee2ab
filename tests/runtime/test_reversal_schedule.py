"""The schedule of steps that are taken again: right, within its states, and the shortest."""

from __future__ import annotations

from functools import cache

import pytest

from sharedoa.runtime.reversal_schedule import schedule


def taken(steps: int, states: int) -> int:
    """Play a schedule: how many steps are taken again before one is reversed."""
    stored, found, left, at = {0}, 0, steps, None
    for action in schedule(steps, states):
        if action.kind == "drop":
            stored.remove(action.step)
            continue
        start = max(each for each in stored if each <= action.step)
        if at is not None and start <= at <= action.step:
            start = at
        found += action.step - start
        at = action.step
        if action.kind == "store":
            assert action.step not in stored
            stored.add(action.step)
            assert len(stored) <= states
        else:
            left -= 1
            assert action.step == left  # newest first
            at = action.step + 1
    assert left == 0 and stored == {0}
    return found


@cache
def fewest(steps: int, states: int) -> int:
    """By trying every place for the next state."""
    if steps <= 1:
        return 0
    if states == 1:
        return steps * (steps - 1) // 2
    return min(
        place + fewest(steps - place, states - 1) + fewest(place, states)
        for place in range(1, steps)
    )


@pytest.mark.parametrize("states", range(1, 9))
def test_it_is_right_and_the_shortest(states: int) -> None:
    for steps in range(40):
        assert taken(steps, states) == fewest(steps, states), steps


def test_ten_thousand_steps_are_taken_eight_times_with_eight_states() -> None:
    assert taken(10_000, 8) < 8 * 10_000


def test_a_state_for_each_step_takes_none_again() -> None:
    assert taken(20, 20) == taken(20, 50) == 19  # to store them on the way
