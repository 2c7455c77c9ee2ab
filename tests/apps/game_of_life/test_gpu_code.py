"""The kernels, and the methods of agents, become code for NVIDIA's and AMD's GPUs."""

from __future__ import annotations

import pytest

from apps.game_of_life.faithful import kernels as faithful
from apps.game_of_life.natural import kernels as natural

from ..gpu_code import EVERY_MODE, check_gpu_code, kernels_of
from . import method_kernels


@pytest.mark.parametrize(("mode", "everything"), EVERY_MODE)
def test_every_kernel_in_every_mode(mode: str, everything: bool) -> None:
    kernels = kernels_of(faithful, natural, method_kernels)
    assert len(kernels) == 15
    check_gpu_code(kernels, mode, everything)
