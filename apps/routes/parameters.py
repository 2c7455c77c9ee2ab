"""Numbers of the kinds of edges."""

from __future__ import annotations

from sharedoa import i64

#: The time of a node that has not been reached.
NEVER = i64(2**62)

#: A road of median free-flow time takes so many ticks.
MEDIAN_TICKS = 1000

#: How much longer walking takes than driving.
WALKING_FACTOR = 8

#: The time of a ferry relative to that of a car on a median road straight across.
FERRY_FACTOR = 0.6
#: A network of N nodes has N // NODES_PER_FERRY lines, each in both directions, that leave every
#: HEADWAYS times MEDIAN_TICKS. They cross so much of the map's longer side.
NODES_PER_FERRY = 400
HEADWAYS = (1, 2, 4)
SHORTEST_CROSSING, LONGEST_CROSSING = 0.05, 0.3

#: Loads are drawn from 0 to HIGHEST_LOAD; where the file has no b it is that of its manual.
HIGHEST_LOAD = 1.2
DEFAULT_B = 0.15
