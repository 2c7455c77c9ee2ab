"""ptxas, NVIDIA's PTX assembler: finding it, and what it reports about a kernel."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dispatch.dataclass import dataclass

from ..errors import BackendError, InternalError
from .libdevice import cuda_toolkits, nvidia_wheel_folders
from .nvptx_lines import tells_lines

_REGISTERS = re.compile(r"Used (\d+) registers")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class PtxasReport:
    """What ptxas says of the kernel of a module: registers a thread, and bytes a thread of stack
    frame, spill stores and spill loads. ``cubin`` is the machine code."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    cubin: bytes


@cache
def find_ptxas() -> Path:
    """ptxas of NVIDIA's wheels, else of a CUDA toolkit, else in PATH; BackendError if none."""
    for path in _candidates():
        if path.is_file():
            return path
    raise BackendError(
        "ptxas, NVIDIA's PTX assembler, was not found",
        "run `pip install nvidia-cuda-nvcc`, or set CUDA_HOME to a CUDA toolkit",
    )


def _candidates() -> Iterator[Path]:
    for wheel in nvidia_wheel_folders():
        yield from sorted(wheel.glob("*/bin/ptxas"), reverse=True)
    for toolkit in cuda_toolkits():
        yield toolkit / "bin" / "ptxas"
    in_path = shutil.which("ptxas")
    if in_path:
        yield Path(in_path)


def assemble(ptx: str, architecture: str) -> PtxasReport:
    """Assemble ``ptx`` for ``architecture`` (such as sm_90).

    Raises BackendError without ptxas, InternalError with its log and the input if it refuses.
    """
    ptxas = find_ptxas()
    folder = Path(tempfile.mkdtemp(prefix="sharedoa-ptxas-"))
    source, cubin = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(ptx)
    lines = ["-lineinfo"] if tells_lines(ptx) else []
    command = [str(ptxas), "-v", *lines, "-arch", architecture, "-o", str(cubin), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    log = done.stdout + done.stderr
    if done.returncode != 0:
        raise InternalError(
            f"ptxas refuses the PTX of a kernel. The input is kept; reproduce with\n"
            f"    {shlex.join(command)}\n{log.strip()}"
        )
    report = _read_report(log, cubin.read_bytes())
    shutil.rmtree(folder)
    return report


def _read_report(log: str, cubin: bytes) -> PtxasReport:
    # Functions that were not inlined are listed too; the kernel's registers cover theirs.
    registers = max(map(int, _REGISTERS.findall(log)), default=0)
    frames = [tuple(map(int, found)) for found in _FRAME.findall(log)] or [(0, 0, 0)]
    stack, stores, loads = (max(column) for column in zip(*frames, strict=True))
    return PtxasReport(registers, stack, stores, loads, cubin)
