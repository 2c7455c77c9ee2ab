"""Timing of launches: as many samples as asked for, of the launches alone."""

from __future__ import annotations

import time

import pytest

from sharedoa.backends import timing
from sharedoa.backends.timing import OCCUPY, WARM_UP, occupying_ir
from sharedoa.targets.nvptx import NvptxTarget
from sharedoa.targets.ptxas import assemble


def test_samples_are_of_each_launch(cpu_backend):
    launches = []

    def launch() -> None:
        launches.append(1)
        time.sleep(0.002 if len(launches) > WARM_UP + 1 else 0.02)

    samples = cpu_backend.time_launches(launch, 4)
    assert len(launches) == WARM_UP + 4
    assert len(samples) == 4
    assert samples[0] >= 0.02
    assert all(sample >= 0.002 for sample in samples)


def test_a_stopwatch_sums_up_by_name(cpu_backend):
    watch = cpu_backend.stopwatch()
    for name, seconds in (("a", 0.01), ("b", 0.02), ("a", 0.03)):
        watch.time(name, lambda seconds=seconds: time.sleep(seconds))
    found = watch.seconds()
    assert sorted(found) == ["a", "b"]
    assert 0.04 <= found["a"] < 0.4
    assert 0.02 <= found["b"] < 0.2


def test_occupying_kernel_reads_the_clock():
    target = NvptxTarget()
    ptx = target.compile(occupying_ir(target))["ptx"]
    assert ptx.count("%clock64") == 2
    assert f".entry {OCCUPY}" in ptx
    assert assemble(ptx, target.architecture).spill_stores == 0


@pytest.mark.gpu
def test_events_time_the_device(cuda_backend):
    cycles = 3_000_000
    samples = cuda_backend.time_launches(lambda: timing._occupy(cuda_backend, cycles), 5)
    assert len(samples) == 5
    # No GPU has a clock above 4 GHz.
    assert min(samples) > cycles / 4e9


@pytest.mark.gpu
def test_a_launch_is_timed_meanwhile(cuda_backend):
    cycles = 3_000_000
    timings = [cuda_backend.timed(lambda: timing._occupy(cuda_backend, cycles)) for _ in range(3)]
    cuda_backend.synchronize()
    assert min(each() for each in timings) > cycles / 4e9


@pytest.mark.gpu
def test_a_stopwatch_counts_kernels_alone(cuda_backend):
    watch = cuda_backend.stopwatch()
    long, short = 30_000_000, 30_000

    def moves_first() -> None:
        context = cuda_backend.device
        block = context.call("MemAllocManaged", 1 << 28, 1)
        context.call("MemsetD8Async", block, 0, 1 << 28, context.stream)
        cuda_backend.prefetch(block, 1 << 28, False)
        timing._occupy(cuda_backend, short)
        context.call("MemFree", block)

    watch.time("long", lambda: timing._occupy(cuda_backend, long))
    watch.time("moves first", moves_first)
    found = watch.seconds()
    assert found["long"] > long / 4e9
    # 256 MiB alone take milliseconds.
    assert found["moves first"] < found["long"] / 10


@pytest.mark.gpu
def test_a_stopwatch_counts_no_time_between_launches(cuda_backend):
    watch = cuda_backend.stopwatch()
    cycles = 300_000

    def launch() -> None:
        timing._occupy(cuda_backend, cycles)

    for _ in range(5000):
        watch.time("a", launch)
    seconds = watch.seconds()["a"] / 5000
    # Means of both, as other processes may share the device and take their turns in it.
    alone = sum(cuda_backend.time_launches(launch, 2000)) / 2000
    assert alone / 5 < seconds < 5 * alone
