"""What distinguishes one of the graph programs from the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..common.graph import Graph

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


@dataclass(frozen=True)
class Workload:
    """Classes, their initial values, and kernels with what is made of their results."""

    title: str
    vertex_class: type
    edge_class: type
    vertex_value: int | float
    edge_value: int | float
    #: Launched in this order with the vertices and the number of the sweep, for every vertex.
    sweep: tuple[Any, ...]
    #: Launched with the vertices and an array for their values.
    copy_back: Any
    #: Launched with the vertices and a counter of those that the next sweep may change, for results
    #: that some number of sweeps makes final; None for those that every sweep improves.
    count_unsettled: Any | None
    reference: Callable[[Graph], Reference]
    counts: Callable[[Values], dict[str, int]]
    #: What the picture shows, and its columns.
    bars_title: str
    bars: Callable[[Values], list[Bar]]
