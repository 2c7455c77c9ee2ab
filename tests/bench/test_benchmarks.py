"""Every benchmark runs at its small size and leaves a record that can be read."""

from __future__ import annotations

import importlib
import json
import sys
import types

import numpy as np
import pytest

import sharedoa as oa
from apps.common.automaton.reference import Reference
from apps.common.automaton.rule import ALIVE
from apps.game_of_life.boards import random_board
from apps.game_of_life.parameters import RULE
from bench import __main__ as bench_command
from bench import (
    class_family,
    cpu_numba,
    dispatch_grid,
    harness,
    page_migrations,
    traffic,
    virtual_call,
)
from bench.__main__ import NAMES
from bench.harness import Options, Result, summary, versions, write
from bench.peers import plain_life

MODES = ("coal",)


#: Benchmarks with tests of their own: they need what the tests' environment may lack, or their rows
#: have another form.
TESTED_APART = (
    "virtual_call_cxx", "cpu_numba", "cpu_mesa", "dispatch_grid", "field_layout", "page_migrations",
    "programs", "sweep", "source_lines",
)  # fmt: skip


#: Starts fifteen processes; their parts have tests of their own; and three that take longest.
SLOW = (
    "compile_time", "reproduce", "virtual_call", "agents", "gradients", "specialised", "traffic",
)  # fmt: skip


#: Of several programs, which are measured in the same way, one.
ONE = {
    "births": ("PROGRAMS", "wator"),
    "gradients": ("MAKERS", "springs"),
    "specialised": ("PROGRAMS", "GEN"),
}


@pytest.mark.parametrize(
    ("name", "one"),
    [
        *(
            pytest.param(name, ONE.get(name), marks=[pytest.mark.slow] * (name in SLOW), id=name)
            for name in NAMES
            if name not in TESTED_APART
        ),
        *(pytest.param(name, None, marks=pytest.mark.slow, id=f"{name}, all") for name in ONE),
    ],
)
def test_runs_and_records(name, one, tmp_path, monkeypatch):
    options = Options(backend="cpu", out=tmp_path, repeat=2, modes=MODES)
    benchmark = importlib.import_module(f"bench.{name}")
    if one is not None:
        programs, chosen = one
        monkeypatch.setattr(benchmark, programs, {chosen: getattr(benchmark, programs)[chosen]})
    result = benchmark.run(options)
    record = json.loads(write(result, tmp_path).read_text())
    assert record["benchmark"] == result.name
    assert record["machine"]["backend"] == "cpu"
    assert {"sharedoa", "llvmlite", "numpy", "llvm"} <= set(record["versions"])
    assert record["rows"] and record["failures"] == []
    for row in record["rows"]:
        if row.get("part") != "code":  # which no clock measures
            assert row["samples"] and min(row["samples"]) > 0


def test_records_are_named_by_device_and_date(tmp_path):
    file = write(Result("some-name", "cpu", {}, [{"samples": [0.5]}]), tmp_path)
    record = json.loads(file.read_text())
    assert file.parent == tmp_path
    assert file.name.startswith("some-name-cpu-")
    assert file.name.endswith(f"{record['date'][:10]}.json")


def test_a_record_goes_where_a_symlink_leads(tmp_path):
    (tmp_path / "record.unfinished").write_text("somebody's")
    (tmp_path / "record.json").symlink_to("target.json")
    harness.write_record({"benchmark": "some-name"}, [{"a": 1}], tmp_path / "record.json")
    assert (tmp_path / "record.json").is_symlink()
    assert json.loads((tmp_path / "target.json").read_text())["rows"] == [{"a": 1}]
    assert (tmp_path / "record.unfinished").read_text() == "somebody's"


def test_records_name_settings_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SHAREDOA_REFERENCES", "32")
    monkeypatch.setenv("SHAREDOA_DUMP", str(tmp_path))
    record = json.loads(write(Result("some-name", "cpu", {}, []), tmp_path).read_text())
    assert record["environment"] == {"SHAREDOA_REFERENCES": "32"}


def test_summary():
    found = summary([4.0, 1.0, 3.0, 2.0, 5.0])
    assert found["samples"] == [4.0, 1.0, 3.0, 2.0, 5.0]
    assert (found["lower_quartile"], found["median"], found["upper_quartile"]) == (2.0, 3.0, 4.0)


def test_every_mode_is_compared_with_the_branch_on_equal_objects():
    result = virtual_call.run(Options(backend="cpu", repeat=3, modes=("sharedoa",)))
    calls = [row for row in result.rows if row["kernel"] == "virtual call"]
    branches = [row for row in result.rows if row["kernel"] == "branch"]
    assert [(row["types"], row["order"]) for row in calls] == [
        (types, order) for types in (1, 4, 32) for order in ("mixed", "sorted")
    ]
    for call, branch in zip(calls, branches, strict=True):
        assert call["object_bytes"] == branch["object_bytes"] == 24
        assert call["ratio_to_branch"] == call["median"] / branch["median"]
        # Times of a GPU say nothing about this machine.
        assert call["ratio_to_hand_written"] is None


