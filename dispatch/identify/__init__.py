"""Identification strategies: how the class of an object is told.

One file a strategy, found by its name: put a module with the attributes of ``Identification`` in
this folder and ``NAME+vtable`` and ``NAME+switch`` are modes.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from ..emitter import Candidate, Emitter
from ..header_format import HeaderFormat


class Identification(Protocol):
    """What each module of this folder provides."""

    SUMMARY: str
    """A few words for reports: where the class comes from."""

    HEADERS: dict[str, HeaderFormat]
    """The header that the strategy reads, by placement ("scattered", "by_type"); a placement that
    is missing does not work with it."""

    TAGGED_REFERENCES: bool
    """Whether references carry the type index in their upper bits."""

    READS_OBJECT: bool
    """Whether telling the class takes a load from the object."""

    def emit_type_index(
        self, emitter: Emitter, reference: Any, candidates: Sequence[Candidate]
    ) -> Any:
        """32 bits: the type index of a reference that is not null."""
        ...

    def emit_function(
        self, emitter: Emitter, reference: Any, slot: int, candidates: Sequence[Candidate]
    ) -> Any:
        """The address of the function in ``slot`` of the object's class."""
        ...

    def remark(self, candidates: Sequence[Candidate]) -> str:
        """What a report must add for a call that may meet these classes, or nothing."""
        ...


IDENTIFICATIONS: dict[str, Identification] = {
    name: cast(Identification, import_module(f"{__name__}.{name}"))
    for _, name, _ in pkgutil.iter_modules(__path__)
}
