"""How host values look at a prompt: short, numbers without the names of NumPy's types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

_MOST_FIELDS = 12
_MOST_CHARACTERS = 60
_ENDS = 3


def shown(value: Any) -> str:
    """A number, reference, value struct or array, in at most 60 characters."""
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, np.ndarray) and value.ndim:
        return shown_row(value)
    if hasattr(type(value), "__sharedoa__"):
        return value._shown_reference()  # type: ignore[no-any-return]
    if hasattr(value, "__sharedoa_element__"):
        return f"<Array[{value.__sharedoa_element__!r}] of {len(value)}>"
    text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}..."


def shown_row(values: Any) -> str:
    """Elements of an inline array, of which a few at each end."""
    if len(values) <= 2 * _ENDS:
        return f"[{', '.join(map(shown, values))}]"
    first = [shown(values[k]) for k in range(_ENDS)]
    last = [shown(values[k]) for k in range(len(values) - _ENDS, len(values))]
    return f"[{', '.join([*first, '...', *last])}]"


def shown_fields(fields: Iterable[str]) -> tuple[list[str], int]:
    """Names of the fields that have room, and how many have not."""
    names = list(fields)
    return names[:_MOST_FIELDS], max(0, len(names) - _MOST_FIELDS)
