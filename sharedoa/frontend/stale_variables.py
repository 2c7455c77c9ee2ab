"""Which statements may read a variable that holds what one iteration of a loop left in it.

Values that an iteration leaves are *stale* for others: where iterations run side by side, nobody
may read them. A forward walk over a function carries the set of variables that may be stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from . import tree
from .effects import SIMPLE_STATEMENTS
from .walk import nodes_in, statements_in

Variables = AbstractSet[tree.Variable]


def reads_stale(
    statements: Sequence[tree.Statement],
    stale: Variables,
    loop: tree.ForRange | None = None,
    left: Variables = frozenset(),
) -> bool:
    """Whether the statements, in order, may read a variable of ``stale`` that they have not
    assigned to before, or one of ``left`` that holds what ``loop``, one of them or in one of them,
    left there. The loop's own body is not looked at."""
    walk = _Walk(loop, left)
    walk.over(statements, stale)
    return walk.found


class _Walk:
    def __init__(self, loop: tree.ForRange | None, left: Variables) -> None:
        self._loop, self._left = loop, left
        self.found = False

    def over(self, statements: Sequence[tree.Statement], stale: Variables) -> Variables:
        """The variables that may be stale after the statements. What follows a ``return``,
        ``break`` or ``continue`` counts as if it could be reached."""
        for node in statements:
            stale = self._after(node, stale)
        return stale

    def _after(self, node: tree.Statement, stale: Variables) -> Variables:
        if isinstance(node, tree.If):
            self._read(node.test, stale)
            # Who skips a branch helps with the loops in it (``cut_branches``), and does not come to
            # what the branch assigns then.
            left_in_then, left_in_else = map(self._left_in, (node.then, node.otherwise))
            after = self.over(node.then, stale) | self.over(node.otherwise, stale | left_in_then)
            return after | left_in_then | left_in_else
        if isinstance(node, tree.ForRange):
            for bound in (node.start, node.stop, node.step):
                self._read(bound, stale)
            if node is self._loop:
                return stale | self._left
            stale = self._at_head(node, stale)
            self.over(node.body, stale - {node.variable})
            # Who comes by ``break`` has not seen what ``otherwise`` assigns.
            return stale | self.over(node.otherwise, stale)
        if isinstance(node, tree.While):
            stale = self._at_head(node, stale)
            self._read(node.test, stale)
            self.over(node.body, stale)
            return stale | self.over(node.otherwise, stale)
        if node.__class__ not in SIMPLE_STATEMENTS:
            self.found = True
        self._read(node, stale)
        return stale - {node.variable} if isinstance(node, tree.Assign) else stale

    def _at_head(self, node: tree.ForRange | tree.While, stale: Variables) -> Variables:
        """Where an iteration begins, or the loop ends: the loop in question may have run inside."""
        return stale | self._left_in(node.body)

    def _left_in(self, statements: Sequence[tree.Statement]) -> Variables:
        """What the loop in question leaves if it is among the statements."""
        if self._loop is None or self._loop not in statements_in(statements):
            return frozenset()
        return self._left

    def _read(self, node: Any, stale: Variables) -> None:
        if stale and any(
            isinstance(part, tree.Local) and part.variable in stale for part in nodes_in(node)
        ):
            self.found = True