def test_a_module_that_is_made_again_is_another_one(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for number in "1", "2":
        assert class_family.load("made_again", f"number = {number}\n").number == int(number)


def test_bodies_that_llvm_merges_are_refused(monkeypatch):
    class_family.family.cache_clear()
    monkeypatch.setattr(class_family, "_expression", lambda kind: f"self.a + {kind + 1}.0")
    try:
        result = virtual_call.run(Options(backend="cpu", repeat=3, modes=("range+switch",)))
        # One class alone has nothing to be merged with.
        assert len(result.failures) == 2
        assert all("merged" in failure for failure in result.failures)
    finally:
        class_family.family.cache_clear()


@pytest.mark.parametrize("kind", [0, 1, 6, 7])
@pytest.mark.parametrize("times", [1, 2, 5])
def test_closed_form_of_updates(kind, times):
    values = np.arange(16, dtype=np.float32)
    with oa.Heap(backend="cpu"):
        made = class_family.family(8)
        objects = oa.new(made.classes[kind], 16, **{class_family.FIELD: values})
        for _ in range(times):
            objects.update()
        found = np.array(getattr(objects, class_family.FIELD))
    np.testing.assert_array_equal(found, class_family.updated(kind, values, times))


def test_too_many_objects_are_left_out_with_the_reason():
    result = Result("virtual-call", "cpu", {})
    case = virtual_call.Case("range+switch", 1 << 40, 4)
    result.rows += virtual_call._measure(case, "cpu", 3)
    assert "bytes of" in result.rows[0]["skipped"]
    scattered = virtual_call.Case("cuda", 1 << 30, 4)
    (row,) = virtual_call._measure(scattered, "cpu", 3)
    assert "one by one" in row["skipped"]


def test_wrong_counts_are_failures(monkeypatch):
    monkeypatch.setitem(traffic.REFERENCE, (20, 200), (1, 2, 3, 4))
    # For which the programs have been compiled.
    result = traffic.run(Options(backend="cpu", modes=MODES))
    (failure,) = result.failures
    assert "'active': 234" in failure and "'active': 1" in failure
    assert [row["flavour"] for row in result.rows] == ["faithful", "natural"]


def test_failures_are_recorded_and_fail_the_command(monkeypatch, tmp_path):
    result = Result("some-name", "cpu", {})
    with result.attempt("the case"):
        raise oa.HeapError("no room")
    assert result.failures == ["the case: no room"]
    monkeypatch.setattr("sys.argv", ["bench", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="1 failures"):
        harness.main(lambda options: result, None)
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["failures"] == result.failures


COMMANDS = {
    "harness": ([], lambda: harness.main(NoDriver.run, None)),
    "bench": (["stand_in"], bench_command.main),
    "dispatch_grid": ([], dispatch_grid.main),
    "page_migrations": ([], page_migrations.main),
}


class NoDriver:
    """In place of the modules of benchmarks: ``run`` fails as where there is no driver."""

    ran = 0

    @classmethod
    def run(cls, *given):
        cls.ran += 1
        raise oa.BackendError("there is no driver", "install one")


@pytest.fixture(params=COMMANDS)
def command(request, monkeypatch):
    """Calls a command line with arguments; its benchmark cannot run."""
    own, main = COMMANDS[request.param]
    monkeypatch.setattr(bench_command, "NAMES", ("stand_in",))
    monkeypatch.setitem(sys.modules, "bench.stand_in", NoDriver)
    for module in (dispatch_grid, page_migrations):
        monkeypatch.setattr(module, "run", NoDriver.run)
    monkeypatch.setattr(NoDriver, "ran", 0)

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["bench", *own, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    return call


def test_a_user_s_mistake_is_told_in_words(command, tmp_path):
    assert command("--out", tmp_path) == "error: there is no driver\nhelp: install one"
    assert NoDriver.ran == 1


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_runs(command, tmp_path):
    file = tmp_path / "file"
    file.touch()
    for folder in (file, file / "folder"):
        message = command("--out", folder)
        assert f"error: --out: {folder} is no folder that can be written to" in message
    assert NoDriver.ran == 0


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--repeat", "0", "0 is no number from 1 on"),
        ("--repeat=-1", None, "-1 is no number from 1 on"),
        ("--backend", "rocm", "invalid choice: 'rocm'"),
        ("--modes", "coal,tagged", "unknown mode 'tagged'; valid modes are cuda, concord"),
    ],
)
def test_values_that_mean_nothing_are_refused(command, capsys, option, value, message):
    assert command(option, *([] if value is None else [value])) == 2
    assert message in capsys.readouterr().err
    assert NoDriver.ran == 0


def test_a_record_that_cannot_be_written_is_told_with_its_file(tmp_path):
    with pytest.raises(oa.ConfigurationError, match="cannot be written: Is a directory"):
        harness.write_record({"benchmark": "some-name"}, [], tmp_path)


def test_without_numba_there_is_nothing_to_compare(monkeypatch, capsys):
    monkeypatch.setattr(cpu_numba, "find_spec", lambda name: None)
    result = cpu_numba.run(Options(backend="cpu"))
    assert not result.rows and not result.failures
    assert "numba is not installed" in capsys.readouterr().out


def test_numba_counts_the_same():
    pytest.importorskip("numba")
    result = cpu_numba.run(Options(backend="cpu"))
    assert result.failures == []
    assert {row["program"] for row in result.rows} >= {"traffic", "life with agents, soup"}
    assert all(row["ratio"] > 0 for row in result.rows)


def test_life_without_agents_follows_the_rule():
    board = random_board(30, 7)
    reference = Reference(RULE, board)
    with oa.Heap(backend="cpu") as heap:
        simulation = plain_life.ObjectSimulation(heap, board)
        for _ in range(5):
            simulation.advance()
            reference.advance()
            alive = int((reference.states() == ALIVE).sum())
            assert simulation.counts() == {"alive": alive}


def test_records_say_which_cupy_was_used(monkeypatch):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert "cupy" not in versions()
    cupy = types.ModuleType("cupy")
    cupy.__version__ = "14.0.1"
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert versions()["cupy"] == "14.0.1"
