"""Every fault of the catalogue can still be put into the tree."""

from __future__ import annotations

import pytest

from .__main__ import run_all
from .catalogue import MUTATIONS
from .mutation import Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_it_applies(mutation: Mutation) -> None:
    assert mutation.complaint() is None


def test_names_differ() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.slow
def test_all_are_found() -> None:
    outcomes = run_all(list(MUTATIONS), jobs=2)
    pairs = zip(MUTATIONS, outcomes, strict=True)
    assert [mutation.name for mutation, outcome in pairs if outcome != "found"] == []
