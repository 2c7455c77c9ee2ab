"""Sampled threads touch what CPython's threads touch."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, i64
from sharedoa.sampling import control, threads
from tests.differential.effort import examples
from tests.source_files import load_module

from .programs import program
from .touching import sampled, touched

SEEDS = st.integers(0, 1 << 20)


def arguments(module: ModuleType, heap: oa.Heap, seed: int, is_run: bool) -> tuple[Any, ...]:
    """Of kernel ``run``, with objects that refer to one another in no order."""
    random, count = np.random.default_rng(seed), 45
    made = []
    for name, many in (("Node", 40), ("Left", 25), ("Right", 35), ("Corner", 20)):
        columns = {
            "a": random.integers(-100, 100, many),
            "b": random.uniform(-2, 2, many),
            "flag": random.integers(0, 2, many).astype(bool),
            "narrow": random.integers(-128, 128, many),
            "row": random.integers(-9, 9, (many, 3)),
        }
        if name != "Node":
            columns[f"own{name.lower()}"] = random.integers(-9, 9, many)
        made.append(heap.new(getattr(module, name), many, **columns))
    every = heap.concat(*made)
    every.next = every[random.integers(0, len(every), len(every))]
    every.maybe = every[random.integers(0, len(every), len(every))]
    lists = [every[k : k + k % 4] for k in range(9)]
    numbers = [heap.array(i32, random.integers(-9, 9, k)) for k in (0, 1, 2, 4, 4)]
    for place, node in enumerate(every):
        node.pair = module.Pair(int(random.integers(-9, 9)), float(random.uniform(-9, 9)))
        node.nodes, node.numbers = lists[place % 9], numbers[place % 5]
        if random.random() < 0.4:
            node.maybe = None
    given = made[0][:40] if is_run else every[random.permutation(len(every))[:count]]
    pair = module.Pair(3, 2.5)
    return given, every[5], None, pair, int(random.integers(-9, 9)), heap.zeros(count, i64)


def both(
    patch: pytest.MonkeyPatch, folder: Path, seed: int, references: str, unknown: bool
) -> tuple[Any, Any]:
    module = load_module(folder, program(seed, unknown))
    patch.setattr(threads, "_MOST_OPERATIONS", 1 << 20)
    patch.setattr(control, "INNER_ROUNDS", control.ROUNDS)
    patch.setattr(threads, "INNER_ROUNDS", control.ROUNDS)
    layout = ("tile", "aos")[seed % 2]
    with oa.Heap("auto", "cpu", layout, "64MiB", 32, references=references) as heap:
        given = arguments(module, heap, seed, is_run=seed % 3 == 0)
        size = 45, 1
        found = sampled(patch, module.run, size, *given)
        wanted = touched(patch, module.run, size, *given)
    # One step, as threads see it.
    return found, {key for key in wanted if key[2] != "count" or key[4]}


@settings(max_examples=examples(30))
@given(SEEDS, st.sampled_from(["32", "64"]))
def test_all_that_threads_touch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int, references: str
) -> None:
    found, wanted = both(monkeypatch, tmp_path, seed, references, unknown=False)
    assert found.keys() == wanted
    assert set(found.values()) <= {1.0}


@settings(max_examples=examples(15))
@given(SEEDS)
def test_ways_that_nobody_knows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int) -> None:
    found, wanted = both(monkeypatch, tmp_path, seed, "64", unknown=True)
    assert wanted <= found.keys()
    assert {key for key, weight in found.items() if weight == 1.0} <= wanted
