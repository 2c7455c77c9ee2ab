"""``bits``: the upper bits of the reference are the type index (TypePointer).

"Judging a Type by Its Pointer", section 6, index form. No load: one shift gives the type index,
and every access masks the bits away. With ``vtable`` one load, from the module's row table (B),
and an indirect branch. 15 bits count 32 767 classes; references to later ones carry 0 and cost one
more branch and the walk of ``range``, at the calls only that can meet such a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..emitter import Candidate, Emitter
from ..header_format import NO_HEADER

SUMMARY = "upper bits of the reference"
HEADERS = {"by_type": NO_HEADER}
TAGGED_REFERENCES = True
READS_OBJECT = False

TAG_SHIFT = 49
TAG_LIMIT = (1 << 15) - 1
"""The largest type index that a reference can carry."""


def emit_type_index(emitter: Emitter, reference: Any, candidates: Sequence[Candidate]) -> Any:
    def from_range() -> Any:
        return emitter.look_up(reference)

    tag = emitter.upper_bits(reference, TAG_SHIFT)
    if emitter.debug:
        # Code that clobbers the upper bits (section 6.4) is found by what the address says.
        found = from_range()
        return emitter.confirm(emitter.unless_zero(tag, lambda: found), found)
    if _beyond(candidates):
        return emitter.unless_zero(tag, from_range)
    return tag


def emit_function(
    emitter: Emitter, reference: Any, slot: int, candidates: Sequence[Candidate]
) -> Any:
    type_index = emit_type_index(emitter, reference, candidates)
    return emitter.function_of_type(type_index, slot)


def remark(candidates: Sequence[Candidate]) -> str:
    beyond = _beyond(candidates)
    if not beyond:
        return ""
    return f"{beyond} found by range, as 15 bits number {TAG_LIMIT} classes only"


def _beyond(candidates: Sequence[Candidate]) -> int:
    """How many of the classes have no tag."""
    return sum(candidate.type_index > TAG_LIMIT for candidate in candidates)
