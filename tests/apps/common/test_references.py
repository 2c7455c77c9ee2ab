"""Indices of references, also where there are no objects."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from apps.common.references import NOTHING, IndexOf


class Referred(oa.Object):
    pass


@pytest.mark.parametrize("count", [0, 1, 3])
def test_indices(count: int) -> None:
    with oa.Heap(backend="cpu") as heap:
        objects = heap.new(Referred, 3)
        references = objects.numpy()
        index_of = IndexOf(objects[:count])
        wanted = np.append(references[:count][::-1], np.uint64(0))
        assert index_of(wanted).tolist() == [*reversed(range(count)), NOTHING]
        # What is not among them is not taken for null.
        assert index_of(references[2:])[0] != NOTHING
