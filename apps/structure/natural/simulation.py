"""The natural flavour's objects, made from a structure, and its step."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa import i32

from ...common.launches import Launches
from ...common.references import link
from ..parameters import SUBSTEPS
from ..search import search
from ..snapshot import Snapshot
from ..state import State, StrictIndexOf
from ..structure import ANCHOR, FREE, PULLED, Ints, Structure
from .classes import (
    BROKEN,
    CUT_OFF,
    REPAIRED,
    AnchorNode,
    FreeNode,
    Node,
    PulledNode,
    Repair,
    Spring,
)
from .kernels import begin_levels

#: By so many levels more is visited at once where the last search has gone deeper.
ROUNDS = 4
_CLASSES = {FREE: FreeNode, PULLED: PulledNode, ANCHOR: AnchorNode}
_COUNTED = {"broken": BROKEN, "cut_off": CUT_OFF, "repaired": REPAIRED}


class NaturalSimulation:
    """Nodes of three classes and the springs between them. What has come off is deleted at the end
    of each step; with ``repair``, a broken spring is replaced by two with a new node between them,
    if its ends are still there."""

    def __init__(self, heap: Any, structure: Structure, launches: Launches, repair: bool) -> None:
        self._heap, self._launch, self._repairs = heap, launches, repair
        #: ``_rounds``: so many levels are visited without a look whether there is another one.
        self.step = self._search_launches = self._rounds = 0
        nodes = _make_nodes(heap, structure)
        springs = _make_springs(heap, structure, nodes)
        link(heap, nodes.springs, springs, structure.node_springs())
        self._deepest = heap.zeros(1, i32)
        self._counts = heap.zeros(3, i32)

    def advance(self) -> None:
        rounds = self._rounds
        self._launch.repeat(("move", rounds), lambda: self._move(rounds))
        levels = search(self._visit, self._deepest, rounds)
        self._search_launches += levels
        self._rounds = max(rounds, -(-levels // ROUNDS) * ROUNDS)
        self._launch.repeat("clear up", self._clear_up)
        self.step += 1

    def _move(self, rounds: int) -> None:
        """Pull, and search the first ``rounds`` levels."""
        for_all = self._launch.for_all
        for_all(PulledNode, "pull")
        for _ in range(SUBSTEPS):
            for_all(Spring, "stretch")
            for_all(FreeNode, "accelerate")
            for_all(FreeNode, "move")
        for_all(Node, "begin_search")
        if rounds:
            self._launch(begin_levels, 1, self._deepest)
        for level in range(rounds):
            self._visit(level)

    def _visit(self, level: int) -> None:
        self._launch.for_all(Node, "search", level, self._deepest)

    def _clear_up(self) -> None:
        """Delete what has come off, and repair what can be."""
        for_all = self._launch.for_all
        for_all(Spring, "cut_off")
        for_all(Spring, "clear_up", self._counts, self._repairs)
        if self._repairs:
            for_all(Repair, "mend", self._counts)
        for_all(Node, "leave")

    def _counted(self) -> dict[str, int]:
        counts = self._counts.numpy().tolist()
        return {name: counts[place] for name, place in _COUNTED.items()}

    def _objects(self) -> tuple[Any, Ints, Any]:
        """All live nodes, their kinds, and all live springs."""
        nodes = [self._heap.all(python_class) for python_class in _CLASSES.values()]
        kind = np.repeat(np.array([*_CLASSES], np.int32), [len(each) for each in nodes])
        return self._heap.concat(*nodes), kind, self._heap.concat(self._heap.all(Spring))

    def counts(self) -> dict[str, int]:
        return self.snapshot().counts() | {
            "repaired": self._counted()["repaired"],
            "search_launches": self._search_launches,
        }

    def snapshot(self) -> Snapshot:
        nodes, kind, springs = self._objects()
        counted = self._counted()
        node_index = StrictIndexOf(nodes, "live node")
        return Snapshot(
            step=self.step,
            kind=kind,
            x=np.array(nodes.x),
            y=np.array(nodes.y),
            first=node_index(springs.first.numpy()),
            second=node_index(springs.second.numpy()),
            initial_length=np.array(springs.initial_length),
            force=np.array(springs.force),
            broken=counted["broken"],
            cut_off=counted["cut_off"],
        )

    def state(self) -> State:
        nodes, kind, springs = self._objects()
        node_index = StrictIndexOf(nodes, "live node")
        spring_index = StrictIndexOf(springs, "live spring")
        return State(
            origin=np.array(nodes.origin),
            kind=kind,
            x=np.array(nodes.x),
            y=np.array(nodes.y),
            num_springs=np.array(nodes.num_springs),
            springs=spring_index(np.array(nodes.springs)),
            first=node_index(springs.first.numpy()),
            second=node_index(springs.second.numpy()),
            force=np.array(springs.force),
            max_force=np.array(springs.max_force),
        )


def _make_nodes(heap: Any, structure: Structure) -> Any:
    """All nodes in the order of the structure."""
    nodes = heap.zeros(structure.nodes, Node)
    for kind, python_class in _CLASSES.items():
        chosen = structure.kind == kind
        made = heap.new(
            python_class, int(chosen.sum()), x=structure.x[chosen], y=structure.y[chosen]
        )
        if kind != ANCHOR:
            made.velocity_x = structure.velocity_x[chosen]
            made.velocity_y = structure.velocity_y[chosen]
        if kind == FREE:
            made.mass = structure.mass[chosen]
        nodes[chosen] = made
    nodes.num_springs = structure.degrees()
    nodes.origin = np.arange(structure.nodes, dtype=np.int32)
    return nodes


def _make_springs(heap: Any, structure: Structure, nodes: Any) -> Any:
    """All springs in the order of the structure; they lie in that of their nodes."""
    slots, order = structure.spring_slots, structure.springs_by_node()
    springs = heap.zeros(structure.springs, Spring)
    springs[order] = heap.new(
        Spring,
        structure.springs,
        first=nodes[structure.first[order]],
        second=nodes[structure.second[order]],
        first_slot=slots[order, 0],
        second_slot=slots[order, 1],
        factor=structure.factor[order],
        initial_length=structure.initial_length[order],
        max_force=structure.max_force[order],
    )
    return springs
