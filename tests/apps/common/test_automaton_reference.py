"""The reference of the automata against plain Python, cell by cell, and scipy's convolution."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.ndimage import convolve

from apps.common.automaton.reference import Reference, count_neighbours
from apps.common.automaton.rule import ALIVE, CANDIDATE, DEAD, Rule
from apps.game_of_life.parameters import RULE as LIFE
from apps.generation.parameters import RULE as GENERATION

BOARDS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8))
COUNTS = st.frozensets(st.integers(0, 8))


@given(BOARDS)
def test_neighbours_are_those_of_a_convolution(board: np.ndarray) -> None:
    around = np.ones((3, 3), int)
    around[1, 1] = 0
    expected = convolve(board.astype(int), around, mode="constant", cval=0)
    assert np.array_equal(count_neighbours(board), expected)


def by_hand(states: dict[tuple[int, int], int], rule: Rule) -> dict[tuple[int, int], int]:
    """One generation of cells with a state each, candidates among them."""

    def near(place: tuple[int, int]) -> list[tuple[int, int]]:
        row, column = place
        around = [(row + y, column + x) for y in (-1, 0, 1) for x in (-1, 0, 1)]
        return [other for other in around if other != place and other in states]

    live = {place: sum(states[n] == ALIVE for n in near(place)) for place in states}
    empty = {place for place in states if states[place] in (DEAD, CANDIDATE)}
    born = {place for place in empty if live[place] in rule.birth}
    following = {}
    for place, state in states.items():
        if place in born:
            following[place] = ALIVE
        elif place in empty:
            invited = any(n in born for n in near(place))
            waits = state == CANDIDATE and live[place] > 0
            following[place] = CANDIDATE if invited or waits else DEAD
        elif state == ALIVE and live[place] in rule.survival:
            following[place] = ALIVE
        else:
            following[place] = CANDIDATE if state == ALIVE + rule.decaying else state + 1
    return following


@given(board=BOARDS, survival=COUNTS, birth=COUNTS, decaying=st.integers(0, 4))
def test_any_rule_by_hand(
    board: np.ndarray, survival: frozenset[int], birth: frozenset[int], decaying: int
) -> None:
    rule = Rule(survival, birth, decaying)
    reference = Reference(rule, board)
    for _ in range(6):
        states = reference.states()
        following = by_hand(dict(np.ndenumerate(states)), rule)  # type: ignore[arg-type]
        reference.advance()
        assert dict(np.ndenumerate(reference.states())) == following


def test_a_lonely_cell_of_the_generations_takes_255_steps_to_decay() -> None:
    board = np.zeros((5, 5), np.bool_)
    board[2, 1:3] = True  # two cells, each with one neighbour
    reference = Reference(GENERATION, board)
    for step in range(1, 256):
        reference.advance()
        assert reference.states()[2, 2] == ALIVE + step
    reference.advance()
    assert reference.states()[2, 2] == CANDIDATE
    reference.advance()
    assert reference.states()[2, 2] == DEAD


def test_a_blinker() -> None:
    board = np.zeros((5, 5), np.bool_)
    board[2, 1:4] = True
    reference = Reference(LIFE, board)
    reference.advance()
    assert np.array_equal(reference.states() == ALIVE, board.T)
    reference.advance()
    assert np.array_equal(reference.states() == ALIVE, board)
