"""What of ROCm compiling for AMD's GPUs needs: where it is, and its linker."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from llvmlite import binding as llvm

from ..errors import BackendError, InternalError


def rocm_folders() -> list[Path]:
    """Installations of ROCm: $ROCM_PATH, $HIP_PATH, then the usual place."""
    named = [os.environ.get(name) for name in ("ROCM_PATH", "HIP_PATH")]
    return [Path(folder) for folder in (*named, "/opt/rocm") if folder]


@cache
def find_lld() -> Path:
    """ld.lld of ROCm, else in PATH; BackendError if there is none."""
    for path in _candidates():
        if path.is_file():
            return path
    raise BackendError(
        "ld.lld, the linker that makes code objects for AMD's GPUs, was not found",
        "install ROCm, or set ROCM_PATH to where it is",
    )


def _candidates() -> Iterator[Path]:
    for folder in rocm_folders():
        yield folder / "llvm" / "bin" / "ld.lld"
        yield folder / "lib" / "llvm" / "bin" / "ld.lld"
    in_path = shutil.which("ld.lld")
    if in_path:
        yield Path(in_path)


def link_code_object(object_code: bytes) -> bytes:
    """What the driver loads, of what LLVM emits.

    Raises BackendError without a linker, or for functions that nobody defines.
    """
    with tempfile.TemporaryDirectory(prefix="sharedoa-lld-") as folder:
        source, linked = Path(folder) / "kernel.o", Path(folder) / "kernel.co"
        source.write_bytes(object_code)
        command = [str(find_lld()), "-shared", "--no-undefined", "-o", str(linked), str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return linked.read_bytes()
    if "undefined symbol" in done.stderr:
        raise BackendError(
            f"a kernel needs functions that are not there for AMD's GPUs: {done.stderr.strip()}",
            "functions called __ocml_ are in ROCm's device libraries: set ROCM_PATH to where ROCm "
            "is; modes cuda and concord need a malloc, which is not there: use another mode",
        )
    if "unknown abi version" in done.stderr:
        raise BackendError(
            f"{find_lld()} is older than the code objects for AMD's GPUs that LLVM "
            f"{'.'.join(map(str, llvm.llvm_version_info))} makes",
            "install a newer ROCm and set ROCM_PATH to it, or ld.lld of LLVM 19 or newer",
        )
    raise InternalError(f"ld.lld refuses the code of a kernel: {done.stderr.strip()}")
