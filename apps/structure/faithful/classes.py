"""Nodes and springs: fields and virtual methods of the artifact, in its order.

With a header of 8 bytes a node has 80 bytes and a spring has 56.
"""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import f32, i8, i32

from ..parameters import DAMPING, DT, SLOTS

#: A node's ``type`` is one of structure.py's kinds, or this one.
DEAD = 0


class NodeBase(oa.Object, unordered=("distance",)):
    """A point mass with up to five springs."""

    springs: oa.inline[SpringBase, SLOTS]
    num_springs: i32
    distance: i32
    pos_x: f32
    pos_y: f32
    vel_x: f32
    vel_y: f32
    mass: f32
    type: i8

    def spring(self, slot: i32) -> SpringBase: ...
    def pull(self) -> None: ...
    def distance_to(self, other: NodeBase) -> f32: ...
    def remove_spring(self, spring: SpringBase) -> None: ...
    def unit_x(self, other: NodeBase, distance: f32) -> f32: ...
    def unit_y(self, other: NodeBase, distance: f32) -> f32: ...
    def update_vel_x(self, force: f32) -> None: ...
    def update_vel_y(self, force: f32) -> None: ...
    def update_pos_x(self, force: f32) -> None: ...
    def update_pos_y(self, force: f32) -> None: ...
    def set_distance(self, distance: f32) -> None: ...
    def get_distance(self) -> f32: ...


class Node(NodeBase):
    def spring(self, slot: i32) -> SpringBase:
        return self.springs[slot]

    def pull(self) -> None:
        self.pos_x += self.vel_x * DT
        self.pos_y += self.vel_y * DT

    def distance_to(self, other: NodeBase) -> f32:
        dx = self.pos_x - other.pos_x
        dy = self.pos_y - other.pos_y
        return np.sqrt(dx * dx + dy * dy)

    def remove_spring(self, spring: SpringBase) -> None:
        for slot in range(SLOTS):
            if self.springs[slot] is spring:
                self.springs[slot] = None
                if oa.atomic_sub(self, "num_springs", 1) == 1:
                    self.type = DEAD
                return
        assert False, "a node is to remove a spring that it does not have"  # noqa: B011

    # The direction from the other node to this one; none between nodes at one place, where the
    # artifact divides by zero.
    def unit_x(self, other: NodeBase, distance: f32) -> f32:
        return (self.pos_x - other.pos_x) / distance if distance > 0 else f32(0)

    def unit_y(self, other: NodeBase, distance: f32) -> f32:
        return (self.pos_y - other.pos_y) / distance if distance > 0 else f32(0)

    def update_vel_x(self, force: f32) -> None:
        self.vel_x += force * DT / self.mass
        self.vel_x *= 1 - DAMPING

    def update_vel_y(self, force: f32) -> None:
        self.vel_y += force * DT / self.mass
        self.vel_y *= 1 - DAMPING

    # The force has changed the velocity already; the artifact passes it here as well.
    def update_pos_x(self, force: f32) -> None:
        self.pos_x += self.vel_x * DT

    def update_pos_y(self, force: f32) -> None:
        self.pos_y += self.vel_y * DT

    def set_distance(self, distance: f32) -> None:
        self.distance = i32(distance)

    def get_distance(self) -> f32:
        return f32(self.distance)


class SpringBase(oa.Object):
    """Pulls its two ends together when they are further apart than at first, and breaks under too
    much force."""

    factor: f32
    initial_length: f32
    force: f32
    max_force: f32
    is_active: bool
    p1: NodeBase
    p2: NodeBase
    delete_flag: bool

    def deactivate(self) -> None: ...
    def update_force(self, displacement: f32) -> None: ...
    def get_force(self) -> f32: ...
    def get_init_len(self) -> f32: ...
    def get_is_active(self) -> bool: ...
    def set_is_active(self, active: bool) -> None: ...
    def get_p1(self) -> NodeBase: ...
    def get_p2(self) -> NodeBase: ...
    def is_max_force(self) -> bool: ...


class Spring(SpringBase):
    def deactivate(self) -> None:
        self.is_active = False

    def update_force(self, displacement: f32) -> None:
        self.force = self.factor * displacement

    def get_force(self) -> f32:
        return self.force

    def get_init_len(self) -> f32:
        return self.initial_length

    def get_is_active(self) -> bool:
        return self.is_active

    def set_is_active(self, active: bool) -> None:
        self.is_active = active

    def get_p1(self) -> NodeBase:
        return self.p1

    def get_p2(self) -> NodeBase:
        return self.p2

    def is_max_force(self) -> bool:
        return self.force > self.max_force
