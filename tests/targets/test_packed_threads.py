"""Kernels most of whose threads end at their first test: on a GPU those that go on run side by
side, where launches have found that quicker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.backends.base import KernelLaunch
from sharedoa.runtime import background, knobs, packing
from sharedoa.runtime.geometry import DEFAULT_BLOCK
from sharedoa.runtime.kernel import Kernel
from sharedoa.runtime.packing import Packing
from sharedoa.runtime.specialisation import policy
from sharedoa.targets.packed_threads import ASKED_AT_ONCE, MOST_BLOCK_THREADS
from sharedoa.targets.ptxas import assemble
from tests.codegen.interpreted import InterpretedGpu


class Agent(oa.Object):
    age: i32

    def is_old(self) -> bool:
        return self.age > 5


class Cell(oa.Object):
    agent: Agent | None
    born: i32


@oa.kernel
def older(cells: oa.Array[Cell], hits: oa.Array[i32]) -> None:
    """What a thread does, and what it asks in a loop."""
    i = oa.grid(1)
    agent = cells[i].agent
    if agent is not None:
        agent.age += 1
        for _ in range(agent.age % 4):
            oa.atomic_add(hits, i, 1)


@oa.kernel
def leave(cells: oa.Array[Cell], hits: oa.Array[i32]) -> None:
    i = oa.grid(1)
    cell = cells[i]
    if cell.agent is None:
        return
    if cell.agent.is_old():
        cell.agent = None
        hits[i] += oa.gridsize(1)


@oa.kernel
def count_small(cells: oa.Array[Cell], hits: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if hits[i] < 2:
        hits[i] += 3


@oa.kernel
def turn(cells: oa.Array[Cell], hits: oa.Array[i32]) -> None:
    """Threads of a block wait for each other, if there is anything to do."""
    i = oa.grid(1)
    if hits[0] < 1:
        oa.syncthreads()
        hits[i] += 1


@oa.kernel
def number(cells: oa.Array[Cell], hits: oa.Array[i32]) -> None:
    """No thread ends before it has done something."""
    i = oa.grid(1)
    hits[i] += i
    if cells[i].agent is not None:
        hits[i] += 1


@oa.kernel
def check(cells: oa.Array[Cell], hits: oa.Array[i32]) -> None:
    agent = cells[oa.grid(1)].agent
    if agent is not None:
        assert agent.age < 1000, "too old"


KERNELS = (older, leave, count_small)


def _pack(is_on: bool, *kernels: Kernel) -> None:
    """Let launches be packed, or not, if they may be."""
    for kernel in kernels or KERNELS:
        kernel.program.packing = Packing()
        kernel.program.packing._is_on = is_on
        kernel.program.bind_next(None)


class _World:
    def __init__(self, heap: oa.Heap, count: int, share: float, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        agents = heap.new(Agent, count, age=rng.integers(0, 9, count, np.int32))
        self.cells = heap.new(Cell, count)
        there = rng.random(count) < share
        self.cells.agent = heap.array(Agent, [a if t else None for a, t in zip(agents, there)])  # noqa: B905
        self.hits = heap.zeros(count, i32)

    def state(self) -> tuple[bytes, ...]:
        agents = [-1 if each is None else each.age for each in self.cells.agent]
        return np.array(agents).tobytes(), self.hits.numpy().tobytes()


def _is_packed(kernel: Kernel) -> bool:
    return any(
        packs for _, packs in kernel.program.binding.unit.compilation.job.facts.asked("packs")
    )


def test_the_same_threads_do_the_same() -> None:
    """Of blocks that end in the middle, with nobody, some and all who go on."""
    found = []
    for is_on in (False, True):
        _pack(is_on)
        with oa.Heap(backend=InterpretedGpu(), capacity="64MiB", references="64") as heap:
            world = _World(heap, 400, 0.3)
            for count in (1, 33, 256, 257, 400):
                for kernel in KERNELS:
                    kernel[count](world.cells, world.hits)
                    assert _is_packed(kernel) == is_on
                found.append(world.state())
            for share in (0.0, 1.0):
                world = _World(heap, 70, share)
                for kernel in KERNELS:
                    kernel[70](world.cells, world.hits)
                found.append(world.state())
    assert found[:7] == found[7:]


def test_errors_name_the_thread_of_the_launch() -> None:
    """Whichever thread of the GPU has run it, as one of several."""
    for is_on in (False, True):
        _pack(is_on, check)
        with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
            world = _World(heap, 400, 0.3)
            check[400](world.cells, world.hits)
            assert _is_packed(check) == is_on
            *_, last = (n for n in range(400) if world.cells[n].agent is not None)
            world.cells[last].agent.age = 5000
            with pytest.raises(oa.DeviceError, match=f"thread {last}: .*too old"):
                check[400](world.cells, world.hits)
                heap.synchronize()


def test_blocks_of_ones_own_are_not_packed() -> None:
    """A warp of theirs may have fewer threads."""
    found = []
    for is_on in (False, True):
        _pack(is_on)
        with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
            world = _World(heap, 170, 0.3)
            for block in (None, 20, 1, 256):
                older[170 if block is None else (170, block)](world.cells, world.hits)
                assert _is_packed(older) == (is_on and block is None)
            found.append(world.state())
    assert found[0] == found[1]


@pytest.mark.parametrize("kernel", [turn, number])
def test_who_is_not_packed(kernel: Kernel) -> None:
    found = []
    for is_on in (False, True):
        _pack(is_on, kernel)
        with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
            world = _World(heap, 130, 0.5)
            kernel[130](world.cells, world.hits)
            assert not _is_packed(kernel)
            found.append(world.state())
    assert found[0] == found[1]


def test_debug_mode_packs_nothing() -> None:
    _pack(True)
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB", debug=True) as heap:
        world = _World(heap, 20, 0.5)
        older[20](world.cells, world.hits)
        assert not _is_packed(older)


def test_ptxas_takes_them() -> None:
    """They need no stack, a launch has a sixth of the threads, and the list fits the largest block
    of those that are packed, which nobody has asked for."""
    _pack(True)
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
        world = _World(heap, 40, 0.5)
        older[40](world.cells, world.hits)
        made = older.program.binding.unit.compilation
        assert made.outline.at_once == ASKED_AT_ONCE == 6
        assert DEFAULT_BLOCK[1] == (MOST_BLOCK_THREADS, 1)
        assert f"_listed[{2 * 6 * 256}]" in str(made.products["ptx"])
        assert "side by side" in str(made.job)
        report = assemble(str(made.products["ptx"]), "sm_90")
        assert (report.stack, report.spill_stores) == (0, 0)


class _Clock(InterpretedGpu):
    """Says what launches take: ``seconds``, by whether threads are packed, once so many more have
    been launched. ``launched``: whether each launch was packed, ``compared`` those that are timed.
    """

    def __init__(self, seconds: tuple[float, float], late: int = 0) -> None:
        super().__init__()
        self.seconds, self.late = seconds, late
        #: The launch of those that are timed of which nobody knows what it took.
        self.unknown = 0
        self.launched: list[bool] = []
        self.compared: list[bool] = []

    def _launch(self, launch: KernelLaunch) -> None:
        super()._launch(launch)
        self.launched.append(launch.at_once > 1)

    def timed(self, start: Callable[[], None]) -> Callable[[], float | None]:
        start()
        is_packed = self.launched[-1]
        self.compared.append(is_packed)
        number, place = len(self.compared), len(self.compared) + self.late
        told = float("nan") if number == self.unknown else self.seconds[is_packed]
        return lambda: told if len(self.compared) >= place else None


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Comparisons begin after few launches, and are of few; nothing is compiled beside them."""
    monkeypatch.setattr(packing, "_FIRST", 3)
    monkeypatch.setattr(policy, "pairs", 3)
    with knobs.scope(background=False):
        yield


