"""``oa.sweep``: runs, seeds, errors, and the executors that need no process of their own."""

from __future__ import annotations

import json
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa.sweeps import call
from sharedoa.sweeps.processes import processes_for
from sharedoa.sweeps.runs import runs_of
from tests.sweeps.sweep_models import Car, cars

PARAMETERS = {"count": [2, 30], "dawdle": [0.0, 0.25]}


def test_every_combination_in_a_heap_of_its_own() -> None:
    oa.new(Car, 7)
    with ThreadPoolExecutor(2) as executor:
        table = oa.sweep(cars, PARAMETERS, repeats=3, seed=1, executor=executor)
    own = ["run", "seed", "cars", "speed", "place", "cores", "seconds", "error"]
    assert list(table.columns) == ["count", "dawdle", *own]
    assert list(table["run"]) == list(range(12)) and table["error"].isna().all()
    assert [*zip(table["count"], table["dawdle"], strict=True)] == [
        (count, dawdle) for count in (2, 30) for dawdle in (0.0, 0.25) for _ in range(3)
    ]
    np.testing.assert_array_equal(table["cars"], table["count"])
    speeds = table["count"] * (table["seed"] % 5 + 3 * (1 - table["dawdle"]))
    np.testing.assert_allclose(table["speed"], speeds)
    assert (table["seconds"] > 0).all() and len(oa.all(Car)) == 7


