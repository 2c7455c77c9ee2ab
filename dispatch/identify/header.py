"""``header``: a vtable pointer in the object, as C++ has it.

"Judging a Type by Its Pointer", sections 2 and 4 (CUDA and SharedOA). A call costs three loads and
one indirect branch: A, the vtable pointer, from every object (diverged, 87 % of the direct cost of
a call); B, the entry of the slot, from one record a class; then the function address from the
module's table. A type test costs A and one load from the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..emitter import Candidate, Emitter
from ..header_format import VTABLE_POINTER
from ..vtable_record import TYPE_INDEX_OFFSET, WORD_BYTES

SUMMARY = "vtable pointer in the object"
HEADERS = {"scattered": VTABLE_POINTER, "by_type": VTABLE_POINTER}
TAGGED_REFERENCES = False
READS_OBJECT = True


def emit_type_index(emitter: Emitter, reference: Any, candidates: Sequence[Candidate]) -> Any:
    return emitter.load(_vtable(emitter, reference), TYPE_INDEX_OFFSET, 32)


def emit_function(
    emitter: Emitter, reference: Any, slot: int, candidates: Sequence[Candidate]
) -> Any:
    entry = emitter.load(_vtable(emitter, reference), slot * WORD_BYTES, 32)
    return emitter.function_of_entry(entry)


def remark(candidates: Sequence[Candidate]) -> str:
    return ""


def _vtable(emitter: Emitter, reference: Any) -> Any:
    return emitter.vtable_pointer(emitter.address(reference))
