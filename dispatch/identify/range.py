"""``range``: the address tells the type (COAL).

"Judging a Type by Its Pointer", section 5. Objects are placed by type; a segment tree over the
address ranges gives the type index with no load from the object. For K ranges the walk costs
ceil(log2 K) loads and branches and one load of the type index; all threads read the same few
nodes. With ``vtable`` one more load, from the module's row table (B), and an indirect branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..emitter import Candidate, Emitter
from ..header_format import NO_HEADER

SUMMARY = "range of the address"
HEADERS = {"by_type": NO_HEADER}
TAGGED_REFERENCES = False
READS_OBJECT = False


def emit_type_index(emitter: Emitter, reference: Any, candidates: Sequence[Candidate]) -> Any:
    return emitter.look_up(reference)


def emit_function(
    emitter: Emitter, reference: Any, slot: int, candidates: Sequence[Candidate]
) -> Any:
    type_index = emit_type_index(emitter, reference, candidates)
    return emitter.function_of_type(type_index, slot)


def remark(candidates: Sequence[Candidate]) -> str:
    return ""
