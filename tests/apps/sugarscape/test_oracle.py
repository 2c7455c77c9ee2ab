"""The oracle reproduces what is known, so that it may judge the program."""

from __future__ import annotations

import math

import numpy as np
import pytest

from .oracle import FEMALE, MALE, NOBODY, NOWHERE, Land

# What the program is compared with in all its tests.
pytestmark = pytest.mark.slow

#: Width and height, then males, females, sugar of all cells and checksum at the start and after 1,
#: 10, 50 and 100 steps; computed by this oracle when it had the numbers of `test_full_size` right.
SMALL = {
    (1, 7): [
        (0, 3, 0, 0x7D662C94),
        (0, 3, 11, 0x289C4ED8),
        (0, 0, 70, 0xE7249030),
        (0, 0, 100, 0xE6614A1E),
        (0, 0, 100, 0xE6614A1E),
    ],
    (3, 2): [
        (0, 2, 0, 0xFEB4F0D1),
        (0, 2, 0, 0x8C8594A4),
        (0, 0, 62, 0x51B9A015),
        (0, 0, 124, 0x3506A499),
        (0, 0, 124, 0x3506A499),
    ],
    (16, 9): [
        (16, 25, 0, 0x1F6049B0),
        (16, 25, 99, 0x58717868),
        (1, 2, 2_514, 0x330E85D0),
        (1, 1, 89_371, 0x66AD2FB1),
        (3, 3, 143_808, 0x8EEB1025),
    ],
    (100, 75): [
        (938, 1_133, 0, 0xDBEA6E9E),
        (886, 1_083, 3_817, 0xA1E46B4E),
        (67, 85, 67_416, 0x59004315),
        (74, 95, 1_424_836, 0x74BB3749),
        (165, 184, 10_743_454, 0xB6587F29),
    ],
}


def empty_land(width: int, height: int) -> Land:
    """Without agents, and nothing grows."""
    land = Land(width, height)
    land._clear(np.arange(width * height))
    land.growth[:] = 0
    return land


def put(land: Land, kind: int, cell: int, **numbers: int) -> None:
    """An agent that is old enough to mate and lives on nothing."""
    usual = {"vision": 1, "max_age": 99, "endowment": 60, "metabolism": 0, "max_children": 4}
    one = {name: np.array([value], np.int32) for name, value in usual.items()}
    land._make(kind, np.array([cell]), **one)
    for name, value in ({"age": 30} | numbers).items():
        getattr(land, name)[cell] = value


def kinds(land: Land) -> list[list[int]]:
    rows: list[list[int]] = land.kind.reshape(land.height, land.width).tolist()
    return rows


def test_an_eighth_of_an_eighth_spreads_two_cells_far() -> None:
    land = empty_land(6, 5)
    land.sugar[0], land.sugar[29] = 135, 3500
    land.step()
    # 135: 16 spread, 2 for each neighbour. 3500: no more than 60 spread, 7 for each neighbour.
    assert land.sugar.reshape(5, 6).tolist() == [
        [119, 2, 2, 0, 0, 0],
        [2, 2, 2, 0, 0, 0],
        [2, 2, 2, 7, 7, 7],
        [0, 0, 0, 7, 7, 7],
        [0, 0, 0, 7, 7, 3440],
    ]


def test_sugar_above_the_capacity_is_lost() -> None:
    land = empty_land(1, 1)
    land.sugar[0] = 3600
    land.step()
    assert land.sugar.tolist() == [3440]


@pytest.mark.parametrize(("numbers", "lives"), [
    ({"age": 98}, True), ({"age": 99}, False),
    ({"metabolism": 59}, True), ({"metabolism": 60}, False),
])  # fmt: skip
def test_death(numbers: dict[str, int], lives: bool) -> None:
    land = empty_land(3, 3)
    put(land, FEMALE, 4, **numbers)
    land.step()
    assert (land.females, land.age.any()) == (lives, lives)


def test_an_agent_goes_where_most_sugar_is_and_takes_it() -> None:
    land = empty_land(5, 1)
    put(land, MALE, 2)
    land.sugar[:] = [7, 3, 4, 5, 7]
    land.step()
    assert kinds(land) == [[0, 0, 0, 1, 0]]
    assert land.own_sugar[3] == 65
    assert land.sugar.tolist() == [7, 3, 4, 0, 7]


