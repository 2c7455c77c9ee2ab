"""The rule, and the numbers that it takes."""

from __future__ import annotations

from ..common.automaton.rule import Rule

DECAYING_STATES = 255

RULE = Rule(
    survival=frozenset({0, 2, 3, 5, 6, 7, 8}),
    birth=frozenset({3, 4, 6, 8}),
    decaying=DECAYING_STATES,
)

#: Bit n is set when a cell with n live neighbours survives, or is born.
SURVIVAL_MASK = sum(1 << count for count in RULE.survival)
BIRTH_MASK = sum(1 << count for count in RULE.birth)
