"""The natural flavour's objects, made from a structure, and its step."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa import i8, i32

from ...common.launches import Launches
from ...common.references import NOTHING, link
from ..parameters import SUBSTEPS
from ..search import search
from ..snapshot import Snapshot
from ..state import State, StrictIndexOf
from ..structure import ANCHOR, FREE, PULLED, Ints, Structure
from . import kernels
from .classes import BROKEN, CUT_OFF, INTACT, AnchorNode, FreeNode, Node, PulledNode, Spring

_CLASSES = {FREE: FreeNode, PULLED: PulledNode, ANCHOR: AnchorNode}


class NaturalSimulation:
    """Nodes of three classes and the springs between them. After each step what has come off is
    deleted; with ``repair``, a broken spring is first replaced by two with a new node between them,
    if its ends are still there."""

    def __init__(self, heap: Any, structure: Structure, launches: Launches, repair: bool) -> None:
        self._heap, self._launch, self._repairs = heap, launches, repair
        self.step = 0
        self._broken = self._cut_off = self._repaired = self._search_launches = 0
        self._nodes = _make_nodes(heap, structure)
        #: Of each node: its kind, and its index in the structure.
        self._kind = structure.kind
        self._origin: Ints = np.arange(structure.nodes, dtype=np.int32)
        self._springs = _make_springs(heap, structure, self._nodes)
        link(heap, self._nodes.springs, self._springs, structure.node_springs())
        self._deepest = heap.zeros(1, i32)

    def advance(self) -> None:
        launch, nodes, springs = self._launch, self._nodes, self._springs
        launch(kernels.pull_nodes, len(nodes), nodes)
        for _ in range(SUBSTEPS):
            launch(kernels.stretch_springs, len(springs), springs)
            launch(kernels.accelerate_nodes, len(nodes), nodes)
            launch(kernels.move_nodes, len(nodes), nodes)
        launch(kernels.begin_search, len(nodes), nodes)
        self._search_launches += search(launch, kernels.search_level, nodes, self._deepest)
        launch(kernels.cut_off_springs, len(springs), springs)
        self._clear_up()
        self.step += 1

    def _clear_up(self) -> None:
        """Delete what has come off, and repair what can be."""
        heap, nodes, springs = self._heap, self._nodes, self._springs
        fates = heap.zeros(len(springs), i8)
        repairable, loose = heap.zeros(len(springs), bool), heap.zeros(len(nodes), bool)
        self._launch(kernels.report_springs, len(springs), springs, fates, repairable)
        self._launch(kernels.report_nodes, len(nodes), nodes, loose)
        fate = fates.numpy()
        if (fate == INTACT).all():
            return
        self._broken += int((fate == BROKEN).sum())
        self._cut_off += int((fate == CUT_OFF).sum())
        stays, off = loose.numpy() == 0, fate != INTACT
        self._nodes, self._springs = nodes[stays], springs[~off]
        self._kind, self._origin = self._kind[stays], self._origin[stays]
        if self._repairs:
            self._repair(springs[repairable.numpy()])
        heap.delete(springs[off])
        heap.delete(nodes[~stays])

    def _repair(self, broken: Any) -> None:
        heap, count = self._heap, len(broken)
        middles = heap.new(FreeNode, count)
        halves = heap.new(Spring, 2 * count)
        self._launch(kernels.repair_springs, count, broken, middles, halves[:count], halves[count:])
        self._nodes = heap.concat(self._nodes, middles)
        self._springs = heap.concat(self._springs, halves)
        self._kind = np.append(self._kind, np.full(count, FREE, np.int32))
        self._origin = np.append(self._origin, np.full(count, NOTHING, np.int32))
        self._repaired += count

    def counts(self) -> dict[str, int]:
        return self.snapshot().counts() | {
            "repaired": self._repaired,
            "search_launches": self._search_launches,
        }

    def snapshot(self) -> Snapshot:
        nodes, springs = self._nodes, self._springs
        node_index = StrictIndexOf(nodes, "live node")
        return Snapshot(
            step=self.step,
            kind=self._kind,
            x=np.array(nodes.x),
            y=np.array(nodes.y),
            first=node_index(springs.first.numpy()),
            second=node_index(springs.second.numpy()),
            initial_length=np.array(springs.initial_length),
            force=np.array(springs.force),
            broken=self._broken,
            cut_off=self._cut_off,
        )

    def state(self) -> State:
        nodes, springs = self._nodes, self._springs
        node_index = StrictIndexOf(nodes, "live node")
        spring_index = StrictIndexOf(springs, "live spring")
        return State(
            origin=self._origin,
            kind=self._kind,
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
    return nodes


def _make_springs(heap: Any, structure: Structure, nodes: Any) -> Any:
    slots = structure.spring_slots()
    return heap.new(
        Spring,
        structure.springs,
        first=nodes[structure.first],
        second=nodes[structure.second],
        first_slot=slots[:, 0],
        second_slot=slots[:, 1],
        factor=structure.factor,
        initial_length=structure.initial_length,
        max_force=structure.max_force,
    )
