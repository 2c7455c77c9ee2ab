"""The benchmark of layouts: cells, orders, and what is checked."""

from __future__ import annotations

import numpy as np
import pytest

from bench import field_layout
from bench.field_layout import FIXED, LAYOUTS, SMALL, Case, Grid, orders
from bench.harness import Options


def test_every_cell_is_measured_in_every_layout(tmp_path, monkeypatch):
    monkeypatch.setattr(field_layout, "SMALL", Grid((4,), 256))
    result = field_layout.run(Options(backend="cpu", out=tmp_path, repeat=3))
    assert result.failures == []
    assert len(result.rows) == len(list(SMALL.cases())) * len(orders(256))
    for row in result.rows:
        assert all(len(row[layout]["samples"]) == 3 for layout in LAYOUTS)
        best = min(row[layout]["median"] for layout in FIXED)
        assert row["ratio"] == row["auto"]["median"] / best


@pytest.mark.parametrize("order", orders(128))
def test_every_object_is_met_once(order):
    places = orders(4096)[order]
    assert np.array_equal(np.sort(places), np.arange(4096))


def test_how_far_objects_are_from_their_order():
    found = {order: np.diff(places) for order, places in orders(4096).items()}
    assert (found["neighbours"] == 1).all()
    assert (found["tiles"].reshape(-1)[:31] == 1).all()
    assert (found["strided"][:31] == 4).all()
    shares = [(found[order] == 1).mean() for order in ("tiles", "eights", "pairs", "shuffled")]
    assert shares == sorted(shares, reverse=True)


def test_wrong_sums_are_failures(tmp_path, monkeypatch):
    monkeypatch.setattr(field_layout, "SMALL", Grid((4,), 256))
    right = field_layout._check

    def check(case: Case, values, out):
        right(case, values + 1, out)

    monkeypatch.setattr(field_layout, "_check", check)
    result = field_layout.run(Options(backend="cpu", out=tmp_path, repeat=3))
    assert result.rows == []
    assert len(result.failures) == len(list(SMALL.cases())) * 7 * len(LAYOUTS)
    assert "the sums are wrong" in result.failures[0]
