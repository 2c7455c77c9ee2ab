"""Invocation strategies: how a call gets from the object's class to the method.

One file a strategy, found by its name, like identifications.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from ..emitter import Candidate, Emitter
from ..identify import Identification


class Invocation(Protocol):
    """What each module of this folder provides."""

    def emit_call(
        self,
        emitter: Emitter,
        identification: Identification,
        reference: Any,
        slot: int,
        candidates: Sequence[Candidate],
    ) -> Any:
        """The result of calling ``slot`` of the object that ``reference`` names."""
        ...


INVOCATIONS: dict[str, Invocation] = {
    name: cast(Invocation, import_module(f"{__name__}.{name}"))
    for _, name, _ in pkgutil.iter_modules(__path__)
}
