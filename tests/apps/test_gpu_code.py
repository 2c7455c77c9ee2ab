"""The kernels of traffic become code for NVIDIA's and AMD's GPUs, on a machine without one."""

from __future__ import annotations

import pytest

from apps.traffic.faithful import kernels as faithful
from apps.traffic.natural import kernels as natural
from dispatch.mode import MODES
from sharedoa.runtime import prefix_sum

from .gpu_code import check_gpu_code, kernels_of


@pytest.mark.parametrize("mode", MODES)
def test_every_kernel_in_every_mode(mode: str) -> None:
    """M-6: both GPU back ends accept the app; ptxas assembles it."""
    kernels = kernels_of(faithful, natural, prefix_sum)
    assert len({kernel.name for kernel in kernels}) == 20
    check_gpu_code(kernels, mode)
