"""The tools that are compared, and where each is found.

Each runs in a process of its own, so that versions of what they need do not clash: with
``PEER_<NAME>_PYTHON`` as its interpreter, and the folders of ``PEER_<NAME>_PATH`` before
everything else on its path.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Tool:
    """``module`` in ``bench.comparison.tools`` measures it. ``peer``: what the variables call the
    one whose packages it needs. ``on_processor``: also where the others run on a GPU."""

    name: str
    module: str
    summary: str
    peer: str = ""
    on_processor: bool = False

    @property
    def interpreter(self) -> str:
        return self._setting("PYTHON") or sys.executable

    @property
    def folders(self) -> list[str]:
        """With packages that only this tool uses."""
        return [each for each in (self._setting("PATH") or "").split(os.pathsep) if each]

    def environment(self, caches: Path) -> dict[str, str]:
        """Of its process; caches of compiled code are new, so that a first step compiles."""
        paths = (*self.folders, str(ROOT), os.environ.get("PYTHONPATH"))
        return {
            "NUMBA_THREADING_LAYER": "workqueue",
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "SHAREDOA_CACHE_DIR": "off",
            "CUDA_CACHE_DISABLE": "1",
            "DRJIT_CACHE_DIR": str(caches),
        }

    def _setting(self, what: str) -> str | None:
        return os.environ.get(f"PEER_{self.peer}_{what}") if self.peer else None


TOOLS = (
    Tool("copy", "device_copy", "the device's own copy"),
    Tool("BRANCH", "branch", "the same bodies without dispatch"),
    Tool("sharedoa", "sharedoa_tool", "this project, in modes and layouts"),
    Tool("CUDA C++", "cuda_cxx", "by nvcc: virtual functions, and arrays with a switch"),
    Tool("Dr.Jit", "drjit_tool", "dr.switch over classes and over instances", "DRJIT"),
    Tool("numba-cuda", "numba_cuda_tool", "arrays and a ladder of tests", "NUMBA"),
    Tool("numba", "numba_tool", "parallel loops on the processor", "NUMBA", on_processor=True),
    Tool("NumPy", "numpy_tool", "whole arrays on the processor", on_processor=True),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
