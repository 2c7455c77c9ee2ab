"""Shared classes with ``abc``: what is abstract there is so for kernels, too."""

from __future__ import annotations

import abc

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
