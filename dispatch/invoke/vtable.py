"""``vtable``: call through a function address.

"Judging a Type by Its Pointer", section 2, steps B and C: one load of the function address
(``header`` loads an entry before it), one indirect branch; nothing is inlined, arguments travel by
the ABI.
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
    if emitter.debug:
        type_index = identification.emit_type_index(emitter, reference, candidates)
        emitter.require_type(type_index, candidates)
    return emitter.call(identification.emit_function(emitter, reference, slot, candidates))
