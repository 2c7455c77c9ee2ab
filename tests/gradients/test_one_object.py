"""Adjoints of one object."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32


class Node(oa.Object):
    pos: oa.vec2d
    mass: f64
    links: oa.inline[f64, 3]
    number: i32

    def pull(self) -> None:
        self.mass *= self.pos.x + self.links[1] * self.number


class Grad:
    """A mixin that has something of its own by that name."""

    @property
    def grad(self) -> f64:
        return self.mass * 10  # type: ignore[attr-defined,no-any-return]


class Graded(Node, Grad):
    pass


class Named(oa.Object):
    grad: f64


@pytest.fixture(autouse=True)
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(backend="cpu", capacity="64MiB", initial_region=16) as made:
        yield made


def test_as_those_of_many() -> None:
    nodes = oa.new(Node, 3, mass=[1, 2, 3], number=[4, 5, 6])
    with oa.tape() as tape:
        nodes.pull()
        loss = nodes.mass.sum()
    tape.backward(loss)
    for number, node in enumerate(nodes):
        assert node.grad.pos == oa.vec2d(number + 1, 0)  # type: ignore[attr-defined]
        assert node.grad.mass == nodes.grad.mass[number]  # type: ignore[attr-defined]
        links = np.asarray(node.grad.links)  # type: ignore[attr-defined]
        assert links.tolist() == [0, (number + 1) * (number + 4), 0]


def test_they_are_assigned() -> None:
    nodes = oa.new(Node, 3)
    nodes.grad.mass = [1, 2, 3]
    nodes.grad.mass += 1
    nodes[1].grad.mass *= 4  # type: ignore[attr-defined]
    nodes[0].grad.pos = oa.vec2d(5, 6)  # type: ignore[attr-defined]
    nodes[2].grad.links = [7, 8, 9]  # type: ignore[attr-defined]
    assert nodes.grad.mass.numpy().tolist() == [2, 12, 4]
    assert nodes.grad.pos.numpy().tolist() == [[5, 6], [0, 0], [0, 0]]
    assert nodes.grad.links.numpy().sum(axis=1).tolist() == [0, 0, 24]
    with pytest.raises(AttributeError, match=r"Node\.number has no adjoints, as it is no float"):
        nodes[0].grad.number = 3  # type: ignore[attr-defined]


def test_what_has_none() -> None:
    node = Node()
    with pytest.raises(AttributeError, match=r"Node\.number has no adjoints, .*: links, mass, pos"):
        node.grad.number  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="Node has no field 'missing'; fields with adjoints"):
        node.grad.missing  # type: ignore[attr-defined]
    oa.delete(node)
    with pytest.raises(oa.HeapError, match="was deleted"):
        node.grad.mass  # type: ignore[attr-defined]


def test_names_of_the_program_come_first() -> None:
    assert Named(grad=3).grad == 3 and oa.new(Named, 2, grad=4).grad.numpy().tolist() == [4, 4]
    graded = oa.new(Graded, 2, mass=2)
    assert graded[0].grad == 20 and graded.grad.numpy().tolist() == [20, 20]
