"""The HIP backend. There is no GPU: HIP only pretends, as a module and as a library under AMD's
bindings, and launches hand over what the metadata of the code asks for."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i8, later_parts
from sharedoa.backends import available, hip, hip_device, hip_driver, open_backend
from sharedoa.backends.hip import HipBackend
from sharedoa.backends.hip_device import HipDevice
from sharedoa.errors import BackendError, DeviceError, HeapError
from sharedoa.runtime.profile import profiling

from .pretend_hip import GRAPH, STATE, PretendHip

ILLEGAL, FULL = 700, 2


class Walker(oa.Object):
    place: f32

    def step(self, by: f32) -> None:
        self.place += by


@oa.kernel
def mark(numbers: oa.Array[f32], value: i8, scale: f32):
    numbers[oa.grid(1)] = f32(value) * scale


def check(pretended: PretendHip, driver: object) -> None:
    """What heaps ask of HIP, through ``driver``."""
    device = HipDevice(driver=driver)
    backend = HipBackend(device)
    assert str(device.description) == "Pretended GPU, gfx90a, 16 multiprocessors, 8 GiB"
    assert (backend.label, backend.target.name, backend.target.lanes) == ("hip:0", "amdgpu", 64)
    with oa.Heap("auto", backend, capacity="1GiB") as heap:
        numbers = heap.zeros(1000, f32)
        walkers = heap.new(Walker, 100, place=np.arange(100))
        pretended.launched.clear()
        mark[1000, 128](numbers, -3, 0.5)
        walkers.step(2.0)
        assert pretended.launched[0] == (
            (2, 1, 1, 128, 1, 1),  # each does what four do that only store
            [numbers.address, 1000, 253, int(np.float32(0.5).view(np.uint32)), 1000, 1],
        )
        assert pretended.launched[1][1][-2:] == [100, 1]
        heap.synchronize()
        assert walkers.place[7] == 7  # nothing has run, and memory is shared
        copies = pretended.called("hipMemcpyHtoDAsync")
        assert copies and {int(copy[0]) for copy in copies} == {STATE}
        with oa.capture() as step:
            mark[1000, 128](numbers, 1, 1.0)
        launches = len(pretended.launched)
        step.run(3)
        graphs = pretended.called("hipGraphLaunch")
        assert [int(graph) for graph, *_ in graphs] == [GRAPH + 1] * 3
        assert len(pretended.launched) == launches
        seconds = backend.stopwatch()
        seconds.time("mark", lambda: mark[1000, 128](numbers, 1, 1.0))
        assert seconds.seconds() == {"mark": 0.0025}
        backend.prefetch(numbers.address, 4000, to_device=True)
        backend.prefetch(numbers.address, 4000, to_device=False)
        moved = pretended.called("hipMemPrefetchAsync")[-2:]
        assert [ctypes.c_int(int(where)).value for _, _, where, *_ in moved] == [0, -1]
        assert backend.attributes(backend.load("mark", stages(backend), False, True)) == {
            "registers": 1024, "stack": 1024, "max_threads": 1024, "binary_version": 1024,
        }  # fmt: skip
    pretended.failures["hipMallocManaged"] = FULL
    with pytest.raises(HeapError, match=r"hipMallocManaged: pretended .*8,589,934,592 of"):
        backend.provider.allocate(1 << 20)
    del pretended.failures["hipMallocManaged"]
    pretended.failures["hipStreamQuery"] = ILLEGAL
    mark[1000, 128](numbers, 1, 1.0)
    with pytest.raises(DeviceError, match=r"kernel_mark: the device stopped.*lost hip:0.*AMD"):
        heap.synchronize()
    with pytest.raises(DeviceError, match="hip:0 was lost to this process in kernel_mark"):
        heap.zeros(1 << 26, f32)


def stages(backend: HipBackend):
    from sharedoa.targets.base import I8, I64

    from ..targets.hand_written import kernel_text, store_coordinates

    text = kernel_text(backend.target, store_coordinates, [I64, I8], symbol="mark")
    return backend.target.compile(text)


@pytest.fixture(autouse=True)
def unlinked(monkeypatch: pytest.MonkeyPatch):
    """Nobody runs it, so a linker need not be there."""
    monkeypatch.setattr(hip, "link_code_object", lambda code: code)
    monkeypatch.setattr(later_parts, "_opened", {})
    hip_device.hip_device.cache_clear()
    hip_driver.load_hip.cache_clear()
    yield
    hip_device.hip_device.cache_clear()
    hip_driver.load_hip.cache_clear()


def test_what_heaps_ask_of_the_bindings():
    pretended = PretendHip()
    check(pretended, pretended)


def test_profiles_know_its_launches_and_those_of_its_graphs():
    """``sharedoa profile``, with which each launch is waited for."""
    pretended = PretendHip()
    backend = HipBackend(HipDevice(driver=pretended))
    whole = HipBackend.prepare, HipBackend.record, HipBackend.replay
    with profiling() as profile, oa.Heap("auto", backend, capacity="64MiB") as heap:
        numbers = heap.zeros(1000, f32)
        waits = len(pretended.called("hipStreamQuery"))
        for _ in range(3):
            mark[1000](numbers, 1, 0.5)
        with oa.capture() as step:
            mark[500](numbers, 1, 0.5)
            mark[250](numbers, 2, 0.5)
        step.run(2)
        waits = len(pretended.called("hipStreamQuery")) - waits
        rows = profile.rows.values()
        assert {(row.kind, row.name): (row.launches, row.threads) for row in rows} == {
            ("kernel", "mark"): (3, 3000),
            ("graph", "mark, mark"): (2, 1500),
            ("step", "captured step"): (2, 0),
        }
        assert profile.waited and waits >= 2 * (3 + 2)
    assert whole == (HipBackend.prepare, HipBackend.record, HipBackend.replay)


def test_the_settings_open_it(monkeypatch):
    pretended = PretendHip()
    monkeypatch.setattr(hip_device, "load_hip", lambda: pretended)
    assert oa.Heap(backend="hip", capacity="64MiB").backend.label == "hip:0"
    with pytest.raises(BackendError, match="no device hip:1: this process sees 1 of AMD's"):
        oa.Heap(backend="hip:1")
    (found,) = (each for each in available() if each.name == "hip")
    assert found.ok and "gfx90a" in found.reason and "never run on hardware" in found.reason


def test_what_is_missing_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "hip", None)
    with pytest.raises(BackendError, match=r"pip install \"sharedoa\[hip\]\""):
        open_backend("hip")


THROUGH_THE_BINDINGS = """
import sys
from pathlib import Path
from sharedoa.backends import hip
from tests.backends.pretend_hip import StandIn
from tests.backends.test_hip import check
from sharedoa.backends.hip_driver import load_hip
from sharedoa.runtime import knobs

hip.link_code_object = lambda code: code
pretended = StandIn(Path(sys.argv[1]))
with knobs.scope(cache_dir=sys.argv[1], backend="cpu"):
    check(pretended, load_hip())
print("done")
"""


def test_what_the_bindings_ask_of_the_library(tmp_path: Path):
    """In a process of its own, as they load the library once."""
    pytest.importorskip("hip")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    command = [sys.executable, "-c", THROUGH_THE_BINDINGS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
