"""Kernels' own times by CUPTI: sums of samples, what makes one fail, and which timer is taken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import sharedoa as oa
from bench.cupti.buffers import Buffers
from bench.cupti.kernel_times import KernelSum, KernelTimes
from bench.cupti.library import Cupti, CuptiError, find
from bench.harness import Options
from bench.reproduction import __main__ as command_line
from bench.reproduction import timers
from bench.reproduction.measure import Selection, measure
from bench.reproduction.timers import (
    CuptiStepTimer,
    CuptiTimer,
    EventTimer,
    open_timer,
    seconds_by_name,
)
from bench.reproduction.workloads import NATURAL, WORKLOADS
from sharedoa.errors import BackendError
from sharedoa.frontend.program import kernel_symbol

from . import packed_records as packed

ROOT = Path(__file__).parents[2]

# ------------------------------------------------------------------------- samples


@pytest.fixture
def device(pretended_cupti, monkeypatch, tmp_path):
    """Times of kernels, and a function that says which records the next flushes give back."""
    monkeypatch.setenv("PRETEND_CUPTI_AGAIN", "1")
    waited: list[int] = []

    def runs(*records):
        file = packed.write(records, tmp_path / "records")
        monkeypatch.setenv("PRETEND_CUPTI_RECORDS", str(file))

    def times(buffers):
        made = KernelTimes(Cupti.load(pretended_cupti), buffers, lambda: waited.append(1))
        made.start()
        runs()
        return made

    times.runs, times.waited = runs, waited
    return times


def test_sums_by_name_of_each_sample_alone(device):
    times = device(Buffers(2, 4096))
    assert times.version == 130001
    # What ran before a sample is no part of it.
    device.runs(packed.kernel(1, 100, 90_100))
    for sample in range(1, 21):
        times.begin()
        first = [packed.kernel(1, 100 * n, 100 * n + sample) for n in range(1, 6)]
        # More than one buffer, all of which are given out again for the next sample.
        device.runs(*first, *[packed.kernel(2, 5000, 6000)] * 20)
        assert times.end() == {
            "kernel_a": KernelSum(pytest.approx(5e-9 * sample), 5),
            "kernel_b": KernelSum(pytest.approx(20e-6), 20),
        }
    assert len(device.waited) == 40
    times.begin()
    device.runs()
    assert times.end() == {}


def test_records_that_are_missing_make_a_sample_fail(device, monkeypatch):
    times = device(Buffers(1, 1024))
    a_few = [packed.kernel(1, 100, 200)] * 3
    times.begin()
    device.runs(*a_few * 2)
    with pytest.raises(CuptiError, match=r"dropped; there was room for 1,024 bytes"):
        times.end()
    # The next one is complete.
    device.runs()
    times.begin()
    device.runs(*a_few)
    assert times.end()["kernel_a"].launches == 3
    times.begin()
    monkeypatch.setenv("PRETEND_CUPTI_DROPPED", "1234")
    with pytest.raises(CuptiError, match="1,234 of CUPTI's records were dropped"):
        times.end()


def test_records_that_say_too_little_make_a_sample_fail(device, monkeypatch):
    times = device(Buffers(2, 4096))
    times.begin()
    device.runs(packed.kernel(1, 100, 200), packed.kernel(1, 0, 0))
    with pytest.raises(CuptiError, match="no times of 1 launches"):
        times.end()
    times.begin()
    device.runs(packed.kernel(1, 200, 100))
    with pytest.raises(CuptiError, match="not laid out as expected"):
        times.end()
    times.begin()
    device.runs(packed.kernel(1, 100, 200))
    monkeypatch.setenv("PRETEND_CUPTI_REFUSES", "cuptiActivityGetNextRecord=21")
    with pytest.raises(CuptiError, match="incomplete record"):
        times.end()


def test_a_refusal_is_told_at_the_start(pretended_cupti, monkeypatch):
    monkeypatch.setenv("PRETEND_CUPTI_REFUSES", "cuptiActivityEnable=35")
    with pytest.raises(CuptiError, match="run as root"):
        KernelTimes(Cupti.load(pretended_cupti), Buffers(1, 1024), lambda: None).start()


# ------------------------------------------------------------------------- kernels of programs


def test_one_record_of_each_launch():
    found = {
        "kernel_move": KernelSum(2e-6, 3),
        "kernel_turn": KernelSum(1e-6, 1),
        "sharedoa_column_move": KernelSum(7e-6, 9),
    }
    assert seconds_by_name({"turn": 1, "move": 3}, found) == {"turn": 1e-6, "move": 2e-6}
    with pytest.raises(AssertionError, match=r"has 3 records of kernel move, .* launched 4 times"):
        seconds_by_name({"move": 4}, found)
    with pytest.raises(AssertionError, match="has 0 records of kernel stop"):
        seconds_by_name({"stop": 1}, found)


def test_any_number_of_records_of_a_call_for_a_population(monkeypatch):
    life = next(w for w in NATURAL if w.name == "GOL")
    events = EventTimer().sample(life, "coal", "cpu", full=False)
    assert events.launches["Agent.prepare"] == 20
    found = {
        "kernel_connect_cells": KernelSum(1.0, 1),
        "kernel_begin_lives": KernelSum(1.0, 1),
        "kernel_show_states": KernelSum(1.0, 1),
        # Of both classes, in two launches a step.
        "kernel_Alive_prepare": KernelSum(2.0, 20),
        "kernel_Candidate_prepare": KernelSum(3.0, 20),
        "kernel_Alive_update": KernelSum(4.0, 20),
        "kernel_Birth_settle": KernelSum(5.0, 21),
        "sharedoa_slots_list_4": KernelSum(6.0, 100),
        "sharedoa_slots_count": KernelSum(7.0, 100),
        "sharedoa_column_move": KernelSum(8.0, 9),
    }
    times = PretendedTimes({})
    monkeypatch.setattr(times, "end", lambda: found)
    sample = CuptiTimer(times).sample(life, "coal", "cpu", full=False)
    assert sample.launches == {**events.launches, timers.BOOKS: 200}
    assert sample.seconds["Agent.prepare"] == 5.0 and sample.seconds["Birth.settle"] == 5.0
    assert sample.seconds["Alive.update"] == 4.0 and sample.seconds[timers.BOOKS] == 13.0
    assert sample.seconds["Agent.update_checksum"] == 0.0


def test_steps_are_timed_as_they_run(monkeypatch):
    """By what is on the device, where launches of a captured step may share one."""
    traffic = next(w for w in WORKLOADS if w.name == "TRAF")
    found = {
        "kernel_kernel_ProducerCell_create_car___kernel_traffic_light_step": KernelSum(1.0, 50),
        "sharedoa_column_move": KernelSum(8.0, 9),
    }
    times = PretendedTimes({})
    monkeypatch.setattr(times, "end", lambda: found)
    captured = []
    run = oa.Capture.run

    def noting(step, n=1):
        captured.append(step)
        run(step, n)

    monkeypatch.setattr(oa.Capture, "run", noting)
    sample = CuptiStepTimer(times).sample(traffic, "auto", "cpu", full=False)
    assert len(captured) == traffic.small[1]
    assert [*sample.seconds.values()] == [1.0] and [*sample.launches.values()] == [50]


class PretendedTimes:
    """Each launch of a workload took a microsecond, and each of the heap's own kernels too."""

    version = 130001

    def __init__(self, launches):
        self.launches, self.begun = launches, 0

    def begin(self):
        self.begun += 1

    def end(self):
        found = {kernel_symbol(n): KernelSum(1e-6 * c, c) for n, c in self.launches.items()}
        return {"sharedoa_column_number": KernelSum(1.0, 5), **found}


