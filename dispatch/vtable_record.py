"""Vtable records: what a vtable pointer points to.

An array of 32-bit words in heap memory. The pointer is the address of word 0; word -1, before it,
is the type index. Word s is the *entry* of slot s: the place of the method in the function table
that every loaded module carries. A method has another address in each module, so a record that
outlives modules cannot hold addresses (CUDA does the same through constant memory: "Judging a Type
by Its Pointer", section 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

WORD_BYTES = 4
TYPE_INDEX_OFFSET = -WORD_BYTES
"""Bytes from a vtable pointer to the type index."""

POINTER_OFFSET = WORD_BYTES
"""Bytes from the start of a record to the place that vtable pointers name."""


def record_words(
    type_index: int, entry_base: int, slots: int
) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The record of a class with ``slots`` methods, u32 of shape (1 + slots,)."""
    words = np.empty(1 + slots, np.uint32)
    words[0] = type_index
    words[1:] = np.arange(entry_base, entry_base + slots)
    return words
