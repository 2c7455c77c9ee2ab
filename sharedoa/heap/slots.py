"""What a launch that makes objects needs beside its code: free slots, listed before it, and a look
afterwards at which of them have objects now. The host does that or the device (``slots_on_host``,
``slots_on_device``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from dispatch.dataclass import dataclass

from ..model.classes import ClassType
from .births import Ended, Words
from .extents import Extent
from .regions import Loan


@dataclass(frozen=True)
class Listed:
    """The slots of ``loans``, in their order, are to lie at ``address``, each as a u32; the table
    has how many that are up to each loan at the addresses ``stops``."""

    address: int
    loans: Sequence[Loan]
    stops: Sequence[int]

    @property
    def room(self) -> int:
        return sum(loan.count for loan in self.loans)


@dataclass(frozen=True)
class Table:
    """A birth table of ``size`` bytes (``dispatch.births``): it begins with ``head``; ``zeros`` are
    addresses and bytes, and all that no list fills may be zero."""

    size: int
    head: np.ndarray[Any, np.dtype[np.uint8]]
    lists: Sequence[Listed]
    zeros: Sequence[tuple[int, int]]


class Slots(Protocol):
    """Of one heap, whose books' lock the caller holds."""

    report_bytes: int
    """Of what ``settle`` writes for each region."""

    def lend(self, cls: ClassType, count: int) -> list[Loan]:
        """The first ``count`` free slots of the class, or all. Nobody else has them
        until they are given back or settled."""
        ...

    def prepare(self, ended: Iterable[ClassType]) -> None:
        """A launch may end objects of exactly these classes. Raises NoRoom."""
        ...

    def publish(self, extent: Extent, table: Table) -> None:
        """Write a table to the extent, and to lent slots the headers that objects have."""
        ...

    def read(self, extent: Extent, place: int, count: int) -> Words:
        """So many words of 64 bits from this place of the table on, after the launch."""
        ...

    def settle(
        self,
        loans: Mapping[ClassType, Sequence[Loan]],
        ended: Iterable[ClassType],
        reports: int,
    ) -> Ended:
        """After the launch: the objects that were made in ``loans`` live, the other slots are free
        again. ``ended`` are exactly the classes of which it may have ended objects; ``reports`` is
        the address of ``report_bytes`` for each region of these classes and of those that were
        made, which were zero."""
        ...
