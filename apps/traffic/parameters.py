"""The rules' numbers: those of the paper's artifact, and those of the vehicles that we add."""

from __future__ import annotations

from sharedoa import f32

CREATION_PROBABILITY = f32(0.02)
SLOW_DOWN_PROBABILITY = f32(0.2)
#: A car's own top speed is drawn from SLOWEST to SLOWEST + TOP_SPEEDS - 1 cells a step.
SLOWEST, TOP_SPEEDS = 5, 5
FASTEST = SLOWEST + TOP_SPEEDS - 1
#: The most cells that a vehicle plans in one step.
PATH_CELLS = 10

TRUCK_TOP_SPEED = 6
TRUCK_SLOW_DOWN_PROBABILITY = f32(0.3)
BUS_TOP_SPEED = 7
#: Steps that a bus waits at a stop.
DWELL_TIME = 8
#: A road has a bus stop after every so many cells.
BUS_STOP_SPACING = 60
