"""Virtual calls in C++ beside Python: what can be told without a GPU, and the whole with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from bench import __main__, class_family, cxx_family, virtual_call_cxx
from bench.class_family import FIELD, WIDTHS
from bench.cxx_family import cxx_family as made_family
from bench.harness import MODES, Options
from bench.virtual_call_cxx import (
    BRANCH,
    CALL,
    CXX,
    OBJECT_BYTES,
    PYTHON,
    ROUNDS,
    Case,
    cases,
    compare,
    cxx_fields,
    fields_of,
    in_turns,
    measure,
    require_distinct_bodies,
)
from dispatch.mode import parse_mode
from sharedoa.cxx.kernels import Kernel
from sharedoa.cxx.nvrtc import load_nvrtc
from sharedoa.errors import BackendError

from ..modes import half_of, rotated


@pytest.fixture
def _nvrtc() -> None:
    try:
        load_nvrtc()
    except BackendError as problem:
        pytest.skip(str(problem))


# ---------------------------------------------------------------- which cases, and when none


def test_without_a_gpu_it_says_so_and_records_nothing(monkeypatch, tmp_path, capsys):
    command = ["bench", "virtual_call_cxx", "--backend", "cpu", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", command)
    __main__.main()
    assert "needs an NVIDIA GPU" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_full_cases():
    found = list(cases(Options(full=True)))
    assert len(found) == len(set(found))
    mi = 1 << 20
    assert {(c.mode, c.types) for c in found if c.objects == 16 * mi and c.types == 4} == {
        (mode, 4) for mode in MODES if parse_mode(mode).placement == "by_type"
    }
    assert {c.objects for c in found if c.mode in ("cuda", "concord")} == {mi}
    of_coal = {(c.objects // mi, c.types) for c in found if c.mode == "coal"}
    assert of_coal == {(16, 1), (16, 4), (16, 8), (16, 32), (1, 4), (4, 4), (32, 4)}


def test_cases_of_chosen_modes():
    small = list(cases(Options(modes=("tag+vtable", "coal"))))
    expected = [(mode, types) for types in (1, 4, 32) for mode in ("tag+vtable", "coal")]
    assert [(c.mode, c.types) for c in small] == expected
    assert {c.objects for c in cases(Options(full=True, modes=("tag+vtable",)))} == {16 << 20}


@pytest.mark.parametrize("mode", MODES)
def test_objects_of_both_languages_have_the_same_size(mode, _nvrtc):
    with oa.Heap(mode=mode, backend="cpu") as heap:
        python = class_family.family(2, fields_of(heap.mode))
        for made in (python, made_family(2, cxx_fields())):
            for cls in made.classes:
                assert heap.layout.record(cls.__sharedoa__).size == OBJECT_BYTES


# ---------------------------------------------------------------- code


@pytest.mark.parametrize(("mode", "types"), rotated(half_of(MODES, 0), WIDTHS))
def test_every_class_keeps_its_body(mode, types, _nvrtc):
    chosen = parse_mode(mode)
    decision = require_distinct_bodies(made_family(types, cxx_fields()), chosen)
    if chosen.identify == "header" and chosen.invoke == "vtable":
        assert decision == "left alone"
    elif types == 1 and chosen.closed_world:
        assert decision == "direct"
    else:
        assert decision == f"{chosen.identify} + {chosen.invoke}"


@pytest.mark.parametrize("mode", ["sharedoa", "coal", "range+switch"])
def test_merged_bodies_are_refused(mode, monkeypatch, _nvrtc):
    """Bodies without an addition stand for bodies that a compiler made one of."""
    made_family.cache_clear()
    monkeypatch.setattr(cxx_family, "_expression", lambda kind: f"{kind + 1}.0f")
    try:
        with pytest.raises(AssertionError, match="0 additions for 4 classes"):
            require_distinct_bodies(made_family(4, cxx_fields()), parse_mode(mode))
    finally:
        made_family.cache_clear()


# ---------------------------------------------------------------- samples and ratios


def test_kernels_take_turns():
    taken = []

    def time_launches(launch, count):
        taken.append((launch, count))
        return [float(launch)] * count

    launches: dict[str, Any] = {"a": 1, "b": 2}
    samples = in_turns(launches, time_launches, 10)
    assert samples == {"a": [1.0] * 10, "b": [2.0] * 10}
    assert [launch for launch, _ in taken] == [1, 2, 2, 1, 1, 2, 2, 1]
    assert len(taken) == 2 * ROUNDS
    assert len(in_turns(launches, time_launches, 3)["a"]) == 3


def test_ratios():
    seconds = {(CXX, CALL): 6.0, (CXX, BRANCH): 3.0, (PYTHON, CALL): 4.0, (PYTHON, BRANCH): 2.0}
    case = {"mode": "coal", "objects": 8, "types": 4, "order": "mixed"}
    rows = [
        {**case, "language": language, "kernel": kernel, "median": median}
        for (language, kernel), median in seconds.items()
    ]
    rows.append({"mode": "coal", "objects": 1 << 40, "types": 4, "skipped": "too many"})
    compare(rows)
    found = {(r["language"], r["kernel"]): r for r in rows if "median" in r}
    call = found[CXX, CALL]
    assert call["ratio_to_branch"] == 2.0
    assert call["ratio_to_python"] == 1.5
    assert call["ratio_to_python_branch"] == 3.0
    assert found[CXX, BRANCH]["ratio_to_python"] == 1.5
    assert found[PYTHON, CALL]["ratio_to_branch"] == 2.0
    assert "ratio_to_python" not in found[PYTHON, CALL]


def test_too_many_objects_are_left_out_with_the_reason():
    (row,) = measure(Case("range+switch", 1 << 40, 4), "cpu", 3)
    assert "bytes of" in row["skipped"]


# ---------------------------------------------------------------- the whole


class OnHost:
    """Does on the host what the C++ kernels do, so that objects of a CPU heap are measured.
    ``broken`` is the kind whose objects are left as they are."""

    def __init__(self, broken: int | None = None) -> None:
        self.broken = broken

    def launch(self, kernel: Kernel, geometry, arguments) -> None:
        assert geometry.threads[0] == len(arguments[0])
        if kernel.name == "interleave":
            in_order, mixed, count, types, each = arguments
            for i in range(count):
                mixed[i] = in_order[(i % types) * each + i // types]
            return
        items, count, *rest = arguments
        for i in range(count):
            kind = int(type(items[i]).__name__.removeprefix("Item"))
            if kernel.name == "branch":
                shift, mask = rest
                assert kind == (i >> shift) & mask
            if kind != self.broken:
                value = np.array([getattr(items[i], FIELD)], np.float32)
                setattr(items[i], FIELD, class_family.updated(kind, value, 1)[0])


@pytest.mark.parametrize("mode", ["sharedoa", "tag+vtable", "bits+switch"])
def test_a_case_gives_rows_in_both_languages(mode, monkeypatch, _nvrtc):
    host = OnHost()
    monkeypatch.setattr(Kernel, "launch", lambda self, *given: host.launch(self, *given))
    rows = list(measure(Case(mode, 64, 4), "cpu", 3))
    compare(rows)
    assert [(r["order"], r["kernel"], r["language"]) for r in rows] == [
        (order, kernel, language)
        for order in ("mixed", "sorted")
        for kernel in (BRANCH, CALL)
        for language in (PYTHON, CXX)
    ]
    for row in rows:
        assert len(row["samples"]) == 3
        assert row["object_bytes"] == OBJECT_BYTES
        assert ("decision" in row) == (row["language"] == CXX and row["kernel"] == CALL)
        assert row["ratio_to_branch"] > 0
    virtual_call_cxx._show(rows)


@pytest.mark.parametrize("kind", [0, 3])
def test_wrong_results_are_told(kind, monkeypatch, _nvrtc):
    host = OnHost(broken=kind)
    monkeypatch.setattr(Kernel, "launch", lambda self, *given: host.launch(self, *given))
    with pytest.raises(AssertionError, match=rf"C\+\+: object \d+ of class {kind} holds"):
        list(measure(Case("range+switch", 64, 4), "cpu", 3))


@pytest.mark.gpu
def test_on_a_gpu():
    result = virtual_call_cxx.run(Options(backend="cuda", repeat=3))
    assert result.failures == []
    calls = [r for r in result.rows if r["kernel"] == CALL and r["language"] == CXX]
    assert {(r["mode"], r["types"], r["order"]) for r in calls} == {
        (mode, types, order)
        for mode in MODES
        for types in (1, 4, 32)
        for order in ("mixed", "sorted")
    }
    assert all(min(r["samples"]) > 0 and r["ratio_to_python"] > 0 for r in calls)
