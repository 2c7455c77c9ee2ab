"""Which combinations of parameters are not slow."""

from __future__ import annotations

import itertools

import pytest

from .pairwise import pairwise


def _quick(parameters: list) -> list[tuple]:
    return [tuple(each.values) for each in parameters if not each.marks]


@pytest.mark.parametrize(
    ("sizes", "count"),
    [((4,), 4), ((2, 3), 6), ((6, 3, 21), 126), ((2, 2, 2, 2, 2), 8), ((16, 1, 3), 48)],
    ids=str,
)
def test_every_two_values_meet(sizes: tuple[int, ...], count: int) -> None:
    axes = [[f"{axis}.{value}" for value in range(size)] for axis, size in enumerate(sizes)]
    found = pairwise(*axes)
    assert [tuple(each.values) for each in found] == list(itertools.product(*axes))
    quick = _quick(found)
    pairs = {two for each in quick for two in itertools.combinations(each, 2)}
    for first, second in itertools.combinations(axes, 2):
        assert pairs >= set(itertools.product(first, second))
    assert len(quick) == count
    assert quick == _quick(pairwise(*axes))


def test_marks_stay_and_take_no_place() -> None:
    found = pairwise(["a", pytest.param("gpu", marks=pytest.mark.gpu)], [1, 2], [True, False])
    marks = {tuple(each.values): [mark.name for mark in each.marks] for each in found}
    assert all(marks["gpu", number, flag] == ["gpu"] for number in (1, 2) for flag in (True, False))
    assert _quick(found) == [("a", 1, True), ("a", 1, False), ("a", 2, True), ("a", 2, False)]
