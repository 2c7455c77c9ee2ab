"""Heaps for the tests of this folder: by type (as records and in tiles) and scattered; plain,
tagged and narrow references."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

import sharedoa as oa

MODES = ("auto", "coal", "typepointer", "concord", "cuda")
MODES_ON_GPU = ("auto", "typepointer", "cuda")


IN_TILES = ("auto", "typepointer")


def _settings():
    on_cpu = [(mode, "cpu", "aos", "64") for mode in MODES]
    on_cpu += [(mode, "cpu", "tile", "64") for mode in IN_TILES]
    on_gpu = [(mode, "cuda", "aos", "64") for mode in MODES_ON_GPU]
    on_gpu.append(("auto", "cuda", "tile", "64"))
    narrow = [(backend, layout) for backend in ("cpu", "cuda") for layout in ("aos", "tile")]
    for backend, layout in narrow:
        (on_gpu if backend == "cuda" else on_cpu).append(("auto", backend, layout, "32"))
    marks = {"cpu": (), "cuda": pytest.mark.gpu}
    return [
        pytest.param(setting, marks=marks[setting[1]], id="-".join(setting))
        for setting in (*on_cpu, *on_gpu)
    ]


SETTINGS = _settings()


@pytest.fixture(params=SETTINGS)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    """A current heap with small regions."""
    mode, backend, layout, references = request.param
    with oa.Heap(mode, backend, layout, "64MiB", initial_region=8, references=references) as made:
        yield made


@pytest.fixture
def by_type() -> Iterator[oa.Heap]:
    """A current heap on the CPU with objects placed by type. It says how wide references are, as
    that otherwise depends on what else this process has declared."""
    with oa.Heap(
        mode="auto", backend="cpu", capacity="64MiB", initial_region=8, references="64"
    ) as made:
        yield made


class CountingDevice:
    """The CPU backend posing as a device, and a record of what it is asked to move."""

    name = "device"
    transfer = None

    class target:
        is_device = True

    def __init__(self) -> None:
        from sharedoa.heap.provider import HostProvider

        self.provider = HostProvider()
        self.moved: list[tuple[int, int, bool]] = []
        self.waits = 0

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        self.moved.append((address, size, to_device))

    def read(self, address: int, size: int) -> bytes:
        return ctypes.string_at(address, size)

    def write(self, address: int, data: bytes) -> None:
        ctypes.memmove(address, data, len(data))

    def synchronize(self) -> None:
        self.waits += 1

    def free_memory(self) -> int:
        return self.provider.free_memory()


@pytest.fixture
def device() -> CountingDevice:
    return CountingDevice()
