"""Trees, and fires that each burn one tree for one step.

A tree does not change but when it is lit, so only fires have anything to do: they are made and
deleted in kernels, and a step takes as long as there are fires.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import u32


class Tree(oa.Object):
    """Its ``neighbours`` are to the left, above, to the right and below; None where no tree is."""

    neighbours: oa.inline[Tree, 4]
    was_lit: u32

    def light(self) -> None:
        """Begin to burn, if it never has: of several fires that light it one makes the new fire."""
        if oa.atomic_exch(self, "was_lit", u32(1)) == 0:
            oa.new(Fire, tree=self)


class Fire(oa.Object):
    tree: Tree

    def spread(self) -> None:
        """Light the trees to the four sides, and go out."""
        for side in range(4):
            neighbour = self.tree.neighbours[side]
            if neighbour is not None:
                neighbour.light()
        oa.delete(self)
