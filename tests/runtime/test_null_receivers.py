"""Methods called on arrays in which somebody is None, on every backend and in captured steps."""

from __future__ import annotations

from typing import ClassVar

import pytest

import sharedoa as oa
from sharedoa import i64
from sharedoa.errors import ArgumentError, DeviceError


class Member(oa.Object):
    x: i64

    def more(self, n: i64) -> None:
        self.x += n

    def twice(self) -> i64:
        return 2 * self.x


class Special(Member):
    def twice(self) -> i64:
        return 3 * self.x


@oa.kernel
def replace(members: oa.Array[Member], others: oa.Array[Member], place: i64) -> None:
    members[place] = others[0]


def mixed(count: int) -> oa.Array:
    parts = [oa.new(Member, 1, x=1), oa.new(Special, 1, x=1)]
    return oa.concat(*(parts[n % 2] for n in range(count)))


@pytest.fixture
def members(backend: str):
    with oa.Heap(backend=backend):
        yield mixed(40)


def test_none_is_refused_with_its_place(members):
    members.twice()
    members[7] = members[11] = None
    for call in (members.twice, lambda: members.more(1)):
        with pytest.raises(ArgumentError, match="number 7 is None"):
            call()
    with pytest.raises(ArgumentError, match="number 1 is None"):
        members[6:].twice()
    assert members[8:11].twice().numpy().tolist() == [2, 3, 2]
    members[7] = members[11] = members[0]
    assert members.twice().numpy().sum() == 2 * 22 + 3 * 18


def test_none_that_a_kernel_stored(members):
    members.twice()
    nobody = oa.zeros(1, Member)
    replace[1](members, nobody, 5)
    with pytest.raises(ArgumentError, match="number 5 is None"):
        members.twice()
    replace[1](members, members[:1], 5)
    assert len(members.twice()) == 40


def test_none_in_a_captured_step(members):
    members.twice()
    with oa.capture() as step:
        members.more(1)
    step.run(2)
    members[3] = None
    before = members[0].x
    with pytest.raises(ArgumentError, match="number 3 is None"):
        step.run()
    assert members[0].x == before
    members[3] = members[1]
    step.run()
    assert members[0].x > before


def test_a_step_that_stores_none_is_looked_at_before_every_run(backend):
    with oa.Heap(backend=backend):
        members = oa.concat(oa.new(Member, 20, x=20), oa.new(Special, 20, x=20))
        nobody = oa.zeros(1, Member)
        with oa.capture() as step:
            members.more(1)
            replace[1](members, nobody, 5)
        with pytest.raises(ArgumentError, match="number 5 is None"):
            step.run(3)
        assert members[0].x == 21


def test_what_was_looked_at_is_remembered(monkeypatch):
    with oa.Heap(backend="cpu"):
        members = mixed(40)
        members.more(1)
        looks = []
        values = type(members)._values

        def note(array):
            looks.append(array)
            return values(array)

        monkeypatch.setattr(type(members), "_values", note)
        members.more(1)
        members[3:9].more(1)
        assert not looks
        members[2] = members[0]
        looks.clear()
        members.more(1)
        assert looks


class Named(oa.Object):
    KIND: ClassVar[int] = 1
    x: i64


class Other(Named):
    KIND = 2


@oa.kernel
def kinds(out: oa.Array[i64], objects: oa.Array[Named]) -> None:
    i = oa.grid(1)
    out[i] = objects[i].KIND


@pytest.mark.parametrize("debug", [False, True])
def test_none_has_no_constant(backend: str, debug: bool) -> None:
    with oa.Heap(backend=backend, debug=debug):
        objects, out = (
            oa.array(Named, [oa.new(Other), oa.new(Named), oa.new(Other)]),
            oa.zeros(3, i64),
        )
        kinds[3](out, objects)
        assert out.numpy().tolist() == [2, 1, 2]
        objects[1] = None
        with pytest.raises(DeviceError, match=r"null|NoneType") as caught:
            kinds[3](out, objects)
            oa.synchronize()
        assert "objects[i].KIND" in str(caught.value) or backend == "python"
