"""Many numbers of ``rand()`` at once are those drawn one by one."""

from __future__ import annotations

import pytest

from apps.common.glibc_random import RAND_MAX, GlibcRandom
from apps.common.glibc_random_array import rand_array


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 + 5])
@pytest.mark.parametrize("count", [0, 1, 31, 1000, 1001, 12_345])
def test_against_the_generator(seed: int, count: int) -> None:
    generator = GlibcRandom(seed)
    assert rand_array(seed, count).tolist() == [generator.rand() for _ in range(count)]


def test_many() -> None:
    numbers = rand_array(42, 3_000_000)
    assert numbers[:3].tolist() == [71876166, 708592740, 1483128881]
    assert numbers.max() <= RAND_MAX
    assert numbers.mean() == pytest.approx(RAND_MAX / 2, rel=1e-3)
