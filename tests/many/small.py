"""Trees of several levels over few elements, all by kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sharedoa.heap import arrays, field_view
from sharedoa.many import (
    block_scan,
    block_sort,
    calls,
    reduction,
    reduction_plan,
    scan,
    sort_parts,
    sort_plan,
    warp_sort,
)
from sharedoa.model.world import World

_SIZES: dict[Any, dict[str, Any]] = {
    arrays: {"MOST_IN_PLACE": 0},
    calls: {"MOST_AT_HAND": 0},
    field_view: {"MOST_AT_HAND": 0},
    reduction: {"LANES": 8, "ROWS": 4, "PIECE": 32},
    reduction_plan: {"LANES": 8, "ROWS": 4, "PIECE": 32, "GROUP": 2},
    scan: {"CHUNK": 4, "_ALONE": 100},
    block_scan: {
        "CHUNK": 4,
        "THREADS": 16,
        "BLOCK": 64,
        "_PADDED": 80,
        "_PADDED_CHUNKS": 20,
        "_EDGE": 8,
    },
    sort_plan: {"_COUNTING_BLOCKS": 2},
    warp_sort: {"FEW": 1, "MANY": 4, "MANY_NUMBERED": 3, "MANY_WIDE": 2},
    sort_parts: {"AT_ONCE": 2},
    block_sort: {
        "THREADS": 64,
        "_GROUP": 4,
        "_PADDED": 320,
        "keys_each": lambda type: 3,
    },
}


@contextmanager
def small_sizes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module, numbers in _SIZES.items():
            for name, number in numbers.items():
                patch.setattr(module, name, number)
        _forget()
        yield
    _forget()


def _forget() -> None:
    """Kernels look for changed globals when something was defined; those of sorting have what was
    computed of them, too."""
    World.advance()
    for module in (block_sort, warp_sort):
        module.kernel_of_moves.cache_clear()
    block_sort.kernel_of_counts.cache_clear()
    sort_parts.telling.cache_clear()
    sort_parts.written.cache_clear()
