"""Launches of captured steps whose threads end at their first test: runs are compared, and those
that go on run side by side where that is quicker."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from random import Random

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.backends.base import KernelLaunch
from sharedoa.runtime import background, knobs, packed_steps
from sharedoa.runtime.kernel import Kernel
from sharedoa.runtime.packing import Packing
from sharedoa.runtime.specialisation import policy
from tests.codegen.interpreted import InterpretedGpu

_THREADS = 40
LIMIT = 5


class Agent(oa.Object):
    age: i32
    kind: i32


class Cell(oa.Object):
    agent: Agent | None


@oa.kernel
def older(cells: oa.Array[Cell], hits: oa.Array[i32]) -> None:
    i = oa.grid(1)
    agent = cells[i].agent
    if agent is not None:
        agent.age += 1 + hits[i]


@oa.kernel
def count_small(hits: oa.Array[i32], by: i32) -> None:
    i = oa.grid(1)
    if hits[i] < LIMIT:
        hits[i] += by


@oa.kernel
def mix(hits: oa.Array[i32]) -> None:
    """No thread ends before it has done something."""
    i = oa.grid(1)
    hits[i] = (hits[i] * 5 + i) % 11


@oa.kernel
def leave(cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    agent = cells[i].agent
    if agent is not None:
        cells[i].agent = None
        oa.delete(agent)


@oa.kernel
def ones(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].agent
    if agent is not None and agent.kind == 1:
        agent.age = 10


@oa.kernel
def twos(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].agent
    if agent is None:
        return
    if agent.kind == 2:
        agent.age = 20


@oa.kernel
def any_cell(cells: oa.Array[Cell], hits: oa.Array[i32]) -> None:
    """One that asks something else first."""
    i = oa.grid(1)
    if hits[i] > 1:
        hits[i] = 0


KERNELS = {kernel.program.source.name: kernel for kernel in (older, count_small, mix)}


class _Clock(InterpretedGpu):
    """Says what a launch that packs threads takes, and one that does not: ``seconds``, by kernel.
    ``launched``: whether the launches of each kernel were packed, ``timed_launches``: how many were
    timed."""

    def __init__(self, **seconds: tuple[float, float]) -> None:
        super().__init__()
        self.seconds = seconds
        self.launched: dict[str, list[bool]] = {name: [] for name in KERNELS}
        self.timed_launches = 0

    def _launch(self, launch: KernelLaunch) -> None:
        super()._launch(launch)
        for name, launched in self.launched.items():
            if name in launch.handle.symbol:
                self._last = name
                launched.append(launch.at_once > 1)

    def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
        return True

    def timed(self, start: Callable[[], None]) -> Callable[[], float | None]:
        start()
        self.timed_launches += 1
        told = self.seconds[self._last][self.launched[self._last][-1]]
        return lambda: told

    def packed(self) -> dict[str, bool]:
        """Whether the last launch of each kernel was."""
        return {name: launched[-1] for name, launched in self.launched.items() if launched}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Comparisons begin after few runs, and are of few; nothing is compiled beside them."""
    monkeypatch.setattr(packed_steps, "_FIRST", 3)
    monkeypatch.setattr(packed_steps, "_TIMES_LATER", 2)
    monkeypatch.setattr(packed_steps, "_UNTIL_COMPILED", 2)
    monkeypatch.setattr(policy, "pairs", 2)
    for kernel in KERNELS.values():
        kernel.program.packing = Packing()
    with knobs.scope(background=False, fuse="0"):
        yield


