"""What goes wrong in a program's last launch is said, and shows in its status."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ..source_files import environment

_PROGRAM = """
import atexit, os, sys
import sharedoa as oa
from sharedoa import i64

@oa.kernel
def claim(a: oa.Array[i64]) -> None:
    i = oa.grid(1)
    assert a[i] == 0

atexit.register(lambda: (sys.stderr.flush(), print("cleaned up", flush=True)))
heap = oa.Heap(backend=sys.argv[1])
heap.__enter__()
a = oa.zeros(4, i64)
claim[4](a)
heap.synchronize()
a[3] = 1
try:
    claim[4](a)
    {after}
except oa.DeviceError:
    print("told")
del a
"""


def run(tmp_path, after: str, backend: str) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM.format(after=after))
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(program), backend],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
    )


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def compiled(request) -> str:
    return request.param


def test_a_failure_that_nobody_waited_for(tmp_path, compiled):
    found = run(tmp_path, "pass", compiled)
    assert found.returncode == 120
    assert "kernel claim" in found.stderr and "an assertion failed" in found.stderr
    assert found.stderr.count("DeviceError") == 1 and "cleaned up" in found.stdout


def test_one_that_was_told_is_not_told_again(tmp_path, compiled):
    found = run(tmp_path, "heap.synchronize()", compiled)
    assert (found.returncode, found.stderr) == (0, "")
    assert "told" in found.stdout


def test_a_forked_child_says_nothing_of_it(tmp_path):
    found = run(tmp_path, "(os.fork() or sys.exit(0)) and os.wait()", "cpu")
    assert found.returncode == 120 and found.stderr.count("DeviceError") == 1
