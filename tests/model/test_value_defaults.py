"""Value structs with defaults and constants, in CPython and in kernels."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from tests.codegen.interpreted import InterpretedGpu
from tests.source_files import load_module


class Owner(oa.Object):
    number: i32


@oa.value
class Weight:
    a: i32
    b: f32 = 0.1


@oa.value
class Spring:
    STIFF: ClassVar[float] = 3.5
    ENDS: ClassVar = (2, 5)
    rest: f32
    pull: f32 = 2
    weight: Weight = Weight(4)
    owner: Owner | None = None

    def total(self, k: i32) -> f32:
        own = self.owner.number if self.owner is not None else -1
        return f32(self.STIFF) * self.rest + self.pull + self.weight.b + self.ENDS[k % 2] + own


class Body(oa.Object):
    spring: Spring
    total: f32

    def stretch(self, by: f32, owner: Owner) -> None:
        made = Spring(by)
        self.spring = Spring(by, owner=owner, weight=Weight(7, by))
        self.total = made.total(self.spring.weight.a) + Spring(1, 3).total(0) * f32(Spring.STIFF)


def _run(backend: object) -> list[Any]:
    with oa.Heap(backend=backend):
        bodies = oa.new(Body, 4, spring=Spring(1))
        found = [bodies.spring.numpy().tolist()]
        bodies.stretch([1, 2, 3, 4], Owner(number=50))
        weights = [(each.spring.weight, each.spring.owner.number) for each in bodies]
        return [*found, bodies.total.numpy().tolist(), weights]


def test_the_same_everywhere() -> None:
    expected = _run("python")
    first, totals, weights = expected
    assert first == [(1.0, 2.0, (4, np.float32(0.1)), 0)] * 4
    assert np.isclose(totals[1], 3.5 * 2 + 2 + 0.1 + 5 - 1 + 3.5 * (3.5 + 3 + 0.1 + 2 - 1))
    assert weights[2] == (Weight(7, 3), 50)
    for backend in "cpu", InterpretedGpu():
        assert _run(backend) == expected


def test_defaults_have_the_types_of_their_fields() -> None:
    spring = Spring(1)
    assert isinstance(spring.pull, np.float32) and spring == Spring(1, 2, Weight(4, 0.1), None)
    assert repr(Weight(3)) == "Weight(a=3, b=0.1)"
    with pytest.raises(oa.ArgumentError, match="pass every field that has no default"):
        Spring()  # type: ignore[call-arg]
    with oa.Heap(backend="cpu"):
        assert oa.array(Weight, [Weight(1), Weight(2, 3)]).numpy()["b"].tolist() == [
            np.float32(0.1),
            3,
        ]


def test_constants_are_seen_as_they_are_now() -> None:
    @oa.value
    class Scaled:
        FACTOR: ClassVar[float] = 2.0
        x: f32

        def out(self) -> f32:
            return self.x * f32(self.FACTOR)

    class Holder(oa.Object):
        scaled: Scaled

        def out(self) -> f32:
            return self.scaled.out()

    for backend in "python", "cpu":
        with oa.Heap(backend=backend):
            holders = oa.new(Holder, 2, scaled=Scaled(3))
            for factor in 2.0, 5.0:
                Scaled.FACTOR = factor
                assert holders.out().numpy().tolist() == [3 * factor] * 2


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("x: f32 = 1.0\n    y: f32", "field y has no default, and comes after x, which has one"),
        ("x: i32 = 1.5", "the default of x takes i32, and float does not convert"),
        ("x: f32 = 'a'", "the default of x takes f32, not"),
        ("x: Owner = Owner", "the default of x is an object"),
        ("K: ClassVar[int] = 3", "value struct V has no fields"),
    ],
)
def test_refused(body: str, complaint: str, tmp_path: Path) -> None:
    text = f"@oa.value\nclass V:\n    {body}\n"
    with pytest.raises(oa.ClassError, match=complaint) as caught:
        load_module(tmp_path, text, Owner=Owner, ClassVar=ClassVar)
    assert caught.value.help


def test_a_dataclass_is_refused() -> None:
    with pytest.raises(oa.ClassError, match=r"V is decorated as a dataclass, too\nhelp: leave"):

        @oa.value
        @dataclasses.dataclass
        class V:
            x: f32


_FINAL = """
from typing import ClassVar, Final


class Mixin:
    SHARE: Final = 4


class Agent(Mixin, oa.Object):
    RATE: Final = 0.5
    STEPS: Final[tuple[int, ...]] = (2, 3, 5)
    n: i32

    def rate(self) -> f64:
        return self.RATE * self.STEPS[self.n] + Agent.RATE + self.SHARE


@oa.value
class Law:
    POWER: "Final[int]" = 3
    factor: f32

    def of(self, x: f32) -> f32:
        return self.factor * pow(x, self.POWER)


class Fall(oa.Object):
    law: Law

    def force(self, x: f32) -> f32:
        return self.law.of(x)
"""


def test_final_is_a_constant(tmp_path: Path) -> None:
    module = load_module(tmp_path, _FINAL)
    for backend in "python", "cpu", InterpretedGpu():
        with oa.Heap(backend=backend):
            assert oa.new(module.Agent, 3, n=range(3)).rate().numpy().tolist() == [5.5, 6, 7]
            falls = oa.new(module.Fall, 2, law=[module.Law(2), module.Law(1)])
            assert falls.force([2, 3]).numpy().tolist() == [16, 27]


@pytest.mark.parametrize("decorator", ["@oa.value\nclass A:", "class A(oa.Object):"])
def test_a_constant_without_a_value(decorator: str, tmp_path: Path) -> None:
    text = f"from typing import Final\n{decorator}\n    RATE: Final[float]\n    x: f32\n"
    with pytest.raises(oa.ClassError, match="A: RATE is Final and has no value") as caught:
        load_module(tmp_path, text)
    assert "RATE: f32" in caught.value.help
