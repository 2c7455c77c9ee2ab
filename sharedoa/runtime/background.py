"""Work beside the program: one thread that compiles better code while the code there is goes on.

Nothing rests on whether such work is done, only how quick launches are: who submits it goes on with
what there is, and looks later whether it is done (``Task.is_done``). What fails is kept
(``Task.failure``), for remarks. The setting ``background`` says whether anything is to be done so.

The thread ends when there is nothing left to do, and interpreters wait for it at their end: to be
stopped within LLVM would end the process badly. What has not begun by then is dropped. It is also
dropped in the child of a fork, which has no such thread.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections import deque
from collections.abc import Callable

from ..forks import renew_in_child, tell_child
from . import knobs

_SWITCH_SECONDS = 0.0002
"""For how long the interpreter stays with one thread at most while there is work: a launch that
lets others run meanwhile waits that long to go on, with Python's own setting 5 ms."""


class Task:
    """Work that was submitted, with the settings of who did."""

    def __init__(self, work: Callable[[Task], None]) -> None:
        self._work: Callable[[Task], None] | None = work
        self._context: contextvars.Context | None = contextvars.copy_context()
        self.is_done = False
        #: Whether it will never be done.
        self.is_dropped = False
        #: What it raised.
        self.failure: BaseException | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it may still be done."""
        return not (self.is_done or self.is_dropped)

    def drop(self) -> None:
        """Nobody wants it any more; if it has begun it may look at ``is_dropped`` now and then."""
        self.is_dropped = True
        self._work = self._context = None

    def _run(self) -> None:
        work, context = self._work, self._context
        # Both may keep heaps alive, as do the frames of a failure.
        self._work = self._context = None
        if work is None or context is None:  # dropped
            return
        try:
            context.run(work, self)
        except BaseException as failure:
            self.failure = failure.with_traceback(None)
        self.is_done = True


class _Worker:
    """The queue, and its thread where there is something to do."""

    def __init__(self) -> None:
        self._lock = renew_in_child(threading.Lock())
        self._tasks: deque[Task] = deque()
        self._running: Task | None = None
        self._thread: threading.Thread | None = None
        #: The interval that the interpreter had before there was work, while there is.
        self._usual: float | None = None

    def submit(self, work: Callable[[Task], None]) -> Task:
        task = Task(work)
        with self._lock:
            self._tasks.append(task)
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="sharedoa background")
                thread.daemon = False  # whatever the thread is that submits
                try:
                    thread.start()
                    self._thread = thread
                except RuntimeError:  # no more threads, or the interpreter is about to end
                    self._tasks.pop().drop()
        return task

    def wait(self, seconds: float) -> bool:
        limit = time.monotonic() + seconds
        while (thread := self._thread) is not None:
            thread.join(max(0.0, limit - time.monotonic()))
            if thread.is_alive():
                return False
        return True

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task._run()

    def _next(self) -> Task | None:
        with self._lock:
            if not threading.main_thread().is_alive():  # the interpreter waits for us to end
                self._drop_all()
            self._running = self._tasks.popleft() if self._tasks else None
            self._switch_often(self._running is not None)
            if self._running is None:
                self._thread = None
            return self._running

    def _switch_often(self, often: bool) -> None:
        if often and self._usual is None:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(min(self._usual, _SWITCH_SECONDS))
        elif not often and self._usual is not None:
            if sys.getswitchinterval() < 2 * _SWITCH_SECONDS:  # else somebody has set another one
                sys.setswitchinterval(self._usual)
            self._usual = None

    def _drop_all(self) -> None:
        for task in self._tasks:
            task.drop()
        self._tasks.clear()

    def after_fork(self) -> None:
        if self._running is not None:
            self._running.drop()
        self._drop_all()
        self._running = self._thread = None
        self._switch_often(False)


_worker = _Worker()
tell_child(_worker)


def is_on() -> bool:
    """Whether what can be done beside the program is."""
    return knobs.background.value()


def submit(work: Callable[[Task], None]) -> Task:
    """Have ``work`` done, after what was submitted before; it is given its task. It must keep no
    lock while it takes long, and be safe beside launches."""
    return _worker.submit(work)


def wait(seconds: float = 60.0) -> bool:
    """Wait until all that was submitted is done; False if that took longer."""
    return _worker.wait(seconds)
