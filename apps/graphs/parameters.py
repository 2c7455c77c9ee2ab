"""PageRank's numbers: a vertex has ``JUMP`` and ``DAMPING`` times what comes in."""

from __future__ import annotations

from sharedoa import f32

JUMP = f32(0.15)
DAMPING = f32(0.85)
