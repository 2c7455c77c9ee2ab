"""The grid of dispatch measurements: what it runs, checks and compares."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sharedoa as oa
from bench import dispatch_grid, weighted_family
from bench.dispatch_grid import LAYOUTS
from bench.harness import Options, write
from bench.weighted_family import BODIES, expected
from dispatch.mode import AUTO

MODES = ("range+switch", "sharedoa")
OPTIONS = Options(backend="cpu", repeat=3, modes=MODES)


def test_runs_and_records(tmp_path):
    result = dispatch_grid.run(OPTIONS)
    record = json.loads(write(result, tmp_path).read_text())
    assert record["benchmark"] == "dispatch-grid"
    assert record["failures"] == []
    grid = dispatch_grid.SMALL
    cells = [(row["types"], row["order"], row["body"], row["field_bytes"]) for row in result.rows]
    assert cells == [
        (types, order, body, size)
        for types in grid.types
        for size in grid.field_bytes
        for order in grid.orders
        for body in grid.bodies
    ]
    for row in record["rows"]:
        for layout in LAYOUTS:
            times = row["times"][layout]
            assert set(times) == {AUTO, *MODES}
            assert all(len(time["samples"]) == 3 and time["min"] > 0 for time in times.values())
        for comparison, found in row["compared"].items():
            # On a CPU every mode takes records by default.
            times = row["times"]["aos" if comparison == "default" else comparison]
            fixed = {mode: time["median"] for mode, time in times.items() if mode != AUTO}
            assert found["best"] == min(fixed, key=fixed.__getitem__)
            assert found["ratio"] == times[AUTO]["median"] / min(fixed.values())


@pytest.mark.slow
def test_a_part_is_a_record_of_its_own():
    result = dispatch_grid.run(Options(backend="cpu", repeat=3, modes=("tag+switch",)), (1, 4))
    assert result.failures == []
    assert result.name == "dispatch-grid-types-1-4"
    assert [row["types"] for row in result.rows] == [1, 1, 4, 4]


def test_numbers_of_types_are_checked(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["dispatch_grid", "--types", "2,3"])
    with pytest.raises(SystemExit):
        dispatch_grid.main()
    assert "3 is none of (1, 2, 4" in capsys.readouterr().err


@pytest.mark.parametrize("types", [1, 8])
def test_orders_are_permutations(types):
    family, objects = weighted_family.weighted_family(types, 16), 1 << 12
    with oa.Heap(backend="cpu") as heap:
        in_order = heap.concat(*(heap.new(cls, objects // types) for cls in family.classes))
        mixed, shuffled = (heap.zeros(objects, family.base) for _ in range(2))
        family.module.arrange[objects](in_order, mixed, shuffled, types, objects)
        references = in_order.numpy()
        turned = references.reshape(types, -1).T.reshape(-1)
        np.testing.assert_array_equal(mixed.numpy(), turned)
        places = np.searchsorted(references, shuffled.numpy())
    np.testing.assert_array_equal(np.sort(places), np.arange(objects))
    # Neighbours are apart: in no direction, and seldom near each other.
    steps = np.diff(places)
    assert abs(np.median(steps)) < objects / 20
    assert (np.abs(steps) < 32).mean() < 0.05
    assert len(np.unique(steps)) > objects / 2


@pytest.mark.parametrize("body", BODIES)
def test_launches_and_classes_can_be_told_by_the_value(body):
    values = [expected(64, body, launches) for launches in (0, 54, 55)]
    assert not values[0].any()
    assert len(np.unique(values[2])) == 64
    assert (values[2] != values[1]).all() and (values[2] != values[0]).all()


def test_wrong_values_are_failures(monkeypatch):
    monkeypatch.setattr(
        dispatch_grid, "expected", lambda types, body, launches: expected(types, body, launches + 1)
    )
    result = dispatch_grid.run(OPTIONS)
    assert len(result.failures) == 3 * len(LAYOUTS)
    assert all("do not hold" in failure for failure in result.failures)


def test_merged_bodies_are_failures(monkeypatch):
    one_shape = weighted_family._class

    def of_one_shape(kind: int) -> str:
        return one_shape(2 * kind).replace(f"Item{2 * kind}(", f"Item{kind}(")

    monkeypatch.setattr(weighted_family, "_class", of_one_shape)
    monkeypatch.setattr(
        dispatch_grid, "expected", lambda types, *rest: expected(2 * types, *rest)[::2]
    )
    weighted_family.weighted_family.cache_clear()
    try:
        result = dispatch_grid.run(OPTIONS, (8,))
        # A pointer to a method of its own is what every class keeps in mode sharedoa.
        assert len(result.failures) == 2 * len(LAYOUTS)
        assert all("merged" in failure for failure in result.failures)
    finally:
        weighted_family.weighted_family.cache_clear()


def summary_of(median: float, spread: float) -> dict[str, float]:
    return {
        "median": median,
        "lower_quartile": median - spread,
        "upper_quartile": median + spread,
    }


@pytest.mark.parametrize(("spread", "apart"), [(0.01, True), (0.4, False)])
def test_each_in_its_own_layout(spread, apart):
    defaults = {AUTO: "tile", "sharedoa": "aos", "tag+switch": "aos"}
    medians = {
        "aos": {AUTO: 5.0, "sharedoa": 2.5, "tag+switch": 4.0},
        "tile": {AUTO: 3.0, "sharedoa": 8.0, "tag+switch": 2.0},
    }
    times = {
        layout: {mode: summary_of(median, spread) for mode, median in of.items()}
        for layout, of in medians.items()
    }
    found = dispatch_grid._compared(times, defaults)
    best = {comparison: (cell["best"], cell["ratio"]) for comparison, cell in found.items()}
    assert best == {
        "aos": ("sharedoa", 2.0),
        "tile": ("tag+switch", 1.5),
        "default": ("sharedoa", 1.2),
    }
    assert found["default"]["quartiles_apart"] is apart
