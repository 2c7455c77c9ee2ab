"""Programs that may end their process, each run in one of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ..forked import Program
from ..source_files import environment as tree

SECONDS = 60
_BEGIN = """
import os, signal, sys, threading, time
import numpy as np
import sharedoa as oa
from sharedoa import f32, i64
from sharedoa.backends import thread_pool
thread_pool.worker_count = lambda: 3

class Node(oa.Object):
    x: i64
    next: "Node"

    def follow(self) -> i64:
        return self.next.x

    def mark(self) -> None:
        self.next.x = 7

    def deep(self, n: i64) -> i64:
        return self.next.deep(n + 1) % 7 + n

    def add(self, n: i64) -> None:
        self.x += n

@oa.kernel
def wait_for(flag: oa.Array[i64], out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    while oa.atomic_add(flag, 0, i64(0)) == 0:
        pass
    out[i] = 1

def is_whole(heap):
    nodes = heap.new(Node, 100, x=1) if hasattr(heap, "new") else oa.new(Node, 100, x=1)
    nodes.add(4)
    assert nodes.x.numpy().tolist() == [5] * 100

def failure(call):
    try:
        call()
        oa.current_heap().synchronize() if hasattr(oa, "current_heap") else heap.synchronize()
    except oa.DeviceError as problem:
        return str(problem)
    raise SystemExit("no DeviceError")

heap = oa.Heap(backend="cpu")
heap.__enter__()
"""


def start(tmp_path: Path, text: str, **environment: str) -> Program:
    """A program in a process of its own."""
    return Program([_written(tmp_path, text)], tree() | environment, silent=True)


def _written(tmp_path: Path, text: str) -> Path:
    program = tmp_path / "program.py"
    program.write_text(_BEGIN + text)
    return program


def run(tmp_path: Path, text: str, **environment: str) -> tuple[int, str, str]:
    """Status, output and errors of a program."""
    process = start(tmp_path, text, **environment)
    out, errors = process.communicate(SECONDS)
    return process.wait(), out, errors


def run_with_options(tmp_path: Path, text: str, *options: str) -> tuple[int, str, str]:
    """The same of one that a new interpreter runs, with these options."""
    command = [sys.executable, "-W", "ignore", *options, str(_written(tmp_path, text))]
    done = subprocess.run(
        command, env=tree(), capture_output=True, text=True, check=False, timeout=SECONDS
    )
    return done.returncode, done.stdout, done.stderr


def _let_it_run(process: Program, seconds: float) -> None:
    """Wait until it has used so much of processors, which is more than it takes into a kernel."""
    begun, ticks = _ticks(process.pid), seconds * os.sysconf("SC_CLK_TCK")
    while process.poll() is None and _ticks(process.pid) - begun < ticks:
        time.sleep(0.02)


def _ticks(pid: int) -> int:
    """Of all its threads; fields 14 and 15 of what Linux says, after a name in brackets."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def interrupt(tmp_path: Path, text: str, *, times: int = 1) -> tuple[int, str, str]:
    """Of a program that gets SIGINT some time after it has printed "ready"."""
    process = start(tmp_path, text)
    try:
        assert process.stdout.readline() == "ready\n", process.communicate()
        for _ in range(times):
            # Between two signals the first is handled, which waits until a kernel can be left.
            _let_it_run(process, 0.3)
            process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return process.wait(), out, errors
