"""Control-flow graphs over numbered blocks: dominators, loops, and joins of divergent branches.

Blocks are 0 to n - 1, block 0 the entry; block n, the *exit*, is added behind every block that has
no successor. Blocks that cannot be reached are left out of every result. Flow is expected to be
reducible, as structured programs are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from dispatch.dataclass import dataclass


@dataclass(frozen=True)
class Loop:
    header: int
    blocks: frozenset[int]


class ControlFlow:
    """The graph of one function, from the successors of each block."""

    def __init__(self, successors: Sequence[Sequence[int]]) -> None:
        self.exit = len(successors)
        ways = [list(dict.fromkeys(after)) or [self.exit] for after in successors]
        self.successors: list[list[int]] = [*ways, []]
        self.order = _reverse_postorder(self.successors, 0)
        """Reachable blocks and the exit, each after its predecessors but for back edges."""
        self.predecessors: list[list[int]] = [[] for _ in self.successors]
        for block in self.order:
            for after in self.successors[block]:
                self.predecessors[after].append(block)

    @cached_property
    def dominators(self) -> dict[int, int]:
        """The immediate dominator of every reachable block but the entry."""
        return _immediate_dominators(self.order, self.predecessors)

    @cached_property
    def postdominators(self) -> dict[int, int]:
        """The immediate postdominator of every block from which the exit can be reached."""
        backwards = _reverse_postorder(self.predecessors, self.exit)
        return _immediate_dominators(backwards, self.successors)

    @cached_property
    def loops(self) -> list[Loop]:
        """Natural loops; those with one header are one loop."""
        bodies: dict[int, set[int]] = {}
        for latch in self.order:
            for header in self.successors[latch]:
                if _dominates(self.dominators, header, latch):
                    body = bodies.setdefault(header, {header})
                    _collect_body(body, latch, self.predecessors)
        return [Loop(header, frozenset(body)) for header, body in bodies.items()]

    def reconvergence(self, branch: int) -> int:
        """Where all ways out of ``branch`` have met again: its immediate postdominator."""
        return self.postdominators.get(branch, self.exit)

    def joins(self, branch: int) -> set[int]:
        """The blocks that threads reach by disjoint paths from different successors of ``branch``,
        up to its point of reconvergence.

        Seen from the branch no single block lies on all ways to such a block, so the branch itself
        is its immediate dominator (Menger).
        """
        last = self.reconvergence(branch)
        ways = [
            [] if block == last else [after for after in successors if after != branch]
            for block, successors in enumerate(self.successors)
        ]
        order = _reverse_postorder(ways, branch)
        before: list[list[int]] = [[] for _ in ways]
        for block in order:
            for after in ways[block]:
                before[after].append(block)
        above = _immediate_dominators(order, before)
        return {
            block
            for block, dominator in above.items()
            if dominator == branch
            and any(b != branch and not _dominates(above, block, b) for b in before[block])
        }


def _reverse_postorder(successors: Sequence[Sequence[int]], root: int) -> list[int]:
    postorder: list[int] = []
    seen = {root}
    stack = [(root, iter(successors[root]))]
    while stack:
        block, rest = stack[-1]
        for after in rest:
            if after not in seen:
                seen.add(after)
                stack.append((after, iter(successors[after])))
                break
        else:
            postorder.append(block)
            stack.pop()
    return postorder[::-1]


def _immediate_dominators(
    order: Sequence[int], predecessors: Sequence[Sequence[int]]
) -> dict[int, int]:
    """Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm; ``order`` starts at the root."""
    position = {block: number for number, block in enumerate(order)}
    root = order[0]
    above = {root: root}

    def meet(one: int, other: int) -> int:
        while one != other:
            if position[one] > position[other]:
                one = above[one]
            else:
                other = above[other]
        return one

    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [before for before in predecessors[block] if before in above]
            new = known[0]
            for before in known[1:]:
                new = meet(new, before)
            if above.get(block) != new:
                above[block] = new
                changed = True
    del above[root]
    return above


def _dominates(above: dict[int, int], block: int, other: int) -> bool:
    """Whether every way to ``other`` leads through ``block``, by immediate dominators."""
    while other != block and other in above:
        other = above[other]
    return other == block


def _collect_body(body: set[int], latch: int, predecessors: Sequence[Sequence[int]]) -> None:
    work = [latch]
    while work:
        block = work.pop()
        if block not in body:
            body.add(block)
            work += predecessors[block]
