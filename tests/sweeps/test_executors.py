"""Other people's executors of processes, and a worker of theirs that is killed."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from bench.sweep import swept_by_mpi, traffic
from tests.sweeps.sweep_models import cars, deadly, noted

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what others warn of when a worker is killed
]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("SHAREDOA_BACKEND", "cpu")


def check(executor: Executor, name: str) -> Any:
    table = oa.sweep(cars, {"count": [2, 30], "dawdle": [0.5]}, repeats=5, executor=executor)
    assert table["error"].isna().all() and list(table["cars"]) == [2] * 5 + [30] * 5, name
    speeds = table["count"] * (table["seed"] % 5 + 3 * (1 - table["dawdle"]))
    assert list(table["speed"]) == list(speeds)
    return table


def test_processes_of_the_library() -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        check(executor, "concurrent.futures")


def test_loky() -> None:
    loky = pytest.importorskip("loky")
    with loky.ProcessPoolExecutor(2) as executor:
        check(executor, "loky")


def test_ray() -> None:
    """By the class that the guide has."""
    ray = pytest.importorskip("ray")
    guide = (ROOT / "docs/guides/sweeps.md").read_text()
    (code,) = re.findall(r"^```py\n(.*?)^```", guide, re.M | re.S)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(code, names)
    variables = {name: os.environ[name] for name in ("PYTHONPATH", "SHAREDOA_BACKEND")}
    runtime: dict[str, Any] = {"env_vars": variables}
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", runtime_env=runtime)
    try:
        table = check(names["RayExecutor"](), "Ray")
    finally:
        ray.shutdown()
    assert {*table["cores"]} == {1}


def test_a_broken_pool_is_told(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        given = {"folder": [str(tmp_path)], "a": [0, 2, 4]}
        table = oa.sweep(deadly, given, executor=executor, to=tmp_path / "runs.csv")
    assert table["error"].notna().sum() >= 2
    assert table["error"].iloc[-1].startswith("BrokenProcessPool: ")
    again = oa.sweep(noted, {"folder": [str(tmp_path)], "a": [4]})
    assert list(again["square"]) == [16]


def test_a_dask_cluster_with_a_worker_killed(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        table = check(client.get_executor(), "Dask")
        assert {*table["cores"]} == {1}, "a worker uses the cores of others"
        pids = client.run(os.getpid)

        def kill() -> None:
            calls = tmp_path / "calls"
            while not calls.exists() or len(calls.read_text().splitlines()) < 6:
                time.sleep(0.01)
            os.kill(next(iter(pids.values())), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        given: dict[str, Any] = {"folder": [str(tmp_path)], "a": range(40), "lasts": [0.05]}
        table = oa.sweep(noted, given, executor=client.get_executor())
        killer.join()
    assert list(table["square"]) == [a * a for a in range(40)] and table["error"].isna().all()
    assert list(table["run"]) == list(range(40)) and table["seed"].nunique() == 40


MPI = """
from mpi4py.futures import MPIPoolExecutor
import sharedoa as oa
from bench.sweep import swept_by_mpi, traffic
from tests.sweeps.sweep_models import cars

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        table = oa.sweep(cars, {"count": [2, 30], "dawdle": [0.5]}, repeats=5, executor=executor)
    assert table.error.isna().all(), table.error
    print(*table.cars, flush=True)
"""


def test_mpi(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    beside = Path(sys.executable).parent / "mpiexec"
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("there is no mpiexec")
    script = tmp_path / "script.py"
    script.write_text(MPI)
    command = [launcher, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    told = subprocess.check_output(command, text=True, timeout=300)
    assert told.split() == ["2"] * 5 + ["30"] * 5


def test_mpi_with_a_worker_killed() -> None:
    """MPI ends all; what was done is kept, and the same call goes on."""
    pytest.importorskip("mpi4py")
    if not (Path(sys.executable).parent / "mpiexec").exists() and shutil.which("mpiexec") is None:
        pytest.skip("there is no mpiexec")
    given: dict[str, Any] = {"intersections": [20], "steps": [2, 3]}
    _, table = swept_by_mpi(given, 5, workers=2, kill=True)
    expected = oa.sweep(traffic, given, repeats=5, seed=1)
    assert table.drop(columns="seconds").equals(expected.drop(columns="seconds"))
    assert len(table) == 10 and table["seed"].is_unique and table["error"].isna().all()