def test_rows_are_by_cupti(tmp_path):
    (structure,) = (workload for workload in WORKLOADS if workload.name == "STUT")
    launches = EventTimer().sample(structure, "sharedoa", "cpu", full=False).launches
    options = Options(backend="cpu", out=tmp_path, repeat=2, modes=("sharedoa",))
    times = PretendedTimes(launches)
    result = measure(options, Selection(("STUT",), ("figure6",)), CuptiTimer(times))
    assert result.failures == [] and times.begun == 2
    assert (result.settings["timer"], result.settings["cupti"]) == ("cupti", 130001)
    (row,) = result.rows
    assert row["timer"] == "cupti" and row["launches"] == launches
    assert row["kernels"] == {name: pytest.approx(1e-6 * n) for name, n in launches.items()}
    assert row["samples"] == [pytest.approx(1e-6 * sum(launches.values()))] * 2
    assert set(row["call_sites"]) == set(launches)

    times.launches = Counter(launches) - Counter({"kernel_Node_move": 1})
    result = measure(options, Selection(("STUT",), ("figure6",)), CuptiTimer(times))
    (failure,) = result.failures
    assert result.rows == [] and "79 records of kernel kernel_Node_move" in failure


# ------------------------------------------------------------------------- which timer


def nowhere():
    raise CuptiError("there is no libcupti.so", "install it")


def test_by_events_where_there_is_no_cupti(monkeypatch, capsys):
    monkeypatch.setattr(timers, "started", nowhere)
    monkeypatch.setattr(timers, "backend_name", lambda options: "cuda")
    timer, backend = open_timer(None, Options())
    assert (timer.name, backend) == ("events", "cuda")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kernels are timed by events") and "no libcupti.so (install it)" in line
    with pytest.raises(CuptiError, match="no libcupti"):
        open_timer("cupti", Options())
    # Not even looked for.
    monkeypatch.setattr(timers, "started", lambda: pytest.fail("it was started"))
    assert open_timer("events", Options(backend="cuda"))[0].name == "events"
    assert capsys.readouterr().err == ""


