"""Work beside the program: one thread that compiles better code while the code there is goes on,
first what launches may soon wait for, then what makes most of them quicker (``Urgency``).

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
from collections.abc import Callable
from enum import IntEnum

from ..forks import renew_in_child, tell_child
from ..own_threads import OwnThread
from ..uninterrupted import uninterrupted
from . import knobs

_SWITCH_SECONDS = 0.0002
"""For how long the interpreter stays with one thread at most while there is work: a launch that
lets others run meanwhile waits that long to go on, with Python's own setting 5 ms."""


class Urgency(IntEnum):
    """What is to be done first; of as urgent work what was submitted first."""

    #: Code without which some launch will wait for a compiler.
    NEEDED = 0
    #: One kernel that knows numbers: that is soon done.
    CONSTANTS = 1
    #: All kernels of a heap.
    LAYOUT = 2
    #: Code that may turn out not to be quicker.
    TRIAL = 3


class Task:
    """Work that was submitted, with the settings of who did."""

    def __init__(self, work: Callable[[Task], None], urgency: Urgency) -> None:
        self.urgency = urgency
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
        self._tasks: list[Task] = []
        #: And what it has interrupted.
        self._running: list[Task] = []
        self._thread: threading.Thread | None = None
        #: The interval that the interpreter had before there was work, while there is.
        self._usual: float | None = None

    def submit(self, work: Callable[[Task], None], urgency: Urgency) -> Task:
        task = Task(work, urgency)
        with uninterrupted, self._lock:  # a thread that is not noted would not work
            self._tasks.append(task)
            if self._thread is None:
                thread = OwnThread(target=self._work, name="sharedoa background")
                thread.daemon = False  # whatever the thread is that submits
                try:
                    thread.start()
                    self._thread = thread
                except RuntimeError:  # no threads, no memory, or the interpreter is about to end
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

    def let_first(self) -> None:
        if threading.current_thread() is not self._thread:
            return
        while (task := self._next(self._running[-1].urgency)) is not None:
            task._run()
            self._running.pop()

    def _next(self, below: int | None = None) -> Task | None:
        """What is to be run now; ``below``: only what is more urgent, before what is running goes
        on."""
        with self._lock:
            if self._thread is not threading.current_thread():  # given up before it began
                return None
            if not threading.main_thread().is_alive():  # the interpreter waits for us to end
                self._drop_all()
                for task in self._running:
                    task.drop()
            first = min(self._tasks, key=lambda each: each.urgency, default=None)
            if below is None:
                self._running.clear()
                self._switch_often(first is not None)
                if first is None:
                    self._thread = None
            elif first is not None and first.urgency >= below:
                return None
            if first is not None:
                self._tasks.remove(first)
                self._running.append(first)
            return first

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
        for task in self._running:
            task.drop()
        self._drop_all()
        self._running.clear()
        self._thread = None
        self._switch_often(False)


_worker = _Worker()
tell_child(_worker)


def is_on() -> bool:
    """Whether what can be done beside the program is."""
    return knobs.background.value()


def submit(work: Callable[[Task], None], urgency: Urgency = Urgency.LAYOUT) -> Task:
    """Have ``work`` done; it is given its task. It must keep no lock while it takes long, and be
    safe beside launches."""
    return _worker.submit(work, urgency)


def let_first() -> None:
    """Called by work between its parts, without locks: what is more urgent is done before the next
    one."""
    _worker.let_first()


def wait(seconds: float = 60.0) -> bool:
    """Wait until all that was submitted is done; False if that took longer."""
    return _worker.wait(seconds)
