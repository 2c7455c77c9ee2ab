"""The rule, and the numbers that it takes."""

from __future__ import annotations

from ..common.automaton.rule import Rule

#: A live cell with fewer live neighbours or with more dies.
FEWEST_TO_SURVIVE, MOST_TO_SURVIVE = 2, 3
#: A dead cell with so many live neighbours comes to life.
TO_BE_BORN = 3

RULE = Rule(survival=frozenset({2, 3}), birth=frozenset({3}))
