"""The kernels become code for NVIDIA's and AMD's GPUs."""

from __future__ import annotations

import pytest

from apps.raytracer.faithful import kernels as faithful
from apps.raytracer.natural import kernels as natural

from ..gpu_code import EVERY_MODE, check_gpu_code, kernels_of


@pytest.mark.parametrize(("mode", "everything"), EVERY_MODE)
def test_every_kernel_in_every_mode(mode: str, everything: bool) -> None:
    kernels = kernels_of(faithful, natural)
    assert [kernel.name for kernel in kernels] == ["render", "add_path"]
    check_gpu_code(kernels, mode, everything)
