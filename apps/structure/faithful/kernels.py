"""The kernels of one step, under the names that they have in the artifact.

The artifact's ``kernel_Node_move`` also moves the nodes, while others read where they are, so that
its positions depend on the order of threads. Here that is a kernel of its own.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i8, i32

from ..parameters import SLOTS, UNREACHED
from ..structure import ANCHOR, FREE, PULLED
from .classes import DEAD, NodeBase, SpringBase


@oa.kernel
def kernel_AnchorPullNode_pull(nodes: oa.Array[NodeBase]) -> None:
    node = nodes[oa.grid(1)]
    if node.type == PULLED:
        node.pull()


@oa.kernel
def kernel_Spring_compute_force(springs: oa.Array[SpringBase], broken: oa.Array[i8]) -> None:
    i = oa.grid(1)
    spring = springs[i]
    if spring.get_is_active():
        distance = spring.get_p1().distance_to(spring.get_p2())
        spring.update_force(max(f32(0), distance - spring.get_init_len()))
        if spring.is_max_force():
            spring.get_p1().remove_spring(spring)
            spring.get_p2().remove_spring(spring)
            spring.deactivate()
            broken[i] = 1


@oa.kernel
def kernel_Node_move(nodes: oa.Array[NodeBase]) -> None:
    node = nodes[oa.grid(1)]
    if node.type == FREE:
        force_x, force_y = f32(0), f32(0)
        for slot in range(SLOTS):
            spring = node.spring(slot)
            if spring is not None:
                other = spring.get_p1()
                if other is node:
                    other = spring.get_p2()
                distance = node.distance_to(other)
                force_x += other.unit_x(node, distance) * spring.get_force()
                force_y += other.unit_y(node, distance) * spring.get_force()
        node.update_vel_x(force_x)
        node.update_vel_y(force_y)


@oa.kernel
def kernel_Node_update_position(nodes: oa.Array[NodeBase]) -> None:
    node = nodes[oa.grid(1)]
    if node.type == FREE:
        node.update_pos_x(f32(0))
        node.update_pos_y(f32(0))


@oa.kernel
def kernel_NodeBase_initialize_bfs(nodes: oa.Array[NodeBase]) -> None:
    node = nodes[oa.grid(1)]
    if node.type != DEAD:
        node.set_distance(f32(0) if node.type == ANCHOR else f32(UNREACHED))


@oa.kernel
def kernel_NodeBase_bfs_visit(
    nodes: oa.Array[NodeBase], level: i32, deepest: oa.Array[i32]
) -> None:
    """``deepest[0]`` becomes ``level`` if any node is as far from the anchors: the artifact's flag
    that the search goes on, which the host need not clear."""
    node = nodes[oa.grid(1)]
    if node.type != DEAD and node.get_distance() == f32(level):
        deepest[0] = level
        for slot in range(SLOTS):
            spring = node.spring(slot)
            if spring is not None:
                other = spring.get_p1()
                if other is node:
                    other = spring.get_p2()
                if other.get_distance() == f32(UNREACHED):
                    other.set_distance(f32(level + 1))


@oa.kernel
def kernel_NodeBase_bfs_set_delete_flags(nodes: oa.Array[NodeBase]) -> None:
    node = nodes[oa.grid(1)]
    if node.type != DEAD and node.get_distance() == f32(UNREACHED):
        for slot in range(SLOTS):
            spring = node.spring(slot)
            if spring is not None:
                spring.delete_flag = True


@oa.kernel
def kernel_Spring_bfs_delete(springs: oa.Array[SpringBase], cut_off: oa.Array[i8]) -> None:
    i = oa.grid(1)
    spring = springs[i]
    if spring.get_is_active() and spring.delete_flag:
        spring.get_p1().remove_spring(spring)
        spring.get_p2().remove_spring(spring)
        spring.deactivate()
        cut_off[i] = 1
