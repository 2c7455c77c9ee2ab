"""The oracle reproduces what is known, so that it may judge the program."""

from __future__ import annotations

import math

import numpy as np
import pytest

from .oracle import (
    EMPTY,
    FISH,
    SHARK,
    Array,
    Generators,
    Ocean,
    U,
    apply,
    next_sequence,
    next_words,
    one_step,
)

# What the program is compared with in all its tests.
pytestmark = pytest.mark.slow

#: Width and height, then fish, sharks and checksum at the start and after 1, 10, 100 and 300 steps;
#: computed by this oracle when it had the numbers of `test_full_size` right.
SMALL = {
    (1, 7): [
        (2, 0, 0xBA8DADD2),
        (2, 0, 0xC0C322EF),
        (6, 0, 0xBC6E8E33),
        (7, 0, 0xA724BE9A),
        (7, 0, 0x3B127B27),
    ],
    (2, 3): [
        (1, 0, 0xB990B8D4),
        (1, 0, 0x788D7CB3),
        (4, 0, 0x60B0E95A),
        (6, 0, 0x416177F8),
        (6, 0, 0xC0D19AE8),
    ],
    (16, 9): [
        (37, 36, 0xA805D510),
        (20, 41, 0x9F728B0F),
        (3, 14, 0xE5EDAFBB),
        (144, 0, 0xBF0AF9D5),
        (144, 0, 0xD3EAD899),
    ],
    (100, 75): [
        (1_874, 1_879, 0x04BA9BA0),
        (1_189, 2_273, 0x18E19C6A),
        (155, 797, 0x6313E3FE),
        (69, 582, 0xFB6CD160),
        (351, 718, 0xDCC84C5E),
    ],
    (300, 300): [
        (22_334, 22_573, 0xB663DCBB),
        (14_017, 27_187, 0xA39BCE8C),
        (1_654, 9_308, 0xBBEBA718),
        (1_143, 6_648, 0xF1491D19),
        (9_027, 8_756, 0x798B2535),
    ],
}


def ocean_of(rows: list[str]) -> Ocean:
    """An ocean in which agents stand as drawn: f, s or a dot; all are newly made from seed 4."""
    ocean = Ocean(len(rows[0]), len(rows))
    letters = np.array(list("".join(rows)))
    ocean._clear(np.arange(letters.size))
    for kind, letter in ((FISH, "f"), (SHARK, "s")):
        cells = np.flatnonzero(letters == letter)
        ocean._make(kind, cells, np.full(cells.size, 4, U))
    return ocean


def kinds(ocean: Ocean) -> list[int]:
    return np.bincount(ocean.kind, minlength=3).tolist()


def minimal_polynomial(bits: list[int]) -> int:
    """Of a sequence of bits, by Berlekamp and Massey; bit k is the coefficient of x^k."""
    connection, previous, length, since = 1, 1, 0, 1
    window = 0
    for n, bit in enumerate(bits):
        window = window << 1 | bit
        if (window & connection).bit_count() % 2 == 0:
            since += 1
        elif 2 * length <= n:
            connection, previous = connection ^ previous << since, connection
            length, since = n + 1 - length, 1
        else:
            connection ^= previous << since
            since += 1
    return int(f"{connection:0{length + 1}b}"[::-1], 2)


def remainder(value: int, divisor: int) -> int:
    """Of polynomials over bits."""
    while value.bit_length() >= divisor.bit_length():
        value ^= divisor << value.bit_length() - divisor.bit_length()
    return value


def square(polynomial: int) -> int:
    """Over bits, squaring puts a zero between the coefficients."""
    return int("0".join(f"{polynomial:b}"), 2)


def jumped_by_polynomial(words: Array, doublings: int) -> Array:
    """Five words moved on by 2^doublings steps, as x to that power modulo a polynomial says."""
    known = [words]
    for _ in range(400):
        known.append(next_words(known[-1]))
    polynomial = minimal_polynomial([int(w[0, 0]) & 1 for w in known])
    assert polynomial.bit_length() == 161
    power = 2
    for _ in range(doublings):
        power = remainder(square(power), polynomial)
    chosen = [w for k, w in enumerate(known[:160]) if power >> k & 1]
    return np.asarray(np.bitwise_xor.reduce(chosen))


@pytest.mark.parametrize(
    ("seed", "draws"),
    [
        (0, [3179217846, 1883133293, 2220552389]),
        (42, [300737663, 2363150160, 799977142]),
        (-1, [838671268, 3710781600, 1245491470]),
    ],
)
def test_known_draws(seed: int, draws: list[int]) -> None:
    generator = Generators.seeded(np.array([seed], np.int32).view(U))
    assert [int(generator.draw(np.array([0]))[0]) for _ in range(3)] == draws


def test_the_matrix_is_the_step() -> None:
    words = np.random.default_rng(1).integers(0, 2**32, (5, 300), U)
    assert np.array_equal(apply(one_step(), words), next_words(words))


