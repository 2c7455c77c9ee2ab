"""Calls on ``self`` keep the classes that callers reach the method with, and no fewer."""

from __future__ import annotations

from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir.core import operations_in


class Base(oa.Object):
    other: Base
    number: i32

    def step(self) -> i32: ...

    def run(self) -> i32:
        return self.step()

    def through_a_name(self) -> i32:
        me = self
        return me.run() if self.number > 0 else me.step()

    def of_another(self) -> i32:
        return self.other.step()

    def again(self) -> i32:
        self.number -= 1
        return self.step() if self.number < 0 else self.again()

    def is_right(self) -> bool:
        return isinstance(self, Right) and self.run() == 3


class Left(Base):
    def step(self) -> i32:
        return 1


class Lower(Left):
    def step(self) -> i32:
        return 2


class Right(Base):
    def step(self) -> i32:
        return 3


@oa.kernel
def left_alone(left: Left, found: oa.Array[i32]) -> None:
    found[0] = left.run()


@oa.kernel
def lower_alone(lower: Lower, found: oa.Array[i32]) -> None:
    found[0] = lower.run()


@oa.kernel
def both_sides(left: Left, right: Right, found: oa.Array[i32]) -> None:
    found[0] = left.run() + right.run()


@oa.kernel
def once_for_all(left: Left, base: Base, found: oa.Array[i32]) -> None:
    found[0] = left.run() + base.run()


@oa.kernel
def through_a_name(left: Left, found: oa.Array[i32]) -> None:
    found[0] = left.through_a_name()


@oa.kernel
def of_another(left: Left, found: oa.Array[i32]) -> None:
    found[0] = left.of_another()


@oa.kernel
def again(right: Right, found: oa.Array[i32]) -> None:
    found[0] = right.again()


@oa.kernel
def never_right(left: Left, found: oa.Array[i32]) -> None:
    found[0] = i32(left.is_right())


_ALL = {"Left", "Lower", "Right"}


@pytest.mark.parametrize(
    ("kernel", "classes"),
    [
        (left_alone, {"Left", "Lower"}),
        (lower_alone, {"Lower"}),
        (both_sides, _ALL),
        (once_for_all, _ALL),
        (through_a_name, {"Left", "Lower"}),
        (of_another, _ALL),
        (again, {"Right"}),
        (never_right, {"Left", "Lower"}),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_the_classes_that_a_call_may_meet(kernel: Any, classes: set[str]) -> None:
    program = kernel.program.translation().ir
    calls = [each for each in operations_in(program) if each.kind == "call_virtual"]
    met = {candidate.cls.name for call in calls for candidate in call["candidates"]}
    assert met == classes
    assert not any(f"{name}." in each for name in _ALL - classes for each in program.functions)


@pytest.mark.parametrize("backend", ["python", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_they_run_the_same_methods(backend: str) -> None:
    with oa.Heap(backend=backend):
        left, lower, right = Left(number=1), Lower(number=2), Right(number=3)
        left.other = lower.other = right
        found = oa.zeros(1, i32)

        def result(kernel: Any, *given: Any) -> int:
            kernel[1](*given, found)
            return int(found[0])

        assert [result(left_alone, each) for each in (left, lower)] == [1, 2]
        assert result(lower_alone, lower) == 2
        assert result(both_sides, lower, right) == 5
        assert [result(once_for_all, left, each) for each in (lower, right)] == [3, 4]
        assert [result(through_a_name, each) for each in (left, lower)] == [1, 2]
        assert result(of_another, lower) == 3
        assert result(again, right) == 3
        assert result(never_right, left) == 0
