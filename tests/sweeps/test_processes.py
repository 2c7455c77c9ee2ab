"""Workers that are processes: scripts, lost workers, GPUs, kills of the sweep itself."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa.own_threads import OwnThread
from sharedoa.sweeps import processes, worker
from sharedoa.sweeps.processes import Place, Processes
from tests.no_threads import no_thread_begins
from tests.sweeps.sweep_models import deadly, place

ROOT = Path(__file__).parents[2]
CORES = len(os.sched_getaffinity(0))


def start(script: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SHAREDOA_BACKEND": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(script: Path, *arguments: str) -> dict[str, Any]:
    process = start(script, *arguments)
    told, complaints = process.communicate(timeout=300)
    assert process.returncode == 0, complaints
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


SCRIPT = '''
import json, os, sys
import sharedoa as oa
from sharedoa import f32
from sharedoa.cores import worker_count

class Car(oa.Object):
    speed: f32

    def step(self) -> None:
        self.speed += 1.0

def model(n, seed):
    """Classes and names of the script are there; what follows the sweep is not run again."""
    oa.new(Car, n)
    oa.all(Car).step()
    print("from a model")
    if os.path.exists(sys.argv[1]):
        raise RuntimeError("the worker has run all of the script")
    cores = worker_count()
    return {"total": float(oa.all(Car).speed.sum()), "pid": os.getpid(), "cores": cores}

table = oa.sweep(model, {"n": [2, 3, 400]}, repeats=2)
open(sys.argv[1], "w").close()
print(json.dumps(table.drop(columns="error").to_dict("list")), flush=True)
'''


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    found = output(script, str(tmp_path / "after"))
    assert found["total"] == found["n"] == [2, 2, 3, 3, 400, 400]
    assert found["cores"] == [1] * 6 and len(set(found["pid"])) <= CORES
    assert not any(map(alive, found["pid"]))


def test_what_a_prompt_defined_runs_in_forked_workers() -> None:
    code = (
        "import os, sharedoa as oa; from sharedoa.cores import worker_count as cores; k = cores()\n"
        "model = lambda a, seed: {'x': k * a, 'pid': os.getpid(), 'cores': cores()}\n"
        "table = oa.sweep(model, {'a': [1, 2]})\n"
        "assert os.getpid() not in set(table.pid) and table.error.isna().all(), table\n"
        "print(k, *table.x, *table.cores)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SHAREDOA_BACKEND": "cpu"}
    told = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    all_cores, *found = map(int, told.split())
    assert found == [all_cores, 2 * all_cores, 1, 1]


def test_runs_of_a_killed_worker_are_given_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    table = oa.sweep(deadly, {"folder": [str(tmp_path)], "a": range(8)}, to=tmp_path / "a.csv")
    errors = table["error"].dropna()
    assert list(errors.index) == [2, 3]
    assert errors[2] == "WorkerLost: was killed by signal 9 (3 times)"
    assert errors[3].startswith("ValueError: three is too many (sweep_models.py:")
    done = table.drop(index=[2, 3])
    assert list(done["square"]) == list(done["a"] ** 2)
    calls = [int(line.split()[0]) for line in (tmp_path / "calls").read_text().splitlines()]
    assert sorted(calls) == [0, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7]


def test_a_worker_has_one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    places = [processes.Place(at, {"CUDA_VISIBLE_DEVICES": f"GPU-{at}"}) for at in range(2)]
    monkeypatch.setattr(processes, "places_here", lambda: places)
    table = oa.sweep(place, {"a": range(6)})
    assert table["error"].isna().all()
    assert 1 <= table["pid"].nunique() == len(table.groupby(["pid", "place"])) <= 2
    assert set(table["place"]) <= {"GPU-0", "GPU-1"}


LASTING = """
import sharedoa as oa
import sys
from tests.sweeps.sweep_models import noted

def lasting(folder, a, seed):
    return noted(folder, a, seed, float(sys.argv[2]))

given = {"folder": [sys.argv[1]], "a": range(12)}
table = oa.sweep(lasting, given, to=sys.argv[1] + "/runs.parquet")
print(table.square.to_json(orient="values"))
"""


@pytest.mark.parametrize(
    "end", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_stopped_sweep_goes_on_where_it_was(end: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "lasting.py"
    script.write_text(LASTING)
    process = start(script, str(tmp_path), "0.4")
    calls = tmp_path / "calls"
    while process.poll() is None and (
        not calls.exists() or len(calls.read_text().splitlines()) < 5
    ):
        time.sleep(0.02)
    workers = {int(line.split()[2]) for line in calls.read_text().splitlines()}
    process.send_signal(end)
    _, complaints = process.communicate(timeout=60)
    assert process.returncode != 0
    if end is signal.SIGINT:
        assert "KeyboardInterrupt" in complaints and (tmp_path / "runs.parquet").exists()
    deadline = time.monotonic() + 20
    while any(map(alive, workers)):
        assert time.monotonic() < deadline, "a worker outlives the sweep"
        time.sleep(0.05)
    before = [int(line.split()[0]) for line in calls.read_text().splitlines()]
    assert output(script, str(tmp_path), "0") == [a * a for a in range(12)]
    after = [int(line.split()[0]) for line in calls.read_text().splitlines()][len(before) :]
    kept = set(range(12)) - set(after)
    # What was under way is done again, and nothing else.
    assert len(after) == len(set(after)) and kept < set(before) and len(kept) >= 5 - CORES


class Here:
    """A worker that is no process."""

    def ask(self, message: bytes) -> tuple[bool, Any]:
        function, given, named = pickle.loads(message)
        return True, function(*given, **named)

    def kill(self) -> None: ...

    def end(self) -> None: ...


def test_without_memory_for_a_thread_those_there_are_do_all() -> None:
    workers = Processes([Place(0), Place(1)], lambda place: Here())
    first = workers.submit(str, 1)
    with no_thread_begins():
        others = [workers.submit(str, number) for number in range(2, 5)]
        assert len(workers._places) == 1  # nobody waits for one with each run
    assert [each.result(60) for each in (first, *others)] == ["1", "2", "3", "4"]
    workers.shutdown()
    workers = Processes([Place(0)], lambda place: Here())
    with no_thread_begins(), pytest.raises(oa.BackendError, match="no thread"):
        workers.submit(str, 1)
    assert not workers._threads


def test_a_thread_that_was_given_up_works_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[threading.Thread] = []

    def begins_late(thread: threading.Thread) -> None:
        late.append(thread)
        raise RuntimeError

    workers = Processes([Place(0), Place(1)], lambda place: Here())
    workers.submit(str, 1)
    with monkeypatch.context() as patch:
        patch.setattr(OwnThread, "start", begins_late)
        workers.submit(str, 2)
    threading.Thread.start(late[0])
    late[0].join(60)
    assert not late[0].is_alive()
    workers.shutdown()


def test_a_worker_without_memory_for_a_thread_ends() -> None:
    requests, replies = os.pipe()
    with (
        os.fdopen(requests, "rb") as reads,
        os.fdopen(replies, "wb") as writes,
        no_thread_begins(),
        pytest.raises(RuntimeError, match="no memory"),
    ):
        worker._serve(reads, writes)