def test_jumps_by_polynomials_are_steps() -> None:
    words = Generators.seeded(np.array([42])).words
    stepped = words
    for _ in range(2**10):
        stepped = next_words(stepped)
    assert np.array_equal(jumped_by_polynomial(words, 10), stepped)


def test_sequences_lie_2_to_67_draws_apart() -> None:
    """No matrix is in the other way to find them."""
    streams = Generators.sequences(42, 20)
    first = Generators.seeded(np.array([42]))
    assert np.array_equal(streams.words[:, :1], first.words)
    assert (streams.counter == first.counter).all()
    for sequence in range(19):
        expected = jumped_by_polynomial(streams.words[:, sequence, None], 67)
        assert np.array_equal(streams.words[:, sequence + 1, None], expected)


def test_far_sequences_are_many_jumps() -> None:
    streams = Generators.sequences(42, 2**12 + 1)
    far = jumped_by_polynomial(streams.words[:, :1], 67 + 12)
    assert np.array_equal(streams.words[:, -1:], far)
    assert np.array_equal(apply(next_sequence(), streams.words[:, :-1]), streams.words[:, 1:])


def test_only_those_who_choose_draw() -> None:
    ocean = ocean_of(["ff.", "fff", "fff"])
    before = ocean.agent_generators.words.copy(), ocean.cell_generators.words.copy()
    ocean._move_fish()
    changed = (ocean.agent_generators.words != before[0]).any(axis=0)
    # All four neighbours of the free cell ask, by a draw of a single choice; one of them moves.
    assert changed.reshape(3, 3).sum() == 5
    assert not changed.reshape(3, 3)[1:, :2].any()
    assert np.flatnonzero((ocean.cell_generators.words != before[1]).any(axis=0)).tolist() == [2]


def test_first_eggs_are_remainders_as_in_c() -> None:
    ocean = Ocean(8, 1)
    seeds = np.array([0, 3, 4, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 5, 2**32 - 1], U)
    ocean._make(SHARK, np.arange(8), seeds)
    assert ocean.egg.tolist() == [0, 3, 0, 3, 0, 2**32 - 3, 2**32 - 1, 2**32 - 1]
    assert ocean.energy.tolist() == [2] * 8


def test_fish_without_room_grow_eggs() -> None:
    ocean = ocean_of(["fff", "fff"])
    for _ in range(7):
        ocean.step()
    assert kinds(ocean) == [0, 6, 0]
    assert ocean.egg.tolist() == [7] * 6


def test_an_egg_hatches_when_its_parent_moves() -> None:
    ocean = ocean_of(["f...", "....", "...."])
    for _ in range(4):
        ocean.step()
    assert kinds(ocean) == [11, 1, 0]
    ocean.step()
    assert kinds(ocean) == [10, 2, 0]


def test_a_huge_egg_hatches_at_once_or_wraps_around() -> None:
    moving, enclosed = ocean_of(["f..", "..."]), ocean_of(["ff", "ff"])
    for ocean in (moving, enclosed):
        ocean.egg[0] = U(2**32 - 3)
        ocean.step()
    assert kinds(moving) == [4, 2, 0]
    assert enclosed.egg[0] == 2**32 - 2
    for _ in range(3):
        enclosed.step()
    assert enclosed.egg.tolist() == [1, 4, 4, 4]


def test_sharks_starve() -> None:
    ocean = ocean_of(["sss", "sss"])
    ocean.step()
    assert (ocean.energy == 1).all()
    ocean.step()
    assert kinds(ocean) == [6, 0, 0]
    assert not ocean.egg.any()


def test_a_shark_eats_the_only_fish() -> None:
    ocean = ocean_of(["fs"])
    ocean.step()
    assert ocean.kind.tolist() == [SHARK, EMPTY]
    assert ocean.energy.tolist() == [5, 0]


def test_one_of_four_sharks_gets_the_fish() -> None:
    ocean = ocean_of(["sssss", "sssss", "ssfss", "sssss", "sssss"])
    ocean.step()
    assert kinds(ocean) == [1, 0, 24]
    assert sorted(ocean.energy.tolist()) == [0] + [1] * 23 + [5]
    assert ocean.energy[12] == 5


@pytest.mark.parametrize(
    ("width", "height"),
    [pytest.param(*size, marks=[pytest.mark.slow] * (math.prod(size) > 1_000)) for size in SMALL],
)
def test_small_oceans(width: int, height: int) -> None:
    ocean = Ocean(width, height)
    found = []
    for step in range(301):
        if step > 0:
            ocean.step()
        if step in (0, 1, 10, 100, 300):
            found.append((ocean.fish, ocean.sharks, ocean.checksum))
    assert found == SMALL[width, height]


@pytest.mark.slow
def test_full_size() -> None:
    """What DynaSOAr's program counts; no code of ours computed the counts, but the checksum.

    After 500 steps, which take minutes, the oracle has the 494,984 fish and 466,206 sharks of that
    program, too, and checksum 0xB0019D95.
    """
    ocean = Ocean(2048, 2560)
    for _ in range(100):
        ocean.step()
    assert (ocean.fish, ocean.sharks, ocean.checksum) == (57_991, 405_299, 0x220167A9)
