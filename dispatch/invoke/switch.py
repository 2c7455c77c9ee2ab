"""``switch``: branch on the type index to direct calls, which the compiler then inlines.

Concord's way ("Judging a Type by Its Pointer", section 8). No load; about log2 of the number of
different methods in compares and branches. Classes that run the same method share a case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..emitter import Candidate, Emitter
from ..identify import Identification


def emit_call(
    emitter: Emitter,
    identification: Identification,
    reference: Any,
    slot: int,
    candidates: Sequence[Candidate],
) -> Any:
    type_index = identification.emit_type_index(emitter, reference, candidates)
    return emitter.switch(type_index, group_by_method(candidates))


def group_by_method(candidates: Sequence[Candidate]) -> list[tuple[list[int], str]]:
    """(type indices, symbol) for every different function, in the order of the candidates."""
    groups: dict[str, list[int]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.symbol, []).append(candidate.type_index)
    return [(type_indices, symbol) for symbol, type_indices in groups.items()]
