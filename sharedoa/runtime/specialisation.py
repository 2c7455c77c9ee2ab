"""Which arguments of a launch are constants of its code (``ir.passes.constant_arguments``).

Numbers that are given to a captured step never change. Each other choice of them is other code, so
a program gets but a few variants; after that its steps run what all launches run.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..backends.base import Slots
from ..ir.job import Uses

Constants = tuple[tuple[int, int], ...]
"""Parameters, by number, and the word that each is given (``codegen.abi``)."""
MOST_VARIANTS = 4


class Specialisation:
    """The variants of one program."""

    def __init__(self) -> None:
        self._variants: set[Constants] = set()

    def constants(
        self, uses: Uses, slots: Slots, first_slots: Sequence[int], are_fixed: bool
    ) -> Constants:
        """What code for a launch whose arguments are packed in ``slots`` may rest on; the leaves of
        each begin at one of ``first_slots``. ``are_fixed``: they will never be others."""
        found = tuple([(place, slots[first_slots[place]]) for place in uses.scalars])
        if not are_fixed or not found:
            return ()
        if found not in self._variants:
            if len(self._variants) >= MOST_VARIANTS:
                return ()
            self._variants.add(found)
        return found