class _World:
    def __init__(self, heap: oa.Heap, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        agents = heap.new(Agent, _THREADS, age=rng.integers(0, 9, _THREADS, np.int32))
        agents.kind = np.arange(_THREADS) % 3
        self.cells = heap.new(Cell, _THREADS)
        there = (rng.random(_THREADS) < 0.3).tolist()
        members = zip(agents, there, strict=True)
        self.cells.agent = heap.array(
            Agent, [agent if is_there else None for agent, is_there in members]
        )
        self.hits = heap.array(i32, rng.integers(0, 9, _THREADS, np.int32))

    def step(self) -> oa.Capture:
        with oa.capture() as step:
            older[_THREADS](self.cells, self.hits)
            count_small[_THREADS](self.hits, 2)
            mix[_THREADS](self.hits)
            count_small[_THREADS](self.hits, 3)
        return step

    def state(self) -> tuple[bytes, ...]:
        agents = [-1 if each is None else each.age for each in self.cells.agent]
        return np.array(agents).tobytes(), self.hits.numpy().tobytes()


def _state_after(runs: int) -> tuple[bytes, ...]:
    """Of a step on a processor, which compares nothing."""
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        world = _World(heap)
        world.step().run(runs)
        return world.state()


def _is_compared(backend: _Clock, step: oa.Capture) -> bool:
    """Whether the next run is part of a comparison."""
    before = backend.timed_launches
    step.run()
    return backend.timed_launches > before


@pytest.mark.parametrize("at_once", [1, pytest.param(7, marks=pytest.mark.slow), 60])
def test_each_launch_goes_the_quicker_way(at_once: int) -> None:
    backend = _Clock(older=(1.0, 0.5), count_small=(0.5, 1.0))
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        world = _World(heap)
        step = world.step()
        step.run(3)
        assert not backend.timed_launches
        assert not any(any(packed) for packed in backend.launched.values())
        while (runs := len(backend.launched["mix"])) < 60 or _is_compared(backend, step):
            step.run(at_once)
        assert {True, False} == {*backend.launched["older"]} == {*backend.launched["count_small"]}
        assert backend.packed() == {"older": True, "count_small": False, "mix": False}
        assert world.state() == _state_after(runs + 1)


def test_they_are_compared_again() -> None:
    """Where many go on by now, they are packed no longer."""
    backend = _Clock(older=(1.0, 0.5), count_small=(1.0, 0.99))
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        step = _World(heap).step()
        step.run(30)
        assert backend.packed() == {"older": True, "count_small": False, "mix": False}
        backend.seconds = {"older": (0.5, 1.0), "count_small": (1.0, 0.5)}
        step.run(100)
        assert backend.packed() == {"older": False, "count_small": True, "mix": False}


def test_what_nobody_can_time_is_not_packed() -> None:
    nan = float("nan")
    backend = _Clock(older=(nan, nan), count_small=(nan, nan))
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        _World(heap).step().run(30)
        assert 0 < backend.timed_launches <= 10
        assert not any(backend.packed().values())


def test_what_changes_amid_a_comparison_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects come and globals change, so that code is bound anew; arrays hold something else."""
    found = []
    clock = _Clock(older=(1.0, 0.5), count_small=(1.0, 0.5))
    for backend in ("cpu", clock):
        monkeypatch.setattr(sys.modules[__name__], "LIMIT", 5)
        with oa.Heap(backend=backend, capacity="64MiB", initial_region=16) as heap:
            world, random = _World(heap), Random(4)
            step = world.step()
            for _ in range(40):
                step.run(random.choice([1, 1, 2, 5]))
                change = random.randrange(8)
                if change == 0:
                    heap.new(Agent, 20, age=1)
                elif change == 1:
                    world.cells[random.randrange(_THREADS)].agent = heap.new(Agent, age=3)
                elif change == 2:
                    world.hits[random.randrange(_THREADS)] = 1
                elif change == 3:
                    oa.compact()
                elif change == 4:
                    monkeypatch.setattr(sys.modules[__name__], "LIMIT", random.randrange(3, 9))
            found.append(world.state())
    assert clock.timed_launches and found[0] == found[1]


def test_code_for_comparisons_is_compiled_beside_the_step() -> None:
    backend = _Clock(older=(1.0, 0.5), count_small=(0.5, 1.0))
    with knobs.scope(background=True, fuse="0"), oa.Heap(backend=backend, capacity="64MiB") as heap:
        world = _World(heap)
        step = world.step()
        runs = 0
        while backend.packed() != {"older": True, "count_small": False, "mix": False}:
            step.run()
            runs += 1
            if runs == 4:
                assert not backend.timed_launches
                assert background.wait(60)
            assert runs < 60
        assert world.state() == _state_after(runs)


def test_a_step_that_ends_objects_is_not_compared() -> None:
    backend = _Clock()
    backend.launched["leave"] = []
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        world = _World(heap)
        with oa.capture() as step:
            leave[_THREADS](world.cells)
        step.run(20)
        assert len(backend.launched["leave"]) == 20 and not backend.timed_launches
        assert all(each is None for each in world.cells.agent)


@pytest.mark.parametrize("is_beside", [True, False])
def test_a_step_goes_on_where_code_for_comparisons_cannot_be_compiled(
    is_beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(packed_steps, "make_beside" if is_beside else "_Compared", fails)
    backend = _Clock()
    with (
        knobs.scope(background=is_beside, fuse="0"),
        oa.Heap(backend=backend, capacity="64MiB") as heap,
    ):
        world = _World(heap)
        step = world.step()
        for _ in range(20):
            step.run()
            assert background.wait(60)
        assert not backend.timed_launches
        assert world.state() == _state_after(20)


def test_a_signal_amid_a_comparison_waits_for_the_end_of_the_run() -> None:
    class _Signals(_Clock):
        def timed(self, start: Callable[[], None]) -> Callable[[], float | None]:
            signal.raise_signal(signal.SIGINT)
            return super().timed(start)

    backend = _Signals(older=(1.0, 0.5), count_small=(1.0, 0.5))
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        world = _World(heap)
        step = world.step()
        runs = interrupted = 0
        while runs < 30:
            try:
                step.run()
            except KeyboardInterrupt:
                interrupted += 1
            runs += 1
        assert interrupted
        assert {len(each) for each in backend.launched.values()} == {30, 60}
        assert world.state() == _state_after(30)


@pytest.mark.parametrize("second", [twos, any_cell])
def test_launches_that_are_one_are_packed_where_they_ask_the_same(second: Kernel) -> None:
    """Threads that go on in neither are told by one question; of two questions one does not say."""
    name, states = f"ones___{second.name}", []
    for backend, fuse in (("cpu", "0"), (_Clock(), "always")):
        with knobs.scope(fuse=fuse), oa.Heap(backend=backend, capacity="64MiB") as heap:
            world = _World(heap)
            if isinstance(backend, _Clock):
                backend.seconds, backend.launched = {name: (2.0, 1.0)}, {name: []}
            with oa.capture() as step:
                ones[_THREADS](world.cells)
                second[_THREADS](*([world.cells] if second is twos else [world.cells, world.hits]))
            step.run(30)
            states.append(world.state())
    assert isinstance(backend, _Clock)
    assert states[0] == states[1]
    assert backend.packed() == {name: second is twos}
