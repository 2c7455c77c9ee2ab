"""Random programs with shared memory of blocks, and with matrices, agree with plain Python: some of
each in every run, as few programs of ``test_programs`` have them."""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path

import pytest

from .aliasing.places import backend
from .programs import Size, make_program
from .test_programs import agree

_SIZE = Size(2, 2, 3, safe=True)
_SHARED, _PRODUCT, _TURN = "oa.shared", " @ ", ".rotate("
_PLACES = [
    ("cpu", _SHARED), ("cpu", _PRODUCT), ("cpu", _TURN), ("python", _SHARED),
    ("interpreted", _SHARED),
    pytest.param("interpreted", _PRODUCT, marks=pytest.mark.slow),
    pytest.param("interpreted", _TURN, marks=pytest.mark.slow),
]  # fmt: skip


def _seeds(text: str, number: int) -> list[int]:
    """Of the first programs that have it."""
    having = (seed for seed in count() if text in make_program(seed, _SIZE).text)
    return [*islice(having, number)]


@pytest.mark.parametrize(("where", "what"), _PLACES)
def test_programs_agree(tmp_path: Path, where: str, what: str) -> None:
    (seed,) = _seeds(what, 1)
    agree(tmp_path, seed, _SIZE, "auto", backend(where))


def test_they_agree_in_debug_mode(tmp_path: Path) -> None:
    (seed,) = _seeds(_SHARED, 1)
    agree(tmp_path, seed, _SIZE, "range+switch", "cpu", debug=True)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["cpu", "python", "interpreted"])
def test_more_programs_agree(tmp_path: Path, where: str) -> None:
    for text in (_SHARED, _PRODUCT, _TURN):
        for seed in _seeds(text, 9)[1:]:
            agree(tmp_path, seed, _SIZE, "auto", backend(where))
