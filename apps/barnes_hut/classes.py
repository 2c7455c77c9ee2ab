"""Bodies in a square, and the quadtree over them, which is made and ended in kernels.

No thread waits for another one: what several threads want is noted atomically in one launch, and
decided in the next, so no order of threads matters.
"""

from __future__ import annotations

import math

import sharedoa as oa
from sharedoa import f64, i32, u32

from ..common.gravity import DAMPING, GRAVITY
from ..common.plane import Vector

TIME_STEP = 0.0075
#: A node whose centre of mass is at most this far away is opened.
NEAR = 0.25
#: The square reaches from -1 to 1; bodies are held within this.
BORDER = 0.99999999
#: So often quadrants are halves of the ones above. Bodies that are still together then are told
#: apart by their ids.
HALVINGS = 24


@oa.func
def held(x: f64) -> f64:
    """A coordinate inside of the border."""
    return min(max(x, -BORDER), BORDER)


@oa.func
def turned(velocity: f64, x: f64) -> f64:
    """The velocity of what would be at ``x``: it turns around at the border."""
    if abs(x) > BORDER:
        return -velocity
    return velocity


class Space(oa.Object):
    """``is_crowded``: there are bodies without a place in the tree."""

    root: Node
    is_crowded: bool

    def relax(self) -> None:
        self.is_crowded = False


class TreeNode(oa.Object):
    """What a quadrant of a node (``parent``; the root has none) has in it. ``bodies`` says how many
    bodies, ``mass`` and ``pos`` their mass and where its centre is. ``next`` is what a walk through
    the tree comes to after all of them."""

    parent: Node
    quadrant: i32
    bodies: i32
    mass: f64
    pos: Vector
    next: TreeNode | None

    # What a walk looks at first in place of this; None where this stands for all in it.
    def opened_by(self, body: Body) -> TreeNode | None: ...

    def attract(self, body: Body) -> Vector:
        """The acceleration of a body, without the factor ``GRAVITY``. Nothing attracts what is
        where it is, itself for example."""
        offset = self.pos - body.pos
        square = offset.square()
        if square == 0.0:
            return Vector(0.0, 0.0)
        return offset * (self.mass / ((square + DAMPING) * math.sqrt(square)))

    def tie(self) -> None:
        """Find out what comes next: in the same node, or else in those around it."""
        parent = self.parent
        found = parent.first_from(self.quadrant + 1)
        while found is None and parent.level > 0:
            found = parent.parent.first_from(parent.quadrant + 1)
            parent = parent.parent
        self.next = found


class Body(TreeNode):
    """``id`` is from 1 on. A body that ``is_waiting`` for a place has the node as ``parent`` to
    which it has come."""

    id: u32
    velocity: Vector
    acceleration: Vector
    is_waiting: bool

    def opened_by(self, body: Body) -> TreeNode | None:
        return None

    def feel(self, space: Space) -> None:
        """Walk through the tree."""
        sum = Vector(0.0, 0.0)
        at: TreeNode | None = space.root
        while at is not None:
            first = at.opened_by(self)
            if first is not None:
                at = first
            else:
                sum += at.attract(self)
                at = at.next
        self.acceleration = sum * GRAVITY

    def move(self, space: Space) -> None:
        """Move, and leave the tree where that leads out of the quadrant."""
        velocity = self.velocity + self.acceleration * TIME_STEP
        pos = self.pos + velocity * TIME_STEP
        self.velocity = Vector(turned(velocity.x, pos.x), turned(velocity.y, pos.y))
        self.pos = Vector(held(pos.x), held(pos.y))
        parent = self.parent
        if not parent.contains(self.pos) or parent.quadrant_of(self) != self.quadrant:
            parent.children[self.quadrant] = None
            self.parent = space.root
            self.is_waiting = True
            space.is_crowded = True

    def seek(self) -> None:
        """Go down to a quadrant that is no node, and ask for it."""
        if not self.is_waiting:
            return
        node = self.parent
        quadrant = node.quadrant_of(self)
        below = node.children[quadrant]
        while isinstance(below, Node):
            node = below
            quadrant = node.quadrant_of(self)
            below = node.children[quadrant]
        self.parent, self.quadrant = node, quadrant
        oa.atomic_add(node.asked, quadrant, 1)
        oa.atomic_max(node.asker, quadrant, self.id)

    def settle(self, space: Space) -> None:
        """Take the quadrant, if it is empty and no other body asks for it. Else the highest id of
        those that do makes a node of it, in which they and who was there have places."""
        if not self.is_waiting:
            return
        node, quadrant = self.parent, self.quadrant
        if node.asker[quadrant] != self.id:
            space.is_crowded = True
            return
        other = node.children[quadrant]
        if other is None and node.asked[quadrant] == 1:
            node.children[quadrant] = self
            self.is_waiting = False
            return
        space.is_crowded = True
        made = node.divided(quadrant)
        if isinstance(other, Body):
            made.take_in(other)
        node.children[quadrant] = made

    def rise(self) -> None:
        """Take the place of nodes that have nothing else in them."""
        node = self.parent
        while node.bodies == 1 and node.level > 0:
            self.quadrant = node.quadrant
            node = node.parent
        if node is not self.parent:
            self.parent = node
            node.children[self.quadrant] = self


