"""The reference reproduces what is known, so that it may judge the programs."""

from __future__ import annotations

import pytest

from .reference import ANCHOR, PULLED, Reference
from .running import NAMES, REPAIRED, SEARCH_LAUNCHES, SMALL_BROKEN, TABLES, generated_structure


@pytest.mark.parametrize("size", [1_500, pytest.param(15_000, marks=pytest.mark.slow)])
def test_tables(size: int) -> None:
    reference = Reference(generated_structure(size))
    broken = []
    for _ in range(10):
        before = reference.broken
        reference.advance()
        broken.append(reference.broken - before)
    counts = reference.counts()
    assert tuple(counts[name] for name in NAMES) == TABLES[size][10]
    assert counts["search_launches"] == 10 * SEARCH_LAUNCHES[size]
    if size == 1_500:
        assert broken == SMALL_BROKEN


@pytest.mark.parametrize("size", [1_500, pytest.param(15_000, marks=pytest.mark.slow)])
def test_repairs(size: int) -> None:
    reference = Reference(generated_structure(size), repair=True)
    for _ in range(10):
        reference.advance()
    counts = reference.counts()
    assert (tuple(counts[name] for name in NAMES), reference.repaired) == REPAIRED[size]


@pytest.mark.slow
def test_pulled_nodes_are_no_roots_of_the_search() -> None:
    """The number that an implementation with the wrong rule would get."""
    reference = Reference(generated_structure(150_000), roots=(ANCHOR, PULLED))
    for _ in range(10):
        reference.advance()
    assert reference.counts()["springs"] == 260_571