def test_who_sees_no_more_than_nothing_moves_nevertheless() -> None:
    """Free cells without sugar are as good as the best known, which is 0."""
    land = empty_land(2, 1)
    put(land, MALE, 0)
    land.step()
    assert kinds(land) == [[0, 1]]


def test_one_of_those_who_want_a_cell_gets_it() -> None:
    land = empty_land(3, 1)
    put(land, MALE, 0, age=0)
    put(land, MALE, 2, age=0)
    before = land.cell_generators.words.copy()
    land.step()
    assert kinds(land) in ([[0, 1, 1]], [[1, 1, 0]])
    # The cell draws for both of them, and no other cell draws.
    drawn = (land.cell_generators.words != before).any(axis=0)
    assert drawn.tolist() == [False, True, False]


def test_a_child() -> None:
    land = empty_land(3, 1)
    put(land, MALE, 0, endowment=51, own_sugar=34, max_age=90, metabolism=1)
    put(land, FEMALE, 1, own_sugar=70, max_children=3)
    for phase in (land._ask, land._accept, land._look_for_a_place, land._permit, land._bear):
        phase()
    # Vision is 1, and the only free cell is two cells off: he finds none.
    assert land.children.tolist() == [0, 0, 0]
    land.vision[0] = 2
    for phase in (land._ask, land._accept, land._look_for_a_place, land._permit, land._bear):
        phase()
    assert land.kind[2] != NOBODY
    assert land.children.tolist() == [0, 1, 0]
    assert land.own_sugar.tolist() == [34 - 25, 70 - 30, 55]
    assert [land.vision[2], land.max_age[2], land.metabolism[2], land.age[2]] == [1, 94, 0, 0]
    assert land.max_children[2] == (3 if land.kind[2] == FEMALE else 0)


@pytest.mark.parametrize(("male", "female"), [
    ({"own_sugar": 39}, {}), ({}, {"own_sugar": 39}), ({"age": 21}, {}), ({}, {"age": 21}),
    ({}, {"children": 4}),
])  # fmt: skip
def test_who_is_not_ready_has_no_child(male: dict[str, int], female: dict[str, int]) -> None:
    land = empty_land(2, 2)
    put(land, MALE, 0, **male)
    put(land, FEMALE, 1, **female)
    for phase in (land._ask, land._accept, land._look_for_a_place, land._permit, land._bear):
        phase()
    assert (land.males, land.females) == (1, 1)


def test_the_richest_is_asked_and_accepted() -> None:
    land = empty_land(3, 3)
    for cell, sugar in ((0, 50), (1, 70), (2, 70)):
        put(land, FEMALE, cell, own_sugar=sugar)
    for cell, sugar in ((3, 80), (4, 90), (5, 90)):
        put(land, MALE, cell, own_sugar=sugar)
    land._ask()
    # Neighbours are visited column by column, so the one to the left comes first.
    assert land.bride.tolist() == [NOWHERE] * 3 + [1, 1, 1] + [NOWHERE] * 3
    land._accept()
    assert np.flatnonzero(land.accepted).tolist() == [4]


@pytest.mark.parametrize(
    ("width", "height"),
    [pytest.param(*size, marks=[pytest.mark.slow] * (math.prod(size) > 100)) for size in SMALL],
)
def test_small_lands(width: int, height: int) -> None:
    land = Land(width, height)
    found = []
    for step in range(101):
        if step > 0:
            land.step()
        if step in (0, 1, 10, 50, 100):
            found.append((land.males, land.females, land.total_sugar, land.checksum))
    assert found == SMALL[width, height]


@pytest.mark.slow
def test_full_size() -> None:
    """Males and females as DynaSOAr's program counts them; sugar and checksum are this oracle's.

    After 500 steps, which take minutes, it has the 3,452 males, 3,315 females and sugar of that
    program, too.
    """
    land = Land(1700, 1700)
    for _ in range(100):
        land.step()
    assert (land.males, land.females) == (102_626, 101_912)
    assert (land.total_sugar, land.checksum) == (3_000_555_978, 0x0AA765FB)
