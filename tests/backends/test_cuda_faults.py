"""Kernels that stop the device, or never end, and processes that fork: each in a process of its
own, as it loses its GPU. Needs a device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sharedoa.backends import Backend

pytestmark = pytest.mark.gpu

_COMMON = """
import os, signal, sys, threading, time
import numpy as np
import sharedoa as oa
from sharedoa import f32, i32


class Node(oa.Object):
    value: f32
    next: "Node"

    def follow(self) -> None:
        self.next.value = 1.0

    def endless(self, flag: oa.Array[i32]) -> None:
        while flag[0] == 0:
            self.value += 1.0

    def deep(self, n: i32) -> i32:
        below = self.deep(n + 1)
        self.value += 1.0
        return below * n + 1


@oa.kernel
def store_far(numbers: oa.Array[f32]):
    numbers[1 << 40] = 1.0


@oa.kernel
def double(numbers: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(numbers):
        numbers[i] *= 2.0
"""


def run(folder: Path, program: str) -> str:
    """What the program prints; it must end by itself, with status 0."""
    file = folder / "program.py"
    file.write_text(_COMMON + program)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


_LOSES = """
other = oa.Heap(backend="cuda")
kept = other.array(f32, np.arange(1000))
double[1000](kept)
assert kept[999] == 1998.0
heap = oa.Heap(backend="cuda")
nodes = heap.new(Node, 1000)
numbers = heap.zeros(1000, f32)
cpu = oa.Heap(backend="cpu")
try:
    FAULT
    heap.synchronize()
except oa.DeviceError as problem:
    told = str(problem)
assert NAME in told, told
assert "This process has lost cuda:0" in told and "SHAREDOA_DEBUG=1" in told, told
def refused(*uses):
    for use in uses:
        try:
            use()
        except oa.DeviceError as problem:
            assert "lost to this process" in str(problem) and NAME in str(problem), problem
        else:
            raise AssertionError(use)
refused(
    lambda: nodes.value.numpy(), heap.synchronize, lambda: oa.Heap(backend="cuda"),
    lambda: heap.new(Node, 10_000_000),
)
# What no launch was under way on can still be read; the processor still works.
assert kept.numpy().tolist() == [2.0 * x for x in range(1000)]
other.dump("kept.oa", kept=kept)
again = cpu.load("kept.oa")["kept"]
double[1000](again)
assert again[999] == 3996.0
refused(lambda: double[1000](kept), other.synchronize)
del nodes, numbers, kept, heap, other
print("alive")
"""


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        pytest.param("nodes.follow()", "follow", id="null"),
        pytest.param("store_far[1](numbers)", "store_far", id="far index"),
        pytest.param("nodes.deep(0)", "deep", id="recursion"),
    ],
)
def test_a_process_outlives_its_device(cuda_backend: Backend, tmp_path, monkeypatch, fault, name):
    monkeypatch.chdir(tmp_path)
    program = _LOSES.replace("FAULT", fault).replace("NAME", repr(name))
    assert run(tmp_path, program) == "alive\n"


_ENDLESS = """
heap = oa.Heap(backend="cuda")
nodes = heap.new(Node, 1000)
flag = heap.zeros(1, i32)
nodes.endless(flag)
for wait in (heap.synchronize, lambda: nodes.value.numpy(), lambda: heap.delete(nodes)):
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    try:
        wait()
    except KeyboardInterrupt as stop:
        assert "endless" in str(stop.__notes__), stop.__notes__
    else:
        raise AssertionError(wait)
    assert time.monotonic() - begun < 5
print("interrupted")
sys.stdout.flush()
os._exit(0)
"""


def test_waiting_for_a_kernel_without_end_can_be_interrupted(cuda_backend: Backend, tmp_path):
    assert run(tmp_path, _ENDLESS) == "interrupted\n"


_FORKS = """
heap = oa.Heap(backend="cuda")
numbers = heap.array(f32, np.arange(1000))
double[1000](numbers)
heap.synchronize()
child = os.fork()
if child == 0:
    status = 1
    try:
        for use in (
            lambda: numbers[1], lambda: double[1000](numbers), lambda: oa.Heap(backend="cuda"),
            lambda: oa.Heap(backend="auto"), lambda: heap.new(Node, 10), heap.synchronize,
        ):
            try:
                use()
            except oa.BackendError as problem:
                assert "forked" in str(problem) and "spawn" in str(problem), problem
            else:
                raise AssertionError(use)
        cpu = oa.Heap(backend="cpu").array(f32, np.arange(1000))
        double[1000](cpu)
        assert cpu[999] == 1998.0
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
double[1000](numbers)
assert numbers[999] == 3996.0
print("parent")
"""


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told(cuda_backend: Backend, tmp_path):
    assert run(tmp_path, _FORKS) == "parent\n"
