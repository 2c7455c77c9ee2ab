"""The benchmark of sweeps."""

from __future__ import annotations

import pytest

from bench import sweep
from bench.harness import Options


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # what Dask warns of when a worker is killed
def test_runs_are_right_with_a_worker_killed() -> None:
    for needed in ("distributed", "mpi4py"):
        pytest.importorskip(needed)
    result = sweep.run(Options(backend="cpu"))
    assert result.failures == []
    assert {row["what"] for row in result.rows} == {
        "sweep", "killed", "by MPI", "MPI killed", "counting"
    }  # fmt: skip