class Node(TreeNode):
    """A square without its left and lower side. ``asked`` says how many bodies ask for a quadrant,
    ``asker`` which is the highest id of them. ``first`` is the first child."""

    level: i32
    low: Vector
    high: Vector
    children: oa.inline[TreeNode, 4]
    first: TreeNode | None
    asked: oa.inline[i32, 4]
    asker: oa.inline[u32, 4]

    def contains(self, pos: Vector) -> bool:
        return self.low.x < pos.x <= self.high.x and self.low.y < pos.y <= self.high.y

    def quadrant_of(self, body: Body) -> i32:
        """0 to 3: x changes first, and low comes before high."""
        if self.level >= HALVINGS:
            return i32(body.id >> u32(2 * (self.level - HALVINGS)) & 3)
        middle = (self.low + self.high) * 0.5
        return i32(body.pos.x > middle.x) + 2 * i32(body.pos.y > middle.y)

    def divided(self, quadrant: i32) -> Node:
        """A node for one of the quadrants."""
        low, high = self.low, self.high
        if self.level < HALVINGS:
            half = (high - low) * 0.5
            low += Vector(half.x * f64(quadrant % 2), half.y * f64(quadrant // 2))
            high = low + half
        return oa.new(
            Node, parent=self, quadrant=quadrant, level=self.level + 1, low=low, high=high
        )

    def take_in(self, body: Body) -> None:
        body.parent, body.quadrant = self, self.quadrant_of(body)
        self.children[body.quadrant] = body

    def opened_by(self, body: Body) -> TreeNode | None:
        if (self.pos - body.pos).square() <= NEAR * NEAR or self.contains(body.pos):
            return self.first
        return None

    def first_from(self, quadrant: i32) -> TreeNode | None:
        """The child in one of the quadrants from this one on."""
        for q in range(quadrant, 4):
            if self.children[q] is not None:
                return self.children[q]
        return None

    def tie(self) -> None:
        self.first = self.first_from(0)
        if self.level > 0:
            super().tie()

    def sum_up(self, level: i32) -> None:
        """At one level: weigh what the children have in them, and forget who asked for places."""
        if self.level != level:
            return
        parts, bodies, mass = 0, 0, 0.0
        pos = moment = Vector(0.0, 0.0)
        for q in range(4):
            self.asked[q] = 0
            self.asker[q] = 0
            child = self.children[q]
            if child is not None and child.bodies > 0:
                parts += 1
                bodies += child.bodies
                mass += child.mass
                pos = child.pos
                moment += child.pos * child.mass
        self.bodies, self.mass = bodies, mass
        # The centre of a single part is taken as it is, as a quotient would be rounded.
        self.pos = moment / mass if parts > 1 else pos

    def end(self) -> None:
        """Go, if there are not two bodies to tell apart; forget nodes that are empty."""
        if self.bodies < 2 and self.level > 0:
            oa.delete(self)
            return
        for q in range(4):
            child = self.children[q]
            if child is not None and child.bodies == 0:
                self.children[q] = None
