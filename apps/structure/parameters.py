"""The numbers of the paper's artifact."""

from __future__ import annotations

from sharedoa import f32

#: Springs that a node has room for.
SLOTS = 5
#: Of one step, in which the springs pull SUBSTEPS times. Pulled nodes move once, by one DT.
SUBSTEPS = 40
DT = f32(0.2)
DAMPING = f32(0.0)
MASS = f32(500.0)
#: A spring breaks under more than this.
MAX_FORCE = f32(0.5)
#: Distance of nodes that the search from the anchors has not reached.
UNREACHED = 32768
