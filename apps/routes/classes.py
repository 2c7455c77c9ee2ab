"""Nodes and the kinds of edges between them. Times are whole ticks, so that results are exact."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32, i64

from .parameters import NEVER, WALKING_FACTOR


class Node(oa.Object):
    """A place that routes pass or end at."""

    #: The earliest arrival that is known.
    time: i64

    # Whether a route may go on from here.
    def lets_through(self) -> bool: ...


class Junction(Node):
    def lets_through(self) -> bool:
        return True


class Zone(Node):
    """Where people live or work: journeys begin and end here, none passes."""

    def lets_through(self) -> bool:
        return self.time == 0


class Edge(oa.Object):
    """A way from one node to another."""

    source: Node
    target: Node

    def travel_time(self) -> i32: ...

    def arrival(self) -> i64:
        """When those who take the first chance arrive at the target."""
        departure = self.source.time
        if departure == NEVER or not self.source.lets_through():
            return NEVER
        return departure + self.travel_time()

    def relax(self) -> bool:
        """Tell the target when it can be reached this way. True when that is news."""
        arrival = self.arrival()
        if arrival >= self.target.time:
            return False
        oa.atomic_min(self.target, "time", arrival)
        return True

    def is_on_fastest_route(self) -> bool:
        return self.target.time != NEVER and self.target.time == self.arrival()


class Road(Edge):
    """Slower the more traffic there is: the cost function of the TNTP format."""

    free_flow_time: i32
    #: Vehicles relative to the road's capacity, and how much they slow it down.
    load: f32
    b: f32

    def travel_time(self) -> i32:
        square = self.load * self.load
        return i32(f32(self.free_flow_time) * (1.0 + self.b * (square * square)))


class Ferry(Edge):
    """Leaves every ``headway`` ticks; people wait half of that."""

    headway: i32
    crossing: i32

    def travel_time(self) -> i32:
        return self.headway // 2 + self.crossing


class Walk(Edge):
    """As long as a car would need for it on a free road, times a factor."""

    driving_time: i32

    def travel_time(self) -> i32:
        return self.driving_time * WALKING_FACTOR
