"""The faithful flavour's objects, made from a structure, and its step."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa import i8, i32

from ...common.launches import Launches
from ...common.references import link
from ..parameters import SLOTS, SUBSTEPS
from ..search import search
from ..snapshot import Snapshot
from ..state import State, StrictIndexOf
from ..structure import Structure
from . import kernels
from .classes import DEAD, Node, Spring


class FaithfulSimulation:
    """As many nodes as the structure has, and five springs for two of them, as in the artifact; the
    springs beyond those of the structure are never active."""

    def __init__(self, heap: Any, structure: Structure, launches: Launches) -> None:
        self._launch = launches
        self.step = 0
        self._search_launches = 0
        self._nodes = heap.new(
            Node,
            structure.nodes,
            num_springs=structure.degrees(),
            pos_x=structure.x,
            pos_y=structure.y,
            vel_x=structure.velocity_x,
            vel_y=structure.velocity_y,
            mass=structure.mass,
            type=structure.kind.astype(np.int8),
        )
        self._springs = heap.new(Spring, structure.nodes * SLOTS // 2)
        active = self._springs[: structure.springs]
        active.factor = structure.factor
        active.initial_length = structure.initial_length
        active.max_force = structure.max_force
        active.is_active = True
        active.p1 = self._nodes[structure.first]
        active.p2 = self._nodes[structure.second]
        link(heap, self._nodes.springs, self._springs, structure.node_springs())
        self._broken, self._cut_off = (heap.zeros(len(self._springs), i8) for _ in range(2))
        self._deepest = heap.zeros(1, i32)

    def advance(self) -> None:
        launch, nodes, springs = self._launch, self._nodes, self._springs
        launch(kernels.kernel_AnchorPullNode_pull, len(nodes), nodes)
        for _ in range(SUBSTEPS):
            launch(kernels.kernel_Spring_compute_force, len(springs), springs, self._broken)
            launch(kernels.kernel_Node_move, len(nodes), nodes)
            launch(kernels.kernel_Node_update_position, len(nodes), nodes)
        launch(kernels.kernel_NodeBase_initialize_bfs, len(nodes), nodes)
        visit, deepest = kernels.kernel_NodeBase_bfs_visit, self._deepest
        self._search_launches += search(
            lambda level: launch(visit, len(nodes), nodes, level, deepest), deepest
        )
        launch(kernels.kernel_NodeBase_bfs_set_delete_flags, len(nodes), nodes)
        launch(kernels.kernel_Spring_bfs_delete, len(springs), springs, self._cut_off)
        self.step += 1

    def counts(self) -> dict[str, int]:
        return self.snapshot().counts() | {"search_launches": self._search_launches}

    def _live(self) -> tuple[Any, Any]:
        """Nodes and springs that still take part."""
        kind = np.array(self._nodes.field("type"))
        return self._nodes[kind != DEAD], self._springs[np.array(self._springs.is_active)]

    def snapshot(self) -> Snapshot:
        nodes, springs = self._live()
        node_index = StrictIndexOf(nodes, "live node")
        return Snapshot(
            step=self.step,
            kind=np.array(nodes.field("type"), np.int32),
            x=np.array(nodes.pos_x),
            y=np.array(nodes.pos_y),
            first=node_index(springs.p1.numpy()),
            second=node_index(springs.p2.numpy()),
            initial_length=np.array(springs.initial_length),
            force=np.array(springs.force),
            broken=int(self._broken.numpy().sum()),
            cut_off=int(self._cut_off.numpy().sum()),
        )

    def state(self) -> State:
        nodes, springs = self._live()
        kind = np.array(self._nodes.field("type"))
        node_index = StrictIndexOf(nodes, "live node")
        spring_index = StrictIndexOf(springs, "active spring")
        return State(
            origin=np.flatnonzero(kind != DEAD).astype(np.int32),
            kind=np.array(nodes.field("type"), np.int32),
            x=np.array(nodes.pos_x),
            y=np.array(nodes.pos_y),
            num_springs=np.array(nodes.num_springs),
            springs=spring_index(np.array(nodes.springs)),
            first=node_index(springs.p1.numpy()),
            second=node_index(springs.p2.numpy()),
            force=np.array(springs.force),
            max_force=np.array(springs.max_force),
        )
