"""``tag``: a type index in the object.

Concord's type field ("Judging a Type by Its Pointer", section 8). One
load from every object (diverged) gives the type index. With ``switch`` that is all: compares and
direct calls. With ``vtable`` one more load, from the module's row table, and an indirect branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..emitter import Candidate, Emitter
from ..header_format import TYPE_TAG

SUMMARY = "type tag in the object"
HEADERS = {"scattered": TYPE_TAG, "by_type": TYPE_TAG}
TAGGED_REFERENCES = False
READS_OBJECT = True


def emit_type_index(emitter: Emitter, reference: Any, candidates: Sequence[Candidate]) -> Any:
    return emitter.type_tag(emitter.address(reference))


def emit_function(
    emitter: Emitter, reference: Any, slot: int, candidates: Sequence[Candidate]
) -> Any:
    type_index = emit_type_index(emitter, reference, candidates)
    return emitter.function_of_type(type_index, slot)


def remark(candidates: Sequence[Candidate]) -> str:
    return ""
