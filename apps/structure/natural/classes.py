"""Nodes that are held, pulled or free, and the springs between them."""

from __future__ import annotations

import numpy as np

import sharedoa as oa
from sharedoa import f32, i8, i32

from ..parameters import DAMPING, DT, MASS, SLOTS, UNREACHED

#: What became of a spring in this step: torn apart by force, or cut off from all anchors.
INTACT, BROKEN, CUT_OFF = 0, 1, 2


class Node(oa.Object, unordered=("distance",)):
    """A point with up to five springs."""

    springs: oa.inline[Spring, SLOTS]
    num_springs: i32
    #: In springs, from the nearest anchor.
    distance: i32
    x: f32
    y: f32
    #: It has lost its last spring. A node that never had one is not loose.
    loose: bool

    # Whether the structure hangs on this node.
    def is_anchor(self) -> bool: ...

    def pull(self) -> None:
        """What moves a node from outside, once a step."""

    def accelerate(self) -> None:
        """Take in the forces of the springs."""

    def move(self) -> None:
        """Go where the velocity leads."""

    def distance_to(self, other: Node) -> f32:
        dx = self.x - other.x
        dy = self.y - other.y
        return np.sqrt(dx * dx + dy * dy)

    def attach(self, slot: i32, spring: Spring) -> None:
        assert self.springs[slot] is None, "two springs take one slot of a node"
        self.springs[slot] = spring
        oa.atomic_add(self, "num_springs", 1)

    def detach(self, slot: i32) -> None:
        self.springs[slot] = None
        if oa.atomic_sub(self, "num_springs", 1) == 1:
            self.loose = True

    def begin_search(self) -> None:
        self.distance = 0 if self.is_anchor() and not self.loose else UNREACHED

    def reach_neighbours(self) -> None:
        """Tell every neighbour that nobody has reached how far it is."""
        for slot in range(SLOTS):
            spring = self.springs[slot]
            if spring is not None:
                other = spring.other_end(self)
                if other.distance == UNREACHED:
                    other.distance = self.distance + 1


class AnchorNode(Node):
    """Held in its place."""

    def is_anchor(self) -> bool:
        return True


class PulledNode(Node):
    """Moves at its own velocity, whatever the springs do."""

    velocity_x: f32
    velocity_y: f32

    def is_anchor(self) -> bool:
        return False

    def pull(self) -> None:
        self.x += self.velocity_x * DT
        self.y += self.velocity_y * DT


class FreeNode(Node):
    """Moved by its springs."""

    velocity_x: f32
    velocity_y: f32
    mass: f32

    def is_anchor(self) -> bool:
        return False

    def accelerate(self) -> None:
        force_x, force_y = f32(0), f32(0)
        for slot in range(SLOTS):
            spring = self.springs[slot]
            if spring is not None:
                other = spring.other_end(self)
                distance = self.distance_to(other)
                if distance > 0:
                    force_x += (other.x - self.x) / distance * spring.force
                    force_y += (other.y - self.y) / distance * spring.force
        self.velocity_x = (self.velocity_x + force_x * DT / self.mass) * (1 - DAMPING)
        self.velocity_y = (self.velocity_y + force_y * DT / self.mass) * (1 - DAMPING)

    def move(self) -> None:
        self.x += self.velocity_x * DT
        self.y += self.velocity_y * DT


class Spring(oa.Object):
    """Pulls its two ends together when they are further apart than at first, and breaks under too
    much force."""

    first: Node
    second: Node
    #: Where the ends keep this spring.
    first_slot: i32
    second_slot: i32
    factor: f32
    initial_length: f32
    force: f32
    max_force: f32
    fate: i8

    def other_end(self, node: Node) -> Node:
        return self.second if self.first is node else self.first

    def stretch(self) -> None:
        """Find the force at the present length, and break under too much."""
        if self.fate != INTACT:
            return
        extension = self.first.distance_to(self.second) - self.initial_length
        self.force = self.factor * max(f32(0), extension)
        if self.force > self.max_force:
            self.come_off(BROKEN)

    def come_off(self, fate: i8) -> None:
        self.first.detach(self.first_slot)
        self.second.detach(self.second_slot)
        self.fate = fate

    def can_be_repaired(self) -> bool:
        """Whether it broke between two nodes that still belong to the structure."""
        return self.fate == BROKEN and not self.first.loose and not self.second.loose

    def join(
        self, first: Node, first_slot: i32, second: Node, second_slot: i32, factor: f32
    ) -> None:
        """Put a new spring between two nodes where they are, without force."""
        self.first, self.first_slot = first, first_slot
        self.second, self.second_slot = second, second_slot
        self.factor = factor
        self.initial_length = first.distance_to(second)
        first.attach(first_slot, self)
        second.attach(second_slot, self)

    def repair(self, middle: FreeNode, first_half: Spring, second_half: Spring) -> None:
        """Replace this broken spring by two, with a new node between them. Together these are as
        stiff as it was."""
        middle.x = (self.first.x + self.second.x) * f32(0.5)
        middle.y = (self.first.y + self.second.y) * f32(0.5)
        middle.mass = MASS
        first_half.max_force = self.max_force
        second_half.max_force = self.max_force
        first_half.join(self.first, self.first_slot, middle, 0, self.factor * 2)
        second_half.join(middle, 1, self.second, self.second_slot, self.factor * 2)
