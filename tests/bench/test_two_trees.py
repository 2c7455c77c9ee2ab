"""``bench.two_trees``: ratios of pairs, and a tree beside itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.two_trees import Pairs, interval

_TREE = Path(__file__).parents[2]


def _clusters(shift: float, between: float, within: float) -> list[list[float]]:
    draw = np.random.default_rng(3)
    means = shift + between * draw.standard_normal(6)
    return [(mean + within * draw.standard_normal(30)).tolist() for mean in means]


def test_what_costs_nothing_lies_within() -> None:
    ratio, low, high = interval(_clusters(1.0, 0.005, 0.02))
    assert low < 1 < high and abs(ratio - 1) < 0.01


def test_one_percent_is_seen_through_noise_of_single_samples() -> None:
    _, low, _ = interval(_clusters(1.02, 0.002, 0.03))
    assert low > 1.01


def test_what_differs_between_processes_widens_it() -> None:
    _, low, high = interval(_clusters(1.0, 0.0, 0.02))
    _, low_between, high_between = interval(_clusters(1.0, 0.05, 0.02))
    assert high_between - low_between > 3 * (high - low)


def test_pairs_are_samples_of_one_turn() -> None:
    row = Pairs("calls", "one", [{"this": [(2.0, 3.0), (4.0, 8.0)], "other": [(1.0, 1.0)] * 2}])
    assert row.ratios(0) == [[2.0, 4.0]] and row.ratios(1) == [[3.0, 8.0]]


@pytest.mark.slow  # two processes that compile
def test_a_tree_beside_itself() -> None:
    rows = ["launch of one thread", "scalability"]
    done = subprocess.run(
        [sys.executable, "-m", "bench.two_trees", str(_TREE), "--twins", "1", "--pairs", "2",
         "--rows", *rows],
        cwd=_TREE, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == rows
