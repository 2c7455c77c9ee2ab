"""What both flavours of the structure offer to the code that runs, checks and draws them."""

from __future__ import annotations

from typing import Protocol

from .snapshot import Snapshot
from .state import State


class Simulation(Protocol):
    """A structure in one heap."""

    #: Steps whose kernels have been launched.
    step: int

    def advance(self) -> None:
        """Launch the kernels of one step."""
        ...

    def counts(self) -> dict[str, int]:
        """Exact results so far: springs that broke or were cut off, springs and nodes left."""
        ...

    def snapshot(self) -> Snapshot:
        """What a picture shows."""
        ...

    def state(self) -> State:
        """What the invariants speak of."""
        ...
