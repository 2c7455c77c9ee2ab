"""What distinguishes one of the graph programs from the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..common.graph import Graph
from ..common.launches import Launches

#: A value for each vertex, i32 or f32.
Values = np.ndarray[Any, Any]


class Reference(Protocol):
    """The same program on plain arrays, which judges the values that the objects have."""

    #: What is verified.
    name: str

    def check(self, sweeps: int, values: Values) -> None:
        """Verify the values after so many sweeps. Raises CheckFailed."""
        ...

    def check_result(self, values: Values) -> None:
        """Verify the values at the end. Raises CheckFailed."""
        ...


@dataclass(frozen=True)
class Bar:
    """A column of the picture."""

    label: str
    height: int


class Running(Protocol):
    """The objects of a program in their heap."""

    #: Sweeps that have been launched.
    sweeps: int

    def advance(self) -> None:
        """Launch one sweep."""
        ...

    def is_settled(self) -> bool:
        """Whether no number of further sweeps would change any value; true as well of programs
        that every sweep improves."""
        ...

    def values(self) -> Values:
        """The value of every vertex now."""
        ...


@dataclass(frozen=True, kw_only=True)
class Workload(ABC):
    """How objects are made of a graph, and what is made of their values."""

    title: str
    reference: Callable[[Graph], Reference]
    counts: Callable[[Values], dict[str, int]]
    #: What the picture shows, and its columns.
    bars_title: str
    bars: Callable[[Values], list[Bar]]
    #: Whether only who is whose neighbour counts: not directions, loops and repeated edges.
    is_simple: bool = False

    @abstractmethod
    def objects(self, heap: Any, graph: Graph, launches: Launches) -> Running: ...
