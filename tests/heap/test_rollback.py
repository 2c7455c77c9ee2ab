"""What fails in the middle of making objects has made none."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa.heap.region_selection import RegionSelection
from sharedoa.heap.regions import Region
from sharedoa.heap.scattered import ScatteredSelection

from ..pairwise import pairwise
from .invariants import check_invariants
from .shapes import Circle


def failing(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, after: bool) -> None:
    """The first call of a method raises MemoryError."""
    whole = getattr(owner, name)
    failed: list[bool] = []

    def fail(*arguments: Any, **named: Any) -> Any:
        if failed or after:
            found = whole(*arguments, **named)
        if not failed:
            failed.append(True)
            raise MemoryError("pretended")
        return found

    monkeypatch.setattr(owner, name, fail)


@pytest.mark.parametrize(
    ("after", "place", "count"),
    pairwise([False, True], ["fields", "references", "reused"], [None, 3, 500]),
)
def test_objects_without_memory_for_their_fields(heap, monkeypatch, place, after, count):
    kept = oa.new(Circle, 20, number=np.arange(20))
    oa.delete(kept[10:])
    kept = kept[:10]
    before = heap.stats().objects
    with monkeypatch.context() as patch:
        if place == "references":
            for owner in (RegionSelection, ScatteredSelection):
                failing(patch, owner, "copy_references", after)
        elif place == "reused":
            failing(patch, Region, "clear", after)
            failing(patch, ScatteredSelection, "write", after)
        else:
            failing(patch, type(heap.placement), "write_one", after)
            failing(patch, RegionSelection, "initialise", after)
            failing(patch, ScatteredSelection, "write", after)
        made = None
        with suppress(MemoryError):
            made = oa.new(Circle, number=7) if count is None else oa.new(Circle, count, number=7)
    assert heap.stats().objects == before + (0 if made is None else count or 1)
    del made
    assert kept.number.numpy().tolist() == list(range(10))
    check_invariants(heap)
    again = oa.new(Circle, 500)
    assert not again.number.numpy().any()
