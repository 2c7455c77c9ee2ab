"""What tapes have to do with each other: adjoints add up, and are no seeds of another tape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32


class Cell(oa.Object):
    x: f64
    k: f64
    age: i32

    def grow(self) -> None:
        self.x *= self.k


@pytest.fixture(autouse=True)
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB", initial_region=16) as made:
        yield made


@pytest.mark.parametrize("checkpoints", [None, 2])
def test_adjoints_of_tapes_add_up(checkpoints: int | None) -> None:
    cells, other = oa.new(Cell, 2, x=1.5, k=2.0), oa.zeros(2, f64)
    expected = np.zeros((2, 2))
    for _ in range(3):
        began = cells.x.numpy().copy()
        with oa.tape(checkpoints=checkpoints) as tape:
            cells.grow()
            loss = cells.x.sum() + (other[0] * 3.0)
        for _ in range(2):  # a tape is gone through as often as one likes
            tape.backward(loss)
            expected += [[2.0, 2.0], began]
            np.testing.assert_array_equal(cells.grad.x, expected[0])
            np.testing.assert_array_equal(cells.grad.k, expected[1])
    np.testing.assert_array_equal(oa.grad(other), [18.0, 0.0])
    tape.zero()
    assert not cells.grad.k.numpy().any() and not oa.grad(other).any()


def test_what_has_no_adjoints_says_what_has() -> None:
    cells = oa.new(Cell, 2, x=1.5, k=2.0)
    with oa.tape() as tape:
        cells.grow()
    tape.backward(cells.x, [1, 1])
    for name, complaint in (
        ("colour", "Cell has no field 'colour'; fields with adjoints: k, x"),
        ("age", "Cell.age has no adjoints, as it is no float: i32; fields with adjoints: k, x"),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(cells.grad, name)
        assert str(caught.value) == complaint


@pytest.mark.parametrize("gradient", [[1.0, 2.0, 3.0], ["a", "b"], [1j, 2.0], [[1.0], [2.0, 3.0]]])
def test_a_gradient_that_the_loss_has_no_numbers_for(gradient: Any) -> None:
    cells = oa.new(Cell, 2, x=1.5, k=2.0)
    with oa.tape() as tape:
        cells.grow()
    with pytest.raises(oa.ArgumentError, match="the gradient has no number for each of a loss"):
        tape.backward(cells.x, gradient)
    tape.backward(cells.x, [1, 2])
    np.testing.assert_array_equal(cells.grad.x, [2.0, 4.0])


def test_an_older_tape_is_gone_through_last() -> None:
    cells = oa.new(Cell, 2, x=1.5, k=2.0)
    tapes = []
    for _ in range(2):
        with oa.tape() as tape:
            cells.grow()
            tapes.append((tape, cells.x.sum()))
    tapes[1][0].backward(tapes[1][1])
    np.testing.assert_array_equal(cells.grad.k, [3.0, 3.0])
    tapes[0][0].backward(tapes[0][1])
    np.testing.assert_array_equal(cells.grad.k, [4.5, 4.5])
