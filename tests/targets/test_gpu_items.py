"""Threads of a launch that one thread of a GPU runs: each that does anything runs once, whatever
the number of threads, blocks and rows."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.gpu import GpuKernel
from sharedoa.backends.gpu_launch import PreparedLaunch
from sharedoa.runtime.kernel import Kernel
from sharedoa.targets.gpu_items import MOST_ITEMS, items_for
from tests.codegen.interpreted import InterpretedGpu


class Agent(oa.Object):
    kind: i32
    runs: i32


class Place(oa.Object):
    agent: Agent | None
    runs: i32


@oa.kernel
def visit(places: oa.Array[Place], counts: oa.Array[i32]) -> None:
    i = oa.grid(1)
    place = places[i]
    agent = place.agent
    if agent is not None and agent.kind == 1:
        place.runs += 1
        counts[i] += 1
        oa.atomic_add(counts, len(counts) - 1, 1)


@oa.kernel
def look_up(counts: oa.Array[i32], wanted: oa.Array[i32], width: i32) -> None:
    """Along two axes."""
    x, y = oa.grid(2)
    if wanted[y * width + x] != 0:
        counts[y * width + x] += 1 + i32(x) * 10 + i32(y) * 1000


@oa.kernel
def waiting(counts: oa.Array[i32], wanted: oa.Array[i32]) -> None:
    i = oa.grid(1)
    oa.syncthreads()
    if wanted[i] != 0:
        counts[i] += 1


@oa.kernel
def sharing(counts: oa.Array[i32], wanted: oa.Array[i32]) -> None:
    """Threads of a warp help each other with the rounds of its loop."""
    tile = oa.shared(i32, 64)
    i = oa.grid(1)
    if wanted[i] != 0:
        tile[i % 64] = wanted[i]
        counts[i] += tile[i % 64]


@oa.kernel
def always(counts: oa.Array[i32], wanted: oa.Array[i32]) -> None:
    i = oa.grid(1)
    counts[i] += wanted[i]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[InterpretedGpu]:
    gpu = InterpretedGpu()
    gpu.launches = []  # type: ignore[attr-defined]
    launch = gpu._launch

    def noting(given: KernelLaunch) -> None:
        gpu.launches.append(given)  # type: ignore[attr-defined]
        launch(given)

    monkeypatch.setattr(gpu, "_launch", noting)
    with oa.Heap(backend=gpu, capacity="64MiB"):
        yield gpu


_COUNTS = [1, 63, 64, 65, 128, 129, 200, 256, 257]


@pytest.mark.parametrize("items", [1, 2, MOST_ITEMS])
def test_each_runs_once(gpu: InterpretedGpu, items: int) -> None:
    gpu.items = items
    random = np.random.default_rng(items)
    most = max(_COUNTS)
    kinds = random.integers(0, 2, 9).astype(np.int32)
    agents = oa.new(Agent, 9, kind=kinds)
    places = oa.new(Place, most)
    which = random.integers(-6, 9, most)
    for number, agent in enumerate(which):
        if agent >= 0:
            places[number].agent = agents[int(agent)]
    goes_on = (which >= 0) & (kinds[np.maximum(which, 0)] == 1)
    for count in _COUNTS:
        counts = oa.zeros(most + 1, i32)
        places.runs = 0
        visit[count](places, counts)
        expected = goes_on & (np.arange(most) < count)
        assert np.array_equal(counts.numpy()[:-1], expected)
        assert np.array_equal(places.runs, expected)
        assert counts[most] == expected.sum()
    assert all(each.asks for each in _launches_of(gpu, visit))
    assert "runs up to 4 threads of a large launch" in visit.explain()


@pytest.mark.parametrize("items", [1, 2, MOST_ITEMS])
@pytest.mark.parametrize("geometry", [(70, 3), (64, 5), ((70, 3), (16, 4)), ((200, 2), (32, 2))])
def test_two_axes(gpu: InterpretedGpu, geometry: Any, items: int) -> None:
    gpu.items = items
    width, rows = geometry if isinstance(geometry[0], int) else geometry[0]
    wanted = np.random.default_rng(width).integers(0, 2, width * rows).astype(np.int32)
    counts = oa.zeros(width * rows, i32)
    block = () if isinstance(geometry[0], int) else (geometry[1],)
    look_up[((width, rows), *block) if block else (width, rows)](
        counts, oa.array(i32, wanted), width
    )
    x, y = np.meshgrid(np.arange(width), np.arange(rows))
    assert np.array_equal(counts.numpy(), wanted * (1 + x * 10 + y * 1000).ravel())


@pytest.mark.parametrize("kernel", [waiting, sharing, always])
def test_who_is_not_asked(gpu: InterpretedGpu, kernel: Kernel) -> None:
    gpu.items = MOST_ITEMS
    wanted = oa.array(i32, np.arange(128) % 3)
    counts = oa.zeros(128, i32)
    kernel[128](counts, wanted)
    assert not any(each.asks for each in _launches_of(gpu, kernel))
    assert counts.numpy().any()


def _launches_of(gpu: InterpretedGpu, kernel: Kernel) -> list[KernelLaunch]:
    symbol = kernel.program.binding.unit.compilation.outline.kernel_symbol
    found = [each for each in gpu.launches if each.handle.symbol == symbol]  # type: ignore[attr-defined]
    assert found
    return found


@pytest.mark.parametrize(
    ("threads", "items"),
    [(1, 1), (2999, 1), (3000, 2), (5999, 2), (6000, 4), (1 << 30, 4), (0, 1)],
)
def test_how_many_a_thread_takes(threads: int, items: int) -> None:
    assert items_for(threads, 1000) == items


def test_the_grid_has_as_many_blocks() -> None:
    slots = (ctypes.c_uint64 * 1)()
    for resident, asks, blocks in ((1000, True, 8), (5000, True, 16), (1000, False, 32)):
        kernel = GpuKernel("kernel", None, None, 1024, False, resident=resident)  # type: ignore[arg-type]
        launch = KernelLaunch(kernel, (8100, 3), (256, 1), slots, 1, asks=asks)
        assert PreparedLaunch(launch).shape == (blocks, 3, 1, 256, 1, 1)
