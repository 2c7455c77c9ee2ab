"""Every fault of the catalogue can still be put into the tree."""

from __future__ import annotations

import pytest

from .__main__ import SEEN, run_all
from .catalogue import MUTATIONS
from .mutation import ROOT


def test_it_applies() -> None:
    found = {mutation.name: mutation.complaint() for mutation in MUTATIONS}
    assert {name: complaint for name, complaint in found.items() if complaint} == {}


def test_names_differ() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


def test_make_quick_runs_what_finds_most() -> None:
    lines = (ROOT / "tests" / "quick.txt").read_text().splitlines()
    chosen = [line for line in lines if not line.startswith("--")]
    left_out = tuple(line.partition("=")[2] for line in lines if line.startswith("--deselect="))
    within = tuple(start for each in chosen for start in (f"{each}/", f"{each}::", f"{each}["))
    missed = [
        mutation.name
        for mutation in MUTATIONS
        if not any(
            (test in chosen or test.startswith(within)) and not test.startswith(left_out)
            for test in mutation.tests
        )
    ]
    assert len(missed) <= len(MUTATIONS) // 10, missed


def test_make_quick_runs_what_there_is() -> None:
    lines = (ROOT / "tests" / "quick.txt").read_text().splitlines()
    for file, _, name in (line.removeprefix("--deselect=").partition("::") for line in lines):
        assert (ROOT / file).exists(), file
        function = name.rpartition("::")[2].partition("[")[0]
        assert not name or f"def {function}(" in (ROOT / file).read_text(), name


@pytest.mark.slow
def test_all_are_found() -> None:
    outcomes = run_all(list(MUTATIONS), jobs=2)
    pairs = zip(MUTATIONS, outcomes, strict=True)
    assert [mutation.name for mutation, outcome in pairs if outcome not in SEEN] == []
