"""The kernels of traffic become code for NVIDIA's and AMD's GPUs, on a machine without one."""

from __future__ import annotations

import pytest

from apps.traffic.faithful import kernels as faithful
from dispatch.mode import MODES
from sharedoa.runtime import prefix_sum

from . import vehicle_kernels
from .gpu_code import EVERY_MODE, SAMPLE, check_gpu_code, kernels_of

KERNELS = kernels_of(faithful, vehicle_kernels, prefix_sum)


def test_there_are_all() -> None:
    assert len({kernel.name for kernel in KERNELS}) == 19


@pytest.mark.parametrize(("mode", "everything"), EVERY_MODE)
def test_every_kernel_in_every_mode(mode: str, everything: bool) -> None:
    """M-6: both GPU back ends accept the app; ptxas assembles it."""
    check_gpu_code(KERNELS, mode, everything)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in SAMPLE])
def test_some_kernels_in_the_other_modes(mode: str) -> None:
    check_gpu_code(KERNELS[MODES.index(mode) % 6 :: 6], mode)
