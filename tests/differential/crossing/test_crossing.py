"""Features in any order, on populations that come, go and move, against plain Python and NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatch.mode import AUTO

from ..aliasing import places
from ..effort import IS_THOROUGH, examples
from .play import play

_SLOW = [] if IS_THOROUGH else [pytest.mark.slow]


@pytest.mark.parametrize(
    ("backend", "seed"),
    [
        ("python", 0), ("cpu", 1),
        *(pytest.param("cpu", seed, marks=_SLOW) for seed in range(2, 2 + examples(9))),
        *(pytest.param("interpreted", seed, marks=_SLOW) for seed in range(examples(6))),
    ],
)  # fmt: skip
def test_histories_with_everything(backend: str, seed: int, tmp_path: Path) -> None:
    modes = places.modes_of(backend)
    mode = AUTO if seed < 2 else modes[seed % len(modes)]
    play(tmp_path, seed, places.heaps(backend, mode, seed), 25)
