"""A worker process, from both sides: messages are pickles after their length, through pipes.

A worker ends when the pipe from its parent does, also in the middle of a run: nobody wants what it
computes any more. It is in a process group of its own, so that Ctrl-C in a terminal reaches the
parent alone, which then ends its workers.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol

from ..errors import SharedOAError
from ..own_threads import OwnThread

_LENGTH = 8
_PATIENCE_SECONDS = 10.0
_BOOTSTRAP = (
    "import json, sys; sys.path[:], sys.argv[:] = map(json.loads, sys.argv[1:3]); "
    "from sharedoa.sweeps.worker import serve_parent; serve_parent()"
)
#: Pipes of one worker shall not be inherited by another, which would keep them open.
_forking = threading.Lock()


class WorkerLost(RuntimeError):
    """The process ended in the middle of a run."""


class Worker(Protocol):
    """A process that does one thing after another."""

    def ask(self, message: bytes) -> tuple[bool, Any]:
        """Send a pickled (function, arguments, named arguments) and wait: True and what it gave,
        or False and what it raised. Raises WorkerLost."""
        ...

    def kill(self) -> None: ...

    def end(self) -> None:
        """Let it end, and wait for that."""
        ...


class StartedWorker:
    """A new interpreter, with ``variables`` in its environment, on one ``core``."""

    def __init__(self, variables: Mapping[str, str], core: int | None) -> None:
        ours = str(Path(__file__).resolve().parents[2])
        path = [ours, *(each or os.getcwd() for each in sys.path)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP, json.dumps(path), json.dumps(sys.argv)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **variables},
            process_group=0 if os.name == "posix" else None,
        )
        if core is not None and hasattr(os, "sched_setaffinity"):
            with suppress(OSError):  # it has ended; whoever asks it is told
                os.sched_setaffinity(self._process.pid, {core})

    def ask(self, message: bytes) -> tuple[bool, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            _send(self._process.stdin, message)
            return _answer(_receive(self._process.stdout))
        except (EOFError, OSError):
            raise WorkerLost(_how_it_ended(self._process.wait())) from None

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):  # of what was not sent to one that has gone
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._process.stdout.close()


class ForkedWorker:
    """A copy of this process, which knows what was written at a prompt."""

    def __init__(self, core: int | None) -> None:
        import multiprocessing
        import warnings

        forks: Any = multiprocessing.get_context("fork")
        with _forking:
            requests, self._requests = _pipe()
            self._replies, replies = _pipe()
            ours = (self._requests, self._replies)
            self._process: BaseProcess = forks.Process(
                target=_serve_forked, args=(requests, replies, ours, core), daemon=True
            )
            with warnings.catch_warnings():  # of threads, which `sharedoa.forks` looks after
                warnings.simplefilter("ignore", DeprecationWarning)
                self._process.start()
            requests.close()
            replies.close()

    def ask(self, message: bytes) -> tuple[bool, Any]:
        try:
            _send(self._requests, message)
            return _answer(_receive(self._replies))
        except (EOFError, OSError):
            self._process.join()
            raise WorkerLost(_how_it_ended(self._process.exitcode)) from None

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        with suppress(OSError):
            self._requests.close()
        self._process.join(_PATIENCE_SECONDS)
        self._process.kill()
        self._process.join()
        self._replies.close()


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    reads, writes = os.pipe()
    return os.fdopen(reads, "rb"), os.fdopen(writes, "wb")


def _send(to: IO[bytes], message: bytes) -> None:
    to.write(len(message).to_bytes(_LENGTH, "little") + message)
    to.flush()


def _receive(source: IO[bytes]) -> bytes:
    head = source.read(_LENGTH)
    message = source.read(int.from_bytes(head, "little"))
    if len(head) < _LENGTH or len(message) < int.from_bytes(head, "little"):
        raise EOFError
    return message


def _answer(message: bytes) -> tuple[bool, Any]:
    answer: tuple[bool, Any] = pickle.loads(message)
    return answer


def _how_it_ended(status: int | None) -> str:
    return f"was killed by signal {-status}" if status and status < 0 else f"ended with {status}"


def serve_parent() -> None:
    """The life of a ``StartedWorker``: what models print goes where errors do."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _serve(os.fdopen(os.dup(0), "rb"), replies)


def _serve_forked(
    requests: BinaryIO, replies: BinaryIO, parents: tuple[BinaryIO, ...], core: int | None
) -> None:
    for each in parents:
        each.close()
    if sys.platform != "win32":
        os.setpgid(0, 0)
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    _serve(requests, replies)


def _serve(requests: BinaryIO, replies: BinaryIO) -> None:
    arrived: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    busy = threading.Event()
    OwnThread(target=_listen, args=(requests, arrived, busy), daemon=True).start()
    while (message := arrived.get()) is not None:
        answer = _done(message)
        busy.clear()
        _send(replies, answer)


def _listen(
    requests: BinaryIO, arrived: queue.SimpleQueue[bytes | None], busy: threading.Event
) -> None:
    try:
        while True:
            message = _receive(requests)
            busy.set()
            arrived.put(message)
    except (EOFError, OSError):
        if busy.is_set():
            os._exit(1)
        arrived.put(None)


def _done(message: bytes) -> bytes:
    try:
        function, positional, named = pickle.loads(message)
        return pickle.dumps((True, function(*positional, **named)))
    except Exception as error:
        told = error if isinstance(error, SharedOAError) else RuntimeError(repr(error))
        return pickle.dumps((False, told))
