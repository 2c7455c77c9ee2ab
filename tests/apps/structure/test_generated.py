"""The generated structure: what is known of the paper's, sizes that make none."""

from __future__ import annotations

import numpy as np
import pytest

from apps.structure.generated import generate
from apps.structure.structure import ANCHOR, FREE, PULLED, Structure
from sharedoa import ArgumentError

from .running import generated_structure


@pytest.mark.slow
def test_the_paper_s_structure() -> None:
    structure = generated_structure(150_000)
    kinds = [int((structure.kind == kind).sum()) for kind in (FREE, PULLED, ANCHOR)]
    assert kinds == [97_500, 37_500, 15_000]
    assert structure.springs == 262_500
    degrees = np.bincount(structure.degrees())
    assert degrees.tolist() == [3_205, 12_127, 23_581, 30_201, 29_322, 51_564]
    assert structure.initial_length.astype(float).sum() == pytest.approx(41_061.90, abs=0.005)
    pairs = np.sort(np.stack([structure.first, structure.second], axis=1), axis=1)
    _, copies = np.unique(pairs, axis=0, return_counts=True)
    assert copies[copies > 1].tolist() == [2]


def test_values_lie_between_their_bounds() -> None:
    structure = generated_structure(1_500)
    for place in (structure.x, structure.y):
        assert place.dtype == np.float32
        assert 0.35 <= place.min() < 0.36 < 0.64 < place.max() <= 0.65
    pulled = structure.kind == PULLED
    for velocity in (structure.velocity_x, structure.velocity_y):
        assert not velocity[~pulled].any()
        assert -0.05 <= velocity.min() < -0.04 < 0.04 < velocity.max() <= 0.05
    assert 3 <= structure.factor.min() < 3.1 < 4.9 < structure.factor.max() <= 5
    assert set(structure.mass.tolist()) == {500.0}
    assert set(structure.max_force.tolist()) == {0.5}


def test_slots_and_springs_agree() -> None:
    structure = generated_structure(1_500)
    slots, table = structure.spring_slots, structure.node_springs()
    for spring in range(structure.springs):
        assert table[structure.first[spring], slots[spring, 0]] == spring
        assert table[structure.second[spring], slots[spring, 1]] == spring


def test_the_seed_decides() -> None:
    one, same, other = generate(40, 7), generate(40, 7), generate(40, 8)
    assert np.array_equal(one.x, same.x) and np.array_equal(one.first, same.first)
    assert not np.array_equal(one.x, other.x)


@pytest.mark.parametrize("size", [-20, 0, 1, 19, 21, 1_510])
def test_sizes_that_make_no_structure(size: int) -> None:
    with pytest.raises(ArgumentError, match="multiple of 20"):
        generate(size, 42)


def structure_of(**changed: object) -> Structure:
    floats = np.zeros(3, np.float32)
    columns: dict[str, object] = {
        "kind": np.full(3, FREE, np.int32),
        "x": floats, "y": floats, "velocity_x": floats, "velocity_y": floats,
        "mass": floats + np.float32(1),
        "first": np.array([0, 1], np.int32), "second": np.array([1, 2], np.int32),
        "factor": floats[:2], "max_force": floats[:2],
        **changed,
    }  # fmt: skip
    return Structure(**columns)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"first": np.array([0, 3], np.int32)}, "ends at node 3 of 3 nodes"),
        ({"first": np.array([0, -1], np.int32)}, "ends at node -1 of 3 nodes"),
        ({"first": np.array([0, 2], np.int32)}, "both ends of spring 1 are one node"),
        ({"mass": np.zeros(3, np.float32)}, "not finite"),
        ({"x": np.array([0, np.nan, 0], np.float32)}, "not finite"),
        (
            {
                "first": np.zeros(6, np.int32),
                "second": np.ones(6, np.int32),
                "factor": np.ones(6, np.float32),
                "max_force": np.ones(6, np.float32),
            },
            "node 0 has 6 springs",
        ),
    ],
)
def test_what_is_no_structure(changed: dict[str, object], message: str) -> None:
    assert structure_of().springs == 2
    with pytest.raises(ArgumentError, match=message):
        structure_of(**changed)
