"""``sharedoa profile``: counts in its table, events in its trace, and scripts that fail."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from .. import forked

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
SCRIPT = """\
from __future__ import annotations

import sys
import threading

import sharedoa as oa
from sharedoa import f32, i32


class Walker(oa.Object):
    x: f32

    def move(self, by: f32) -> None:
        self.x += by


@oa.kernel
def fill(numbers: oa.Array[i32]) -> None:
    numbers[oa.grid(1)] = i32(oa.grid(1))


@oa.kernel
def double(numbers: oa.Array[i32]) -> None:
    numbers[oa.grid(1)] *= 2


def doubles():
    with heap:
        for _ in range(4):
            double[10](numbers)


heap = oa.current_heap()
numbers = oa.zeros(100, i32)
walkers = oa.new(Walker, 50)
for _ in range(7):
    fill[100](numbers)
fill[0](numbers)
double[40](numbers)
for _ in range(3):
    walkers.move(1.0)
oa.all(Walker).move(1.0)
with oa.capture() as step:
    double[100](numbers)
    fill[10](numbers)
step.run(5)
step.run()
thread = threading.Thread(target=doubles)
thread.start()
thread.join()
print(sys.argv[1:], __name__, walkers.x[0], numbers[99])
"""
#: Launches and threads of all of them, by kernel and line.
ROWS = {
    ("Walker.move (method)", "13"): (4, 200),
    ("fill", "17"): (7 + 6, 760),
    ("double", "22"): (1 + 6 + 4, 680),
    ("captured step", "43"): (6, None),
}
#: On a GPU the launches of a captured step are one graph.
GPU_ROWS = ROWS | {
    ("fill", "17"): (7, 700),
    ("double", "22"): (1 + 4, 80),
    ("double, fill (graph)", ""): (6, 660),
}
#: Bytes that launches touch, in lines of 64 on processors and sectors of 32 on GPUs: of 4-byte
#: numbers side by side, read or written. (Of 40 threads on a GPU each counts as one of the 100 that
#: were looked at last, for the graph.)
TOUCHED = {
    "cpu": {"fill": 64 * (7 * 7 + 6), "double": 64 * 2 * (3 + 6 * 7 + 4)},
    "cuda": {"fill": 32 * 7 * 13, "double": 32 * 2 * (5 + 40 * 13 / 100)},
}
#: Of the first launch of `fill`.
FIRST = {"cpu": 7 * 64, "cuda": 13 * 32}


def profile(folder: Path, script: str, *options: str, backend: str = "cpu", **variables: str):
    (folder / "script.py").write_text(script)
    settings = {"SHAREDOA_BACKEND": backend, "SHAREDOA_CACHE_DIR": "off", "SHAREDOA_FUSE": "0"}
    return forked.run(
        ["-m", "sharedoa", "profile", *options, "script.py", "--steps", "3", "-h"],
        {**os.environ, "PYTHONPATH": PATH, **settings, **variables},
        folder,
    )


def rows_of(output: str) -> dict[tuple[str, str], list[str]]:
    rows = [[c.strip() for c in row.split("│")[1:-1]] for row in output.splitlines() if "│" in row]
    return {(name, where.removeprefix("script.py:")): cells for name, where, *cells in rows}


@pytest.mark.parametrize(
    "backend",
    ["cpu", "python", pytest.param("cuda", marks=pytest.mark.gpu)],
)
def test_a_script_and_its_trace(tmp_path, backend):
    ending = 'sys.exit("no good" if numbers[99] else 3)\n'
    done = profile(tmp_path, SCRIPT + ending, "--trace", "out/trace.json", backend=backend)
    assert done.returncode == 1, done.stderr
    assert done.stderr == "no good\n"
    first, _ = done.stdout.split("\n", 1)
    assert first == f"['--steps', '3', '-h'] __main__ 4.0 {99 << 6}"
    rows = rows_of(done.stdout)
    found = {key: (int(row[0]), int(row[1]) if row[1] else None) for key, row in rows.items()}
    assert found == (GPU_ROWS if backend == "cuda" else ROWS)
    for total, mean, least, share, *_ in (row[2:] for row in rows.values()):
        assert 0 < float(least) <= float(mean) and 0 <= float(share.rstrip("%")) < 100
        assert float(total) > 0
    moved = {key: row[6] for key, row in rows.items()}
    if backend == "python":
        assert {*moved.values()} == {""} and "GB/s in a copy" not in done.stdout
    else:
        for name, touched in TOUCHED[backend].items():
            assert float(next(mb for key, mb in moved.items() if key[0] == name)) == pytest.approx(
                touched / 1e6, rel=0.03
            )
        assert "GB/s in a copy" in done.stdout
        limits = [re.sub(r" \d+%", "", row[8]) for row in rows.values()]
        assert {*limits} <= {"launch", "latency", "memory", "compute", ""}
    events = json.loads((tmp_path / "out/trace.json").read_text())["traceEvents"]
    times = Counter(each["cat"] for each in events)
    of_steps = {"graph": 6, "kernel": 12} if backend == "cuda" else {"kernel": 24}
    assert {"method": 4, "step": 2, **of_steps}.items() <= times.items()
    compiled = sum(int(row[9].split("(")[1].rstrip(")")) for row in rows.values() if row[9])
    assert times["compile"] == compiled
    bytes = [each["args"]["bytes"] for each in events if each["name"] == "fill"]
    assert backend == "python" or FIRST[backend] in bytes
    assert compiled == 0 if backend == "python" else compiled >= 3
    assert len({each["tid"] for each in events if each["name"] == "double"}) == 2
    for each in events:
        assert each["ph"] == "X" and each["ts"] >= 0 and each["dur"] >= 0 and each["name"]
    long, _ = (each for each in events if each["cat"] == "step")
    within = [
        each["name"]
        for each in events
        if long["ts"] <= each["ts"] and each["cat"] in ("kernel", "graph")
        and each["ts"] + each["dur"] <= long["ts"] + long["dur"]
    ]  # fmt: skip
    assert within == (["double, fill"] if backend == "cuda" else ["double", "fill"]) * 5


def test_a_script_that_raises_shows_its_own_lines_and_its_table(tmp_path):
    done = profile(tmp_path, SCRIPT + "raise ValueError('so it goes')\n")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: so it goes"
    line = len(SCRIPT.splitlines()) + 1
    assert re.findall(r"File .*", done.stderr) == [f'File "script.py", line {line}, in <module>']
    assert ("fill", "17") in rows_of(done.stdout)


def test_code_from_the_cache_is_told_from_code_that_was_compiled(tmp_path):
    cache = {"SHAREDOA_CACHE_DIR": str(tmp_path / "cache")}
    script = SCRIPT.split("\nheap = ")[0] + "\ndouble[5](oa.zeros(5, i32))\n"
    for number in range(2):
        done = profile(tmp_path, script, **cache)
        assert done.returncode == 0, done.stderr
        (row,) = rows_of(done.stdout).values()
        assert [bool(each) for each in row[9:]] == [number == 0, number == 1]


def test_what_cannot_be_profiled_is_refused_before_it_runs(tmp_path):
    (tmp_path / "file").touch()
    done = profile(tmp_path, "print('ran')", "--trace", "file/trace.json")
    assert done.returncode == 1 and "--trace" in done.stderr and "ran" not in done.stdout


RECURSIVE = """\
from __future__ import annotations