def _launches(backend: _Clock, heap: oa.Heap, most: int) -> list[bool]:
    """Whether each launch was packed."""
    world, before = _World(heap, 40, 0.2), len(backend.launched)
    for _ in range(most):
        older[40](world.cells, world.hits)
    return backend.launched[before:]


def test_the_quicker_one_stays(at_once: None) -> None:
    backend = _Clock((1.0, 1.0))
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        for seconds, pays, late, unknown in (
            ((1.0, 0.5), True, 0, 0), ((1.0, 0.5), True, 7, 0), ((1.0, 0.99), False, 0, 0),
            ((0.5, 1.0), False, 0, 0), ((0.0, 0.0), False, 0, 0), ((1.0, 0.5), False, 0, 4),
        ):  # fmt: skip
            _pack(False)
            backend.seconds, backend.late, backend.unknown = seconds, late, unknown
            backend.compared.clear()
            assert _launches(backend, heap, 3) == [False] * 3
            launches = 0
            while not backend.compared or older.program.packing._comparison is not None:
                _launches(backend, heap, 1)
                launches += 1
                assert launches < 60
            assert True in backend.compared
            assert _launches(backend, heap, 1) == [pays]
            assert (older.program.packing.speedup > 1.5) == pays


def test_it_is_compared_again(at_once: None) -> None:
    """Where many go on by now, they are packed no longer."""
    backend = _Clock((1.0, 0.5))
    _pack(False)
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        for seconds, pays in (((1.0, 0.5), True), ((0.5, 1.0), False)):
            backend.seconds = seconds
            while older.program.packing._is_on != pays and len(backend.launched) < 100:
                _launches(backend, heap, 1)
            assert _launches(backend, heap, 1) == [pays]


def test_who_is_far_ahead_waits_with_more_comparisons(at_once: None) -> None:
    backend = _Clock((1.0, 0.5), late=1000)
    _pack(False)
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        _launches(backend, heap, packing._MOST_TIMED + 8)
        assert len(backend.compared) == packing._MOST_TIMED


def test_results_do_not_depend_on_it(at_once: None) -> None:
    """Compared in the middle of a run, with each way of telling what a launch took."""
    random = Random(3)

    class _Chance(_Clock):
        def timed(self, start: Callable[[], None]) -> Callable[[], float | None]:
            seconds = super().timed(start)
            return lambda: random.choice([seconds(), None])

    found = []
    for backend in (InterpretedGpu(), _Chance((1.0, 0.5))):
        _pack(False)
        with oa.Heap(backend=backend, capacity="64MiB") as heap:
            world = _World(heap, 60, 0.4)
            for number_of_turn in range(40):
                older[60 - number_of_turn % 3](world.cells, world.hits)
                leave[60](world.cells, world.hits)
            found.append(world.state())
    assert found[0] == found[1]


def test_small_launches_are_not_compared(at_once: None) -> None:
    class _Idle(_Clock):
        def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
            return threads[0] > 10

    backend = _Idle((1.0, 0.5))
    _pack(False)
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        assert not any(_launches(backend, heap, 20))
    assert not backend.compared


def test_launches_go_on_where_code_for_comparisons_cannot_be_compiled(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(packing, "make_beside", fails)
    backend = _Clock((1.0, 0.5))
    _pack(False)
    with knobs.scope(background=True), oa.Heap(backend=backend, capacity="64MiB") as heap:
        for _ in range(3 * packing._UNTIL_COMPILED):
            _launches(backend, heap, 1)
            assert background.wait(60)
    assert not backend.compared
