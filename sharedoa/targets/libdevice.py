"""libdevice, NVIDIA's math library in LLVM bitcode: where it is, and linking what a module uses.

Why it is not looked for by cuda-pathfinder: docs/releasing.md.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from ..errors import BackendError
from .bitcode_library import declared, extract, link_in

FILE_NAME = "libdevice.10.bc"
_PREFIX = "__nv_"
#: Functions of f32 with a fast version. That of pow is none: it takes every negative base for NaN.
_FAST = frozenset({"sin", "cos", "tan", "exp", "log", "log2", "log10"})


def function_name(math_name: str, single_precision: bool, fast: bool) -> str:
    """The libdevice function for a name of ``tree.MATH_FUNCTIONS``; if ``fast``, the one that
    approximates, where there is such a one."""
    if not single_precision:
        return f"{_PREFIX}{math_name}"
    return f"{_PREFIX}{'fast_' if fast and math_name in _FAST else ''}{math_name}f"


def used_functions(ir_text: str) -> frozenset[str]:
    """The libdevice functions that a module declares."""
    return declared(ir_text, _PREFIX)


@cache
def find_libdevice() -> Path:
    """The newest libdevice of NVIDIA's wheels, else of a CUDA toolkit.

    Raises BackendError that says where was looked and what to install.
    """
    folders = list(_candidate_folders())
    for folder in folders:
        path = folder / FILE_NAME
        if path.is_file():
            return path
    raise BackendError(
        f"{FILE_NAME}, NVIDIA's device math library, was not found"
        + (f" in {', '.join(map(str, folders))}" if folders else ""),
        'run `pip install "sharedoa[cuda]"` (it brings the nvidia-nvvm wheel), '
        "or set CUDA_HOME to a CUDA toolkit",
    )


@cache
def fingerprint() -> str:
    """Which library ``link`` takes functions from: a digest of its bytes, or that there is none."""
    try:
        return hashlib.sha256(find_libdevice().read_bytes()).hexdigest()[:12]
    except (BackendError, OSError):
        return "none"


def _candidate_folders() -> Iterator[Path]:
    for wheel in nvidia_wheel_folders():
        yield from sorted(wheel.glob("*/nvvm/libdevice"), reverse=True)
    for toolkit in cuda_toolkits():
        yield toolkit / "nvvm" / "libdevice"


def nvidia_wheel_folders() -> list[Path]:
    """Where the wheels of the ``nvidia`` namespace are installed."""
    found = importlib.util.find_spec("nvidia")
    if found is None or found.submodule_search_locations is None:
        return []
    return [Path(folder) for folder in found.submodule_search_locations]


def cuda_toolkits() -> list[Path]:
    """CUDA toolkits of this machine: $CUDA_HOME, $CUDA_PATH, conda's, then the usual place."""
    named = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")]
    return [Path(folder) for folder in (*named, "/usr/local/cuda") if folder]


def link(module: Any, functions: Iterable[str]) -> None:
    """Link the named libdevice functions, and what they use, into ``module`` as internal ones."""
    names = frozenset(functions)
    if names:
        link_in(module, _extract(names), names)


@cache
def _extract(names: frozenset[str]) -> bytes:
    library = llvm.parse_bitcode(find_libdevice().read_bytes())
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine()
    found = extract(library, names, machine)
    if not isinstance(found, bytes):
        raise BackendError(
            f"{find_libdevice()} has no {', '.join(sorted(found))}",
            "install a newer CUDA toolkit or nvidia-nvvm wheel",
        )
    return found
