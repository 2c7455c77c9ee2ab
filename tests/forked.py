"""Programs in processes of their own that start at once, for tests of how a process fares.

A new interpreter takes a second for its imports. So one server for each process of pytest imports
what they all need, makes and compiles nothing, and forks itself for each program. Beside its
imports such a process is like one that was started by name: it has the environment, the current
folder and the files that it was given, and ends as Python ends. Tests of imports, of options of
the interpreter and of what a first start does use ``subprocess``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from .quick_code import made_quickly

ROOT = Path(__file__).parents[1]
MODULES = (
    "numpy", "cffi", "llvmlite.ir", "llvmlite.binding", "sortedcontainers", "sharedoa.cli.commands",
    "sharedoa.backends.cpu", "sharedoa.runtime.launch", "sharedoa.targets.host", "ptxpass.text",
    "sharedoa.ir.pipeline", "sharedoa.everyday", "sharedoa.heap.interface", "platformdirs",
    "sharedoa.runtime.capture", "sharedoa.runtime.vectorised", "sharedoa.runtime.fusion.steps",
    "sharedoa.runtime.population_sequence", "sharedoa.ir.streaming", "ptxpass.cli",
    "sharedoa.heap.field_references", "typer.rich_utils",
)  # fmt: skip
_MOST = 1 << 20


class Program:
    """A process that runs ``python ARGUMENTS``; FILE or -m MODULE come first. It has what tests use
    of ``subprocess.Popen``."""

    def __init__(
        self,
        arguments: Sequence[object],
        environment: Mapping[str, str],
        folder: Path | None = None,
        silent: bool = False,
    ) -> None:
        """``silent``: it prints no warnings."""
        self._server = _server()
        pipes = os.pipe(), os.pipe()
        request = {
            "arguments": [*map(str, arguments)],
            "environment": dict(environment),
            "folder": str(folder or Path.cwd()),
            "silent": silent,
        }
        message = json.dumps(request).encode()
        socket.send_fds(self._server, [message], [writing for _, writing in pipes])
        for _, writing in pipes:
            os.close(writing)
        self.stdout: TextIO = open(pipes[0][0], errors="replace")
        self.stderr: TextIO = open(pipes[1][0], errors="replace")
        self._server.settimeout(None)
        self.pid = int(self._server.recv(_MOST))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Its status. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            self._server.settimeout(timeout)
            try:
                self.returncode = int(self._server.recv(_MOST))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("a forked program", timeout or 0.0) from None
        return self.returncode

    def poll(self) -> int | None:
        """Its status, None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it prints from now on until it ends."""
        printed = ["", ""]

        def read(number: int, stream: TextIO) -> None:
            with stream:
                printed[number] = stream.read()

        streams = self.stdout, self.stderr
        readers = [threading.Thread(target=read, args=each) for each in enumerate(streams)]
        for reader in readers:
            reader.start()
        try:
            self.wait(timeout)
        finally:
            self.kill()
            for reader in readers:
                reader.join(timeout)
        return printed[0], printed[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it, unless it has ended, and wait for that."""
        self.send_signal(signal.SIGKILL)
        self.wait()


def run(
    arguments: Sequence[object],
    environment: Mapping[str, str],
    folder: Path | None = None,
    timeout: float | None = 120,
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run``."""
    program = Program(arguments, environment, folder)
    out, errors = program.communicate(timeout)
    return subprocess.CompletedProcess(arguments, program.wait(), out, errors)


@functools.cache
def _server() -> socket.socket:
    """Packets go to it: a program, and come from it: the process, and its status."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", str(its.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            start_new_session=True,  # Ctrl-C is for pytest
        )
    atexit.register(_end, mine, process)
    return mine


def _end(mine: socket.socket, process: subprocess.Popen[bytes]) -> None:
    mine.close()
    process.wait()


def import_all(modules: Sequence[str]) -> None:
    """Import what takes long, in a process that will be forked."""
    # Threads of OpenBLAS would make forks of a process with threads.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in modules:
        importlib.import_module(name)
    # Else the collector of each fork looks at all of it at its end, and so copies it: 0.2 s.
    gc.collect()
    gc.freeze()


def _serve(connection: socket.socket) -> None:
    """Fork for each program; this returns in its process, too, once it has been run."""
    import_all(MODULES)
    while True:
        message, files, _, _ = socket.recv_fds(connection, _MOST, 2)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            connection.close()
            for number, file in enumerate(files, 1):
                os.dup2(file, number)
                os.close(file)
            return _become(**json.loads(message))
        for file in files:
            os.close(file)
        connection.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(arguments: list[str], environment: dict[str, str], folder: str, silent: bool) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if silent:
        warnings.simplefilter("ignore")
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv, file = arguments, arguments[0]
    sys.path.insert(0, str(Path(file).parent))
    # Its names must stay until the very end, which runpy would not do.
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = file
    exec(compile(Path(file).read_text(), file, "exec"), vars(main))


if __name__ == "__main__":
    with made_quickly(plainly=True):
        _serve(socket.socket(fileno=int(sys.argv[1])))