def test_by_cupti_where_it_can_be_used(monkeypatch, capsys):
    monkeypatch.setattr(timers, "started", lambda: PretendedTimes({}))
    monkeypatch.setattr(timers, "backend_name", lambda options: "cuda")
    for wanted in (None, "cupti"):
        assert open_timer(wanted, Options())[0].name == "cupti"
    # The driver is there and its device cannot be used.
    monkeypatch.setattr(timers, "backend_name", lambda options: "cpu")
    assert open_timer(None, Options())[0].name == "events"
    assert capsys.readouterr().err == ""


def test_cupti_is_started_once_there_is_a_driver(monkeypatch, pretended_cupti):
    driver = "sharedoa.backends.cuda_driver.load_driver"
    monkeypatch.setattr(timers, "find", lambda: pretended_cupti)
    monkeypatch.setattr(driver, lambda: None)
    times = timers.started()
    assert times is not None and times.version == 130001
    monkeypatch.setenv("PRETEND_CUPTI_REFUSES", "cuptiActivityRegisterCallbacks=999")
    with pytest.raises(CuptiError, match="refused"):
        timers.started()

    def missing():
        raise BackendError("no driver", "install it")

    # Opening the backend says so, where it is asked for.
    monkeypatch.setattr(driver, missing)
    assert timers.started() is None


def test_cupti_is_for_gpus(monkeypatch, tmp_path, capsys):
    arguments = ["reproduction", "measure", "--backend", "cpu", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", [*arguments, "--timer", "cupti"])
    with pytest.raises(SystemExit, match=r"(?s)runs on cpu.*--timer events"):
        command_line.main()
    assert list(tmp_path.iterdir()) == []
    assert open_timer(None, Options(backend="cpu"))[0].name == "events"
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------- how it ends


@pytest.mark.parametrize(
    ("ends", "status", "said"),
    [
        ("pass", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('2 failures')", 1, "2 failures\n"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ],
)
def test_a_process_ends_with_its_status_and_output(ends, status, said, tmp_path):
    script = f"""
import atexit, sys
from bench.cupti import ending

def main():
    print("recorded")
    {ends}

atexit.register(print, "an orderly end")
if sys.argv[1:]:
    ending.keep(main)
ending.run(main)
"""
    command = [sys.executable, "-c", script]
    at_once, orderly = (
        subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True)
        for more in (["at once"], [])
    )
    assert (at_once.returncode, at_once.stdout) == (status, "recorded\n")
    assert said in at_once.stderr and bool(at_once.stderr) == bool(said)
    if "KeyboardInterrupt" not in ends:  # by which Python ends itself with the signal
        assert orderly.returncode == status
    assert orderly.stdout == "recorded\nan orderly end\n"


# ------------------------------------------------------------------------- on a GPU


@pytest.mark.gpu
def test_on_a_gpu_cupti_sees_what_events_see(tmp_path):
    try:
        find()
    except CuptiError as problem:
        pytest.skip(str(problem))
    rows = {}
    # In processes of their own: CUPTI is told once a process, before there is a context.
    for timer in ("cupti", "events"):
        folder = tmp_path / timer
        done = subprocess.run(
            [
                sys.executable, "-m", "bench.reproduction", "measure", "--backend", "cuda",
                "--timer", timer, "--modes", "sharedoa,auto", "--parts", "figure6,natural",
                "--workloads", "STUT,TRAF,BFS (vE)", "--repeat", "3", "--out", str(folder),
            ],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "recorded in" in done.stdout
        (file,) = folder.iterdir()
        rows[timer] = json.loads(file.read_text())["rows"]
    assert rows["cupti"]
    for own, events in zip(rows["cupti"], rows["events"], strict=True):
        assert (own["timer"], events["timer"]) == ("cupti", "events")
        assert own["counts"] == events["counts"]
        books = {timers.BOOKS} & set(own["launches"])
        assert own["launches"] == {
            **events["launches"], **{name: own["launches"][name] for name in books}
        }  # fmt: skip
        assert set(own["kernels"]) == set(own["launches"]) == set(events["kernels"]) | books
        for name, seconds in events["kernels"].items():  # some are called on nobody
            assert (own["kernels"][name] > 0) == (seconds > 0)
        if books:
            continue  # the host looks between launches who lives, and what faults takes any time
        often = [name for name, launches in events["launches"].items() if launches >= 20]
        assert often
        of_own, of_events = (sum(row["kernels"][name] for name in often) for row in (own, events))
        assert 0 < of_own < of_events
