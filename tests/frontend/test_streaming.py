"""Which methods are taken for short, and for the same few loads and stores for every object."""

from __future__ import annotations

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.runtime.vectorised_code import cost_of


class Node(oa.Object):
    value: f32
    other: f32
    count: i32
    peer: Node
    row: oa.inline[f32, 4]

    def plain(self) -> None:
        self.value = self.other * f32(2) + self.row[1]

    def through_a_call(self) -> None:
        self.plain()
        self.count += 1

    def of_peer(self) -> None:
        self.value = self.peer.other + self.peer.peer.row[0]

    def of_array(self, table: oa.Array[f32]) -> None:
        self.value = table[self.count]

    def own_field_of_peer(self) -> None:
        self.value = self.peer.value

    def own_field_of_peer_by_a_call(self) -> None:
        self.value = self.peer.read()

    def read(self) -> f32:
        return self.value

    def to_peer(self) -> None:
        self.peer.value = f32(1)

    def to_peer_by_a_call(self) -> None:
        self.peer.plain()

    def to_array(self, table: oa.Array[f32]) -> None:
        table[self.count] = self.value

    def to_another_receiver(self) -> None:
        self = self.peer
        self.value = f32(1)

    def with_a_branch(self) -> None:
        if self.count > 0:
            self.value = f32(1)

    def with_a_loop(self) -> None:
        for number in range(self.count):
            self.value += f32(number)

    def with_an_element_that_varies(self) -> None:
        self.row[self.count] = f32(1)

    def with_an_atomic(self) -> None:
        oa.atomic_add(self, "count", 1)

    def with_itself(self, left: i32) -> i32:
        return self.with_itself(left - 1)

    def with_a_virtual_call(self) -> f32:
        return self.virtual()

    def virtual(self) -> f32:
        return self.value


class Leaf(Node):
    def virtual(self) -> f32:
        return self.other


CASES = {
    "plain": True,
    "through_a_call": True,
    "of_peer": True,
    "of_array": True,
    "own_field_of_peer": False,
    "own_field_of_peer_by_a_call": False,
    "to_peer": False,
    "to_peer_by_a_call": False,
    "to_array": False,
    "to_another_receiver": False,
    "with_a_branch": False,
    "with_a_loop": False,
    "with_an_element_that_varies": False,
    "with_an_atomic": False,
    "with_itself": False,
    "with_a_virtual_call": False,
}


@pytest.mark.parametrize("name", CASES)
def test_streaming(name: str) -> None:
    cls = Node.__sharedoa__
    method = cls.find_method(name)
    assert method is not None
    cost = cost_of(cls, method)
    assert cost.is_short
    assert cost.is_streaming == CASES[name]
