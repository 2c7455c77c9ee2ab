"""Files from anybody: every reader gives a result or a clear refusal, in bounded memory and time.

Run many more after a change to a reader: ``FUZZ_CASES=20000 python -m pytest tests/fuzz``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from .. import forked
from .readers import READERS

ROOT = Path(__file__).parents[2]
CASES = int(os.environ.get("FUZZ_CASES", "80"))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
@pytest.mark.parametrize("name", READERS)
def test_damaged_files(tmp_path: Path, name: str):
    seed = os.environ.get("FUZZ_SEED", "0")
    arguments = ["-m", "tests.fuzz.worker", name, seed, CASES, tmp_path]
    done = forked.run(arguments, os.environ, ROOT, timeout=None)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]
