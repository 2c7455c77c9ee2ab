"""Shared classes with ``abc`` and ``typing.Protocol``: what is abstract there is so for kernels,
too."""

from __future__ import annotations

import abc
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from tests.codegen.interpreted import InterpretedGpu


class Movable(abc.ABC):
    @abc.abstractmethod
    def move(self, by: f32) -> f32: ...

    @property
    @abc.abstractmethod
    def reach(self) -> f32:
        pass

    def far(self) -> f32:
        return self.move(self.reach) * 2


class Agent(oa.Object, abc.ABC):
    place: f32

    @abc.abstractmethod
    def step(self) -> i32:
        """With a body, for those that call it."""
        self.place += 1
        return 3

    @staticmethod
    @abc.abstractmethod
    def legs() -> i32: ...

    def steps(self) -> i32:
        return self.step() + self.step()


class Walker(Movable, Agent):
    def step(self) -> i32:
        return super().step() * 10  # type: ignore[safe-super]


class Dog(Walker):
    def move(self, by: f32) -> f32:
        self.place += by
        return self.place

    @property
    def reach(self) -> f32:
        return f32(0.5)

    @staticmethod
    def legs() -> i32:
        return 4


class Snake(Dog):
    def step(self) -> i32:
        return Agent.step(self) + 1  # type: ignore[abstract]

    @staticmethod
    def legs() -> i32:
        return 0


@oa.kernel
def kernel(agents: oa.Array[Agent], found: oa.Array[f32]) -> None:
    i = oa.grid(1)
    agent = agents[i]
    found[i] = agent.steps() + 100 * agent.legs()
    if isinstance(agent, Dog):
        found[i] += 1000 * agent.far()


def _run(backend: object) -> list[list[float]]:
    with oa.Heap(backend=backend):
        agents = oa.array(Agent, [Snake(place=k) if k % 3 else Dog(place=k) for k in range(7)])
        found = oa.zeros(7, f32)
        kernel[7](agents, found)
        each = [agents.steps(), oa.all(Dog).far(), oa.all(Dog).reach, agents.place]
        return [found.numpy().tolist(), *(np.asarray(x).tolist() for x in each)]


def test_the_same_everywhere() -> None:
    expected = _run("python")
    assert expected[0][:2] == [60 + 400 + 1000 * 2 * 2.5, 8 + 1000 * 2 * 3.5]
    for backend in "cpu", InterpretedGpu():
        assert _run(backend) == expected


def test_objects_of_classes_that_are_abstract() -> None:
    with oa.Heap(backend="cpu"):
        with pytest.raises(oa.ClassError, match=r"Agent is abstract: step, legs are abstract meth"):
            Agent()  # type: ignore[abstract]
        with pytest.raises(oa.ClassError, match=r"Walker is abstract: .*move, reach") as caught:
            oa.new(Walker, 3)  # type: ignore[type-abstract]
        assert "instantiate a subclass" in caught.value.help

        class Idle(oa.Object):
            @abc.abstractmethod
            def step(self) -> None:
                pass

        with pytest.raises(oa.ClassError, match="Idle is abstract: step is an abstract method"):
            Idle()  # type: ignore[abstract]
        # As of any method that is replaced.
        Idle.step = nothing  # type: ignore[method-assign]
        assert len(oa.new(Idle, 2)) == 2  # type: ignore[type-abstract]


def nothing(self: oa.Object) -> None:
    pass


def test_what_python_knows_of_them() -> None:
    with oa.Heap(backend="cpu"):
        dog = Dog()
        assert isinstance(dog, Movable) and isinstance(dog, Agent) and issubclass(Dog, Movable)
        assert not isinstance(3, Agent) and not issubclass(int, Agent)
    with pytest.raises(oa.ClassError, match=r"Agent\.register\(.*int.*\): (.|\n)*class C\(Agent\)"):
        Agent.register(int)


T = TypeVar("T")


class Named(Protocol):
    def name(self) -> str: ...


@runtime_checkable
class HasArea(Protocol):
    side: f32

    def area(self) -> f32: ...

    def twice(self) -> f32:
        return self.area() * 2


class Figure(oa.Object):
    side: f32

    def __init__(self, side: f32) -> None:
        self.side = side


class Square(Named, Figure, HasArea):  # the protocol's __init__ is before that of Figure
    def name(self) -> str:
        return "square"

    def area(self) -> f32:
        return self.side * self.side


class Bar(Figure, HasArea):
    width: f32

    def __init__(self, side: f32, width: f32) -> None:
        super().__init__(side)
        self.width = width

    def area(self) -> f32:
        return self.side * self.width


class Plain(oa.Object, HasArea, Generic[T]):
    side: f32

    def area(self) -> f32:
        return f32(1.5)


class Unfinished(Figure, HasArea):
    pass


@oa.kernel
def measure(figures: oa.Array[Figure], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    figure = figures[i]
    if isinstance(figure, Square):
        out[i] = figure.twice() + Plain(side=2.0).twice()
    elif isinstance(figure, Bar):
        out[i] = figure.twice() + Square(2.0).area()


def measured(backend: Any) -> list[float]:
    with oa.Heap(backend=backend, capacity="16MiB"):
        out = oa.zeros(2, f32)
        figures = oa.array(Figure, [Square(3.0), Bar(2.0, 5.0)])
        measure[2](figures, out)
        found: list[float] = out.numpy().tolist()
        return found


def test_protocols() -> None:
    backends: list[Any] = ["python", "cpu", InterpretedGpu()]
    for backend in backends:
        assert measured(backend) == [18 + 3, 20 + 4]
    square, plain = Square(3.0), Plain[int](side=1.0)
    assert isinstance(square, HasArea) and square.name() == "square"
    assert plain.twice() == 3.0 and not isinstance(square, Bar)
    assert oa.new(Plain, 2, side=1.0).twice().numpy().tolist() == [3.0, 3.0]
    with pytest.raises(oa.ClassError, match="Unfinished is abstract: area has no body"):
        Unfinished(1.0)  # type: ignore[abstract]
