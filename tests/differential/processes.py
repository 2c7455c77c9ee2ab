"""Many tasks in several processes: one that dies or hangs is a failure of its task, and another
process goes on."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, TypeVar

from sharedoa.runtime import knobs

_ROOT = Path(__file__).resolve().parents[2]
#: Seconds after which a process counts as hanging.
PATIENCE = 180
_CONTEXT = multiprocessing.get_context("spawn")
T = TypeVar("T")
Run = Callable[[T, Path], Any]
"""Runs a task, with a folder for its files; raises whatever shows that something is wrong."""


@dataclass(frozen=True)
class Done(Generic[T]):
    """What came of a task: what it gave, or why it failed."""

    task: T
    seconds: float
    result: Any = None
    failure: str | None = None


def _work(pipe: Connection, run: Run[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, knobs.scope(cache_dir="off"):
        while (task := pipe.recv()) is not None:
            result = failure = None
            start = time.perf_counter()
            try:
                result = run(task, Path(folder))
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"[:6000]
                places = "".join(traceback.format_tb(error.__traceback__)[-4:])
                failure += places.replace(f"{_ROOT}{os.sep}", "")  # as records are for others
            pipe.send((time.perf_counter() - start, result, failure))


class Worker(Generic[T]):
    """A process and its task."""

    def __init__(self, run: Run[T]) -> None:
        self.pipe, there = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_work, args=(there, run), daemon=True)
        self.process.start()
        there.close()
        self.task: T | None = None
        self.since = time.perf_counter()

    def give(self, task: T | None) -> None:
        self.task, self.since = task, time.perf_counter()
        # What has died meanwhile says so when it is asked for a result.
        with suppress(BrokenPipeError):
            self.pipe.send(task)

    def take(self) -> Done[T] | None:
        """What came of the task, if anything did. Of a process that has died or hangs, nothing is
        left."""
        assert self.task is not None
        seconds = time.perf_counter() - self.since
        try:
            if self.pipe.poll():
                return Done(self.task, *self.pipe.recv())
            if seconds < PATIENCE:
                return None
            failure = f"hangs: nothing for {PATIENCE} s"
        except (EOFError, ConnectionResetError):
            self.process.join(10)
            failure = f"the process died with status {self.process.exitcode}"
        self.end()
        return Done(self.task, seconds, failure=failure)

    def end(self, patience: float = 0) -> None:
        """End the process, whatever it does after so many seconds."""
        self.process.join(patience)
        self.process.kill()
        self.process.join()

    @property
    def is_alive(self) -> bool:
        return self.process.is_alive()


def run_all(
    run: Run[T], tasks: Iterable[T], jobs: int, until: float | None = None
) -> Iterator[Done[T]]:
    """Run tasks in as many processes, and give what came of each, in any order. ``until``: the
    time of ``time.perf_counter`` after which none is begun, and none waited for."""
    left, busy = iter(tasks), []
    try:
        for task in _some(left, jobs, until):
            busy.append(Worker(run))
            busy[-1].give(task)
        while busy:
            wait([worker.pipe for worker in busy], timeout=1)
            if until is not None and time.perf_counter() > until:
                return
            for worker in list(busy):
                done = worker.take()
                if done is None:
                    continue
                yield done
                busy.remove(worker)
                for task in _some(left, 1, until):
                    following = worker if worker.is_alive else Worker(run)
                    busy.append(following)
                    following.give(task)
                if worker not in busy:
                    worker.give(None)
                    worker.end(patience=10)
    finally:
        for worker in busy:
            worker.end()


def _some(left: Iterator[T], count: int, until: float | None) -> Iterator[T]:
    for _ in range(count):
        if until is not None and time.perf_counter() > until:
            return
        with suppress(StopIteration):
            yield next(left)
