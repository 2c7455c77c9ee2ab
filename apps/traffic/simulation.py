"""What both flavours of traffic offer to the code that runs, checks and draws them."""

from __future__ import annotations

from typing import Protocol

from .snapshot import Snapshot
from .state import State


class Simulation(Protocol):
    """A network with vehicles in one heap."""

    #: Iterations whose kernels have been launched.
    iteration: int

    def advance(self) -> None:
        """Launch the kernels of one iteration."""
        ...

    def counts(self) -> dict[str, int]:
        """Exact results so far: active, created and removed vehicles, the sum of velocities."""
        ...

    def snapshot(self) -> Snapshot:
        """What a picture shows."""
        ...

    def state(self) -> State:
        """What the invariants speak of."""
        ...
