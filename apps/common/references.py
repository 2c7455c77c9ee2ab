"""Object references of a heap and the indices that host arrays use in their place."""

from __future__ import annotations

from typing import Any

import numpy as np

Indices = np.ndarray[Any, np.dtype[np.int32]]

#: The index that stands for a null reference.
NOTHING = -1


def link(heap: Any, field: Any, targets: Any, indices: Indices) -> None:
    """Make ``field``, a view of an inline array of references of n objects, refer to
    ``targets[indices]``. ``indices`` has the shape (n, N)."""
    with_null = heap.concat(targets, heap.zeros(1, targets.cls.python_class))
    for place in range(indices.shape[1]):
        field[:, place] = with_null[indices[:, place]]


class IndexOf:
    """Finds the indices of references in an array of objects."""

    def __init__(self, objects: Any) -> None:
        references = objects.numpy()
        self._order = np.argsort(references)
        self._sorted = references[self._order]

    def __call__(self, references: Any) -> Indices:
        """The index of each; NOTHING for null. Every other reference must be in the array: one that
        is not has some index from 0 on, so that it is not taken for null."""
        wanted = np.asarray(references)
        place = np.searchsorted(self._sorted, wanted)
        found = self._order[np.minimum(place, len(self._sorted) - 1)] if len(self._sorted) else 0
        return np.where(wanted == 0, NOTHING, found).astype(np.int32)