import os
from pathlib import Path

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.backends.cpu import CpuBackend
from sharedoa.backends.native_code import text_bytes


class Walker(oa.Object):
    x: f32

    def moved(self, times: i32) -> f32:
        if times > 0:
            return self.moved(times - 1) * f32(2.0) + self.x
        return self.x


@oa.kernel
def move(walkers: oa.Array[Walker]) -> None:
    walkers[oa.grid(1)].x = walkers[oa.grid(1)].moved(5)


def load(backend, symbol, stages, *given, **named):
    made = whole(backend, symbol, stages, *given, **named)
    loaded.append((symbol, made.library.address(symbol), text_bytes(stages["o"])))
    return made


loaded, whole, CpuBackend.load = [], CpuBackend.load, load
move[10](oa.new(Walker, 10))
((symbol, address, size),) = loaded
file = Path(f"/tmp/perf-{os.getpid()}.map")
lines = [line.split(maxsplit=2) for line in file.read_text().splitlines()]
file.unlink()
(moved, end, _), (kernel, whole_end, _) = places = sorted(
    (int(at, 16), int(at, 16) + int(length, 16), name) for at, length, name in lines
)
print([name for _, _, name in places], symbol, kernel == address)
# One after the other, from the start of all code to its end.
print(0 <= kernel - end < 64, whole_end - moved == size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="perf is Linux's")
def test_the_map_for_perf_says_where_each_function_lies(tmp_path):
    done = profile(tmp_path, RECURSIVE, "--perf-map", SHAREDOA_SPECIALISE="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == [
        "['Walker.1.moved', 'kernel_move'] kernel_move True",
        "True True",
    ]


def test_what_limits_a_row() -> None:
    from sharedoa.runtime.machine_rates import Rates
    from sharedoa.runtime.profile import Row

    rates = Rates(bytes=1e9, operations=1e9, launch=1e-6)
    row = Row("kernel", "k", "", launches=10, total=1_000_000)
    assert row.limit(rates) is None
    row.is_whole = True
    for bytes, operations, limit in (
        (6e5, 1e5, ("memory", 0.6)), (6e5, 9e5, ("compute", 0.9)), (4e5, 3e5, ("latency", 0.4)),
    ):  # fmt: skip
        row.bytes, row.operations = bytes, operations
        name, part = row.limit(rates) or ("", 0.0)
        assert (name, part) == (limit[0], pytest.approx(limit[1]))
    row.total = 25_000
    assert row.limit(rates) == ("launch", 0.4)
