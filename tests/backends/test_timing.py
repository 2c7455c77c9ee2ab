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
