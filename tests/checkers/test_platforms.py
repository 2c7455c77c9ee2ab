"""Systems that tests do not run on: types, and what a program sees where POSIX is missing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: What modules of the standard library have depends on the system.
_DEPENDS = re.compile(
    r"^\s*(?:import|from) (?:os|mmap|signal|time|fcntl|resource|select|multiprocessing)\b", re.M
)
#: Others are about what comes from our own modules, which are not followed: seconds, not a minute.
_KINDS = ("attr-defined", "call-arg", "import-not-found")


# What macOS lacks Windows lacks, too.
@pytest.mark.parametrize("platform", [pytest.param("darwin", marks=pytest.mark.slow), "win32"])
def test_nothing_is_used_that_a_platform_lacks(platform: str) -> None:
    """``mypy --platform`` over the whole has no complaint either, which takes a minute."""
    files = [
        str(path.relative_to(ROOT))
        for package in ("sharedoa", "dispatch", "ptxpass")
        for path in sorted((ROOT / package).rglob("*.py"))
        if _DEPENDS.search(path.read_text())
    ]
    assert len(files) > 30
    files.append("dispatch/dataclass.py")  # without which fields of others say nothing
    command = ["-m", "mypy", "--config-file=", "--platform", platform, "--python-version=3.11"]
    # Beside the cache of ``make lint``, which is of another platform.
    cache = ["--cache-dir", f".mypy_cache/{platform}"]
    quick = ["--follow-imports=skip", "--ignore-missing-imports", *cache]
    done = subprocess.run(
        [sys.executable, *command, *quick, *files], capture_output=True, text=True, cwd=ROOT
    )
    assert "checked" in done.stdout, done.stdout + done.stderr
    kinds = re.compile(rf"error: .*\[({'|'.join(_KINDS)})\]$", re.M)
    assert not [line for line in done.stdout.splitlines() if kinds.search(line)]


#: Taken from what Python's documentation says is not there on Windows.
_WITHOUT_POSIX = """
import ctypes, mmap, multiprocessing, os, signal, subprocess, sys, tempfile, time
import numpy, cffi, llvmlite.binding, platformdirs, sortedcontainers
missing = {
    os: "fork register_at_fork fchmod geteuid getuid setpgid sysconf O_CLOEXEC O_NOFOLLOW "
    "O_NONBLOCK sched_getaffinity sched_setaffinity getloadavg",
    signal: "SIGBUS SIGURG SIGKILL pthread_sigmask",
    mmap: "MAP_PRIVATE MAP_ANONYMOUS MADV_HUGEPAGE MAP_NORESERVE",
    time: "CLOCK_MONOTONIC",
}
for module, names in missing.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
make = mmap.mmap
mmap.mmap = lambda number, size: make(number, size)
sys.modules["fcntl"] = None
sys.platform, os.O_BINARY = "win32", 0
from sharedoa.heap import provider
provider._total_memory_of_windows = lambda: 1 << 34
"""
_PROGRAM = """
import sharedoa as oa

class Body(oa.Object):
    mass: oa.f32
    def grow(self, by: oa.f32) -> None:
        self.mass += by

bodies = oa.new(Body, 1000, mass=1.0)
oa.all(Body).grow(2.0)
print(bodies.mass.numpy().sum())
for backend in ("cpu", "auto"):
    try:
        oa.Heap(backend=backend)
    except oa.BackendError as error:
        print(error)
"""


def test_python_runs_programs_without_posix(tmp_path: Path) -> None:
    """What a program meets on Windows, as far as it can be told without one."""
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    start = f"{_WITHOUT_POSIX}\nimport runpy\nrunpy.run_path({str(program)!r})"
    done = subprocess.run(
        [sys.executable, "-c", start],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "SHAREDOA_BACKEND": "python"},
    )
    assert not done.returncode, done.stderr
    first, *others = done.stdout.splitlines()
    assert float(first) == 3000.0
    assert "the backend cpu needs threads" in others[0] and "WSL" in done.stdout
