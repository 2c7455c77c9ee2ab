"""Hardware counters: which launches are looked at, what is read of Nsight Compute, and its errors.

Nsight Compute itself needs a GPU: a program of that name stands in for it here.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.reproduction import __main__ as command_line
from bench.reproduction import counters
from bench.reproduction.ncu import METRICS, ProfiledLaunch, ProfileError, find, parse
from bench.reproduction.profiled_run import Sampler
from bench.reproduction.records import Record
from bench.reproduction.sampling import is_sampled, weights
from bench.reproduction.tables import tables
from bench.reproduction.workloads import WORKLOADS
from sharedoa.errors import ConfigurationError

FIRST = [
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
    "Block Size", "Grid Size", "Device", "CC",
]  # fmt: skip
UNITS = {"seconds": "nsecond", "dram_read_bytes": "byte", "warp_instructions": "inst"}


def quoted(*cells):
    return ",".join(f'"{cell}"' for cell in cells)


def printed(launches, columns=tuple(METRICS), units=UNITS):
    """What ncu prints for (kernel, {our name: text}) of each launch; 1 where nothing is given."""
    lines = [
        "==PROF== Connected to process 4711 (/usr/bin/python3.12)",
        quoted(*FIRST, *(METRICS[name] for name in columns)),
        quoted(*[""] * len(FIRST), *(units.get(name, "sector") for name in columns)),
    ]
    for number, (kernel, values) in enumerate(launches):
        first = [number, 4711, "python3.12", "host", kernel, 1, 13, "(256, 1, 1)", "(9, 1, 1)"]
        lines.append(quoted(*first, 0, "9.0", *(values.get(name, "1") for name in columns)))
    return [*lines, "==PROF== Disconnected from process 4711"]


# ------------------------------------------------------------------------- sampling


def test_launches_that_are_looked_at():
    assert [n for n in range(50) if is_sampled(n)] == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]
    assert weights(20) == [1, 1, 1, 1, 2, 2, 4, 4, 4]
    assert weights(0) == []


@given(st.integers(0, 100_000))
def test_every_launch_is_stood_for(launches):
    found = weights(launches)
    assert sum(found) == launches
    assert len(found) == sum(is_sampled(n) for n in range(launches)) <= 2 * 17
    # None stands for more than half as many as were before it.
    done = 0
    for weight in found:
        assert weight <= max(1, done / 2)
        done += weight


@given(st.lists(st.sampled_from("ab"), max_size=60))
def test_the_profiler_is_on_for_those_alone(order):
    looking, seen = False, []

    def switch(on):
        def to():
            nonlocal looking
            assert looking != on
            looking = on

        return to

    class Kernel:
        def __init__(self, name):
            self.name = name

    sampler = Sampler(switch(True), switch(False))
    sampler._symbols = {"a": "kernel_a", "b": "kernel_b"}
    for name in order:
        number = sampler.launches[f"kernel_{name}"]
        sampler(Kernel(name))
        seen.append((looking, number))
    sampler.close()
    assert not looking
    assert all(on == is_sampled(number) for on, number in seen)


def test_a_run_tells_what_kernels_are_called_on_the_device():
    sampler = Sampler(lambda: None, lambda: None)
    ray = next(each for each in WORKLOADS if each.name == "RAY")
    ray.run("sharedoa", "cpu", full=False, steps=3, on_launch=sampler)
    assert sampler.launches == {"kernel_render": 3}


# ------------------------------------------------------------------------- reading


def test_counters_are_read_in_their_units():
    first = {"seconds": "12,345.5", "warp_instructions": "1,000,000", "dram_read_bytes": "2.5"}
    lines = printed([("kernel_a", first), ("kernel_b", {})], units={**UNITS, "l2_hits": ""})
    a, b = parse(lines)
    assert (a.kernel, b.kernel) == ("kernel_a", "kernel_b")
    assert a.counters["seconds"] == pytest.approx(12_345.5e-9)
    assert a.counters["warp_instructions"] == 1_000_000
    assert a.counters["dram_read_bytes"] == 2.5
    assert set(a.counters) == set(METRICS)
    assert b.counters["l2_hits"] == 1
    # Columns may come in any order.
    assert parse(printed([("kernel_a", first)], tuple(reversed(METRICS))))[0] == a


def test_no_launch_looked_at():
    assert parse(printed([])) == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["==WARNING== No kernels were profiled."], "no table"),
        ([], "no table"),
        (printed([("k", {"l2_hits": "n/a"})]), "'n/a' sector for lts__t_sectors_lookup_hit.sum"),
        (printed([("k", {"seconds": "nan"})]), "'nan' nsecond for gpu__time_duration"),
        (printed([("k", {})], units={"seconds": "week"}), "week"),
        (printed([("k", {})], columns=("seconds",)), "did not count smsp__inst_executed.sum"),
        ([*printed([])[:-1], '"0","1"'], "row 2 .* has 2 cells"),
    ],
)
def test_what_cannot_be_read(lines, said):
    with pytest.raises(ProfileError, match=said):
        parse(lines)


def launch(kernel, **values):
    return ProfiledLaunch(kernel, {name: values.get(name, 0.0) for name in METRICS})


def test_launches_are_weighed():
    # 7 launches of a: 0, 1, 2, 3 stand for themselves, 4 for two and 6 for one.
    sampled = [launch("a", l2_hits=10.0**n) for n in range(6)]
    sampled.insert(3, launch("b", l2_hits=5.0))
    sampled.insert(0, launch("of the runtime"))
    found = counters.totals(sampled, {"a": 7, "b": 1})
    assert set(found) == {"a", "b"}
    assert found["a"]["l2_hits"] == 1 + 10 + 100 + 1000 + 2 * 10_000 + 100_000
    assert found["b"]["l2_hits"] == 5


def test_missing_launches_are_no_result():
    with pytest.raises(ProfileError, match="a: ncu looked at 1 launches of 2, not at 2"):
        counters.totals([launch("a")], {"a": 2})


# ------------------------------------------------------------------------- the command


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts a program ``ncu`` on PATH that prints given lines and ends with a given status."""

    def install(lines, status=0, launched=None):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "ncu"
        program.write_text(
            f"#!{sys.executable}\n"
            "import json, pathlib, sys\n"
            f"log = pathlib.Path(sys.argv[sys.argv.index('--log-file') + 1])\n"
            f"log.write_text({chr(10).join(lines)!r})\n"
            f"pathlib.Path({str(tmp_path / 'arguments')!r}).write_text(json.dumps(sys.argv[1:]))\n"
            "run = pathlib.Path(sys.argv[-1])\n"
            f"run.write_text(json.dumps({{'launches': {launched!r}, 'counts': {{}}}}))\n"
            f"sys.exit({status})\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(counters, "write", lambda result, folder: None)

    return install


def count(modes=("cuda", "sharedoa", "coal"), steps=None):
    return counters.count(find(), ["RAY"], modes, steps, counters.NAME, Path())


def test_a_row_a_workload_and_mode(stand_in, tmp_path):
    values = {"global_load_sectors": "200", "global_load_hits": "50", "seconds": "1,000"}
    stand_in(printed([("kernel_render", values)]), launched={"kernel_render": 1})
    result = count()
    assert result.failures == []
    # Objects placed one by one would take minutes to make under a profiler.
    assert [(r["workload"], r["mode"]) for r in result.rows] == [
        ("RAY", "sharedoa"), ("RAY", "coal"),
    ]  # fmt: skip
    found = result.rows[0]
    assert found["counters"]["global_load_sectors"] == 200
    assert found["kernels"]["kernel_render"]["seconds"] == pytest.approx(1e-6)
    arguments = json.loads((tmp_path / "arguments").read_text())
    asked = arguments[arguments.index("--metrics") + 1].split(",")
    assert asked == list(METRICS.values())
    assert arguments[-5:-1] == ["bench.reproduction.profiled_run", "RAY", "coal", "1"]


def test_steps_are_limited(stand_in):
    stand_in(printed([("kernel_render", {})]), launched={"kernel_render": 1})
    (found,) = count(("sharedoa",), steps=5).rows
    assert found["steps"] == 1


def test_a_failed_run_is_recorded(stand_in):
    stand_in(["==ERROR== The application returned an error code (1)."], status=1)
    result = count(("sharedoa",))
    assert result.rows == []
    assert "RAY in mode sharedoa: ncu ended with 1" in result.failures[0]
    assert "returned an error code" in result.failures[0]


def test_counters_that_may_not_be_read_end_the_command(stand_in):
    stand_in(["==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"], status=1)
    with pytest.raises(ConfigurationError, match=r"may not read .*(\n.*)*NVreg_Restrict"):
        count()


def test_without_nsight_compute(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["reproduction", "counters", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="no `ncu` on PATH"):
        command_line.main()


def test_figures_7_to_9():
    def counted(mode, **values):
        sums = {name: float(values.get(name, 100.0)) for name in METRICS}
        return {"figure": "counters", "workload": "RAY", "mode": mode, "counters": sums}

    rows = [
        counted("sharedoa", warp_instructions=100, global_load_hits=50),
        counted("coal", warp_instructions=250, global_load_sectors=80, global_load_hits=60),
    ]
    found = {each.title: each for each in tables(Record({}, rows))}
    cells = {
        title.split(":")[0]: dict(zip(t.headings, t.rows[0], strict=True))
        for title, t in found.items()
    }
    assert cells["Figure 7"]["`coal`"] == "2.50"
    assert cells["Figure 8"]["`coal`"] == "0.80"
    assert (cells["Figure 9"]["`sharedoa`"], cells["Figure 9"]["`coal`"]) == ("0.50", "0.75")
    (figure_7,) = [t for title, t in found.items() if title.startswith("Figure 7")]
    assert ("paper, V100", None, "1.83") in figure_7.rows


def test_the_printed_form_is_csv():
    rows = list(csv.reader(printed([("k", {})])[1:-1]))
    assert len({len(line) for line in rows}) == 1
