"""The Python backend: CPython runs kernels and methods itself, for debugging."""

from __future__ import annotations

from .cpu import CpuBackend


class PythonBackend(CpuBackend):
    """Memory as on the CPU backend; the runtime calls the user's own functions, so nothing is
    loaded or launched, except what places objects one by one."""

    name = label = "python"