class Backwards(Executor):
    """Runs what it has, last first, when the last has been submitted."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.waiting = wanted, list[Any]()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, fn, args))
        if len(self.waiting) == self.wanted:
            for future_, function, given in reversed(self.waiting):
                future_.set_result(function(*given))
        return future


def draws(a: int, b: float, seed: int) -> dict[str, Any]:
    return {"x": np.random.default_rng(seed).random(), "a_b": np.float32(a * b)}


def test_seeds_depend_on_no_order_and_no_other_run() -> None:
    given = {"a": [1, 2], "b": [0.5, 3]}
    with ThreadPoolExecutor(3) as executor:
        table = oa.sweep(draws, given, repeats=5, seed=8, executor=executor)
    again = oa.sweep(draws, given, repeats=5, seed=8, executor=Backwards(20))
    columns = ["a", "b", "run", "seed", "x", "a_b"]
    assert table[columns].equals(again[columns])
    assert len(set(table["seed"])) == 20 and table["seed"].between(0, 2**63 - 1).all()
    of_run = {(run.parameters["a"], run.parameters["b"], run.seed) for run in runs_of(given, 5, 8)}
    more = runs_of({"b": np.array([3.0, 0.5, 1]), "a": range(3)}, 6, 8)
    assert of_run < {(run.parameters["a"], run.parameters["b"], run.seed) for run in more}
    others = {run.seed for run in runs_of(given, 5, 9)}
    assert others.isdisjoint(table["seed"])


def half(a: int) -> float:
    return a / 2


def test_a_model_without_randomness_and_with_one_result() -> None:
    with ThreadPoolExecutor(1) as executor:
        table = oa.sweep(half, {"a": [1, 2]}, executor=executor)
    assert list(table["result"]) == [0.5, 1.0]


def wrong(kind: str, seed: int) -> Any:
    if kind == "raises":
        raise KeyError("nobody")
    if kind == "exits":
        raise SystemExit(3)
    given: dict[str, Any] = {
        "none": None, "object": {"x": object()}, "name": {1: 2}, "parameter": {"kind": 1},
        "own": {"seed": 1}, "array": {"x": np.zeros(3)}, "fine": {"x": np.bool_(True)},
    }  # fmt: skip
    return given[kind]


def test_what_goes_wrong_is_told_and_the_others_go_on() -> None:
    kinds = ["raises", "exits", "none", "object", "name", "parameter", "own", "array", "fine"]
    with ThreadPoolExecutor(2) as executor:
        table = oa.sweep(wrong, {"kind": kinds}, executor=executor)
    errors = dict(zip(table["kind"], table["error"], strict=True))
    line = wrong.__code__.co_firstlineno + 2
    assert errors["raises"] == f"KeyError: 'nobody' (test_sweep.py:{line} in wrong)"
    assert errors["exits"].startswith("SystemExit: 3")
    assert "returned None" in errors["none"] and "'x' is not for a table" in errors["object"]
    assert "has a column 'kind'" in errors["parameter"] and "'seed' already" in errors["own"]
    assert "ndarray is neither" in errors["array"] and "is text, not 1" in errors["name"]
    assert table["error"].isna().sum() == 1 and table["x"].tolist()[-1] is True


@oa.kernel
def fails(a: oa.Array[oa.f32]) -> None:
    assert a[0] > 1.0


def launches(a: int, seed: int) -> dict[str, Any]:
    fails[1](oa.zeros(1, oa.f32))
    return {"x": 1}


def test_what_a_launch_does_wrong_is_its_own_runs_error() -> None:
    with ThreadPoolExecutor(1) as executor:
        table = oa.sweep(launches, {"a": [1]}, executor=executor)
    assert table["error"][0].startswith("DeviceError: ")


def no_seed(a: int) -> int:
    return a


@pytest.mark.parametrize(
    ("model", "parameters", "options", "told"),
    [
        (half, {"b": [1]}, {}, "does not take these parameters"),
        (no_seed, {"a": [1]}, {"repeats": 2}, "takes no seed"),
        (draws, {"a": 1, "b": [1]}, {}, "takes a list of values"),
        (draws, {"a": "abc", "b": [1]}, {}, "takes a list of values"),
        (draws, [1, 2], {}, "takes the values of parameters by name"),
        (draws, {"a": [], "b": [1]}, {}, "has no value"),
        (draws, {"a": [1, 1.0], "b": [1]}, {}, "has the value 1 2 times"),
        (draws, {"a": [object()], "b": [1]}, {}, "neither a number nor text"),
        (draws, {"a": [1], "seed": [1]}, {}, "cannot be a parameter"),
        (draws, {"a": [1], "b": [1]}, {"repeats": 0}, "repeats is a whole number from 1"),
        (draws, {"a": [1], "b": [1]}, {"seed": -1}, "seed is a whole number from 0"),
        (draws, {"a": [1], "b": [1]}, {"executor": 4}, "no concurrent.futures.Executor"),
        (draws, {"a": [1], "b": [1]}, {"to": "runs.txt"}, ".parquet or .csv"),
        (draws, {"a": [1], "b": [1]}, {"to": "nowhere/runs.csv"}, "nowhere cannot be used"),
        (3, {"a": [1]}, {}, "runs a function"),
    ],
)
def test_what_is_refused(
    model: Any, parameters: Any, options: dict[str, Any], told: str,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(oa.ArgumentError, match="help: ") as caught:
        oa.sweep(model, parameters, **options)
    assert told in str(caught.value)


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_the_extra_is_named_where_it_is_missing(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    monkeypatch.setitem(__import__("sys").modules, f"{missing}.parquet", None)
    with pytest.raises(oa.ConfigurationError, match=rf"needs {missing}[^$]*sharedoa\[sweep\]"):
        oa.sweep(draws, {"a": [1], "b": [1]}, to=tmp_path / "runs.parquet")


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    import contextlib

    import sharedoa.progress as progress

    @contextlib.contextmanager
    def reporting(title: str) -> Any:
        assert title == "half"
        yield lambda done, total: seen.append((done, total))

    monkeypatch.setattr(progress, "reporting", reporting)
    with ThreadPoolExecutor(1) as executor:
        oa.sweep(half, {"a": range(4)}, executor=executor)
    assert seen == [(done, 4) for done in range(5)]


class Losing(Executor):
    """Loses every run ``times`` times before a thread does it."""

    def __init__(self, times: int) -> None:
        self.times, self.lost = times, dict[str, int]()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        key = json.dumps(args[1])
        self.lost[key] = self.lost.get(key, 0) + 1

        def do() -> None:
            if self.lost[key] <= self.times:
                future.set_exception(OSError("the worker has gone"))
            else:
                future.set_result(fn(*args))

        threading.Thread(target=do).start()
        return future


def test_a_run_is_lost_twice_and_not_three_times() -> None:
    table = oa.sweep(half, {"a": range(5)}, executor=Losing(2))
    assert list(table["result"]) == [0, 0.5, 1, 1.5, 2] and table["error"].isna().all()
    table = oa.sweep(half, {"a": range(5)}, executor=Losing(call._ATTEMPTS))
    assert set(table["error"]) == {"OSError: the worker has gone (3 times)"}


def test_a_lambda_goes_to_no_other_process_where_the_gpu_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sharedoa.backends import cuda_device
    from sharedoa.runtime import knobs
    from sharedoa.sweeps.main_script import Model

    class Device:
        missing = None

    monkeypatch.setattr(cuda_device, "cuda_devices", lambda: [Device(), Device()])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5, GPU-abc")
    with knobs.scope(backend="auto"):
        with pytest.raises(oa.ArgumentError, match="cannot be sent to other processes"):
            processes_for(Model(lambda a: a), 3)
        found = processes_for(Model(half), 3)._places
    assert [dict(each.variables) for each in found] == [
        {"CUDA_VISIBLE_DEVICES": "5"}, {"CUDA_VISIBLE_DEVICES": "GPU-abc"},
    ]  # fmt: skip
