"""The executor of a sweep that is given none: a process for each GPU, or each core.

A process that ends takes the run with it that it had, which the sweep gives to another; the others
go on. (``ProcessPoolExecutor`` gives up all of them.)
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from dispatch.dataclass import dataclass, field

from ..errors import ArgumentError, BackendError
from ..own_threads import OwnThread
from ..runtime import knobs
from .main_script import Model
from .worker import ForkedWorker, StartedWorker, Worker, WorkerLost


@dataclass(frozen=True)
class Place:
    """What one worker has to itself: variables that name its GPU, or the number of a core."""

    number: int
    variables: Mapping[str, str] = field(default_factory=dict)
    core: int | None = None


class Processes(Executor):
    """As many workers as ``places``, each started for its first run by ``start``."""

    def __init__(self, places: list[Place], start: Callable[[Place], Worker]) -> None:
        self._waiting: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._places, self._start = places, start
        self._workers: dict[int, Worker] = {}
        self._threads: list[threading.Thread] = []
        self._ends = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._ends:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[Any] = Future()
        self._waiting.put(_Work(future, pickle.dumps((fn, args, kwargs))))
        if len(self._threads) < len(self._places):
            self._begin(self._places[len(self._threads)])
        return future

    def _begin(self, place: Place) -> None:
        """Let one more thread work, where the system gives it."""
        # A daemon, so that a program ends which never calls `shutdown`.
        thread = OwnThread(target=self._serve, args=(place,), daemon=True)
        self._threads.append(thread)
        try:
            thread.start()
        except RuntimeError as problem:
            self._threads.remove(thread)
            if not self._threads:
                raise BackendError(
                    f"a sweep has no thread that waits for a worker: {problem}",
                    "end other programs, or run here: oa.sweep(..., executor=...)",
                ) from problem
            self._places = self._places[: len(self._threads)]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers end when nothing waits any more; with ``cancel_futures`` at once."""
        self._ends = True
        if cancel_futures:
            while not self._waiting.empty():
                work = self._waiting.get()
                if work is not None:
                    work.future.cancel()
            for worker in list(self._workers.values()):
                worker.kill()
        for _ in self._threads:
            self._waiting.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _serve(self, place: Place) -> None:
        if threading.current_thread() not in self._threads:  # it was given up
            return
        while (work := self._waiting.get()) is not None:
            if work.future.set_running_or_notify_cancel():
                self._do(work, place)
        if place.number in self._workers:
            self._workers.pop(place.number).end()

    def _do(self, work: _Work, place: Place) -> None:
        try:
            if place.number not in self._workers:
                self._workers[place.number] = self._start(place)
            works, result = self._workers[place.number].ask(work.message)
        except WorkerLost as lost:
            self._workers.pop(place.number).end()
            work.future.set_exception(lost)
        except BaseException as error:
            work.future.set_exception(error)
        else:
            if works:
                work.future.set_result(result)
            else:
                work.future.set_exception(result)


@dataclass
class _Work:
    future: Future[Any]
    message: bytes


def processes_for(model: Model, runs: int) -> Processes:
    """Workers on this machine that can run ``model``, no more than there are ``runs``.

    Raises ArgumentError if it can be sent to none.
    """
    places = places_here()[:runs]
    reason = _why_not_sent(model)
    if reason is None:
        return Processes(places, lambda each: StartedWorker(each.variables, each.core))
    if places[0].variables or not hasattr(os, "fork"):
        raise ArgumentError(
            f"the model cannot be sent to other processes: {reason}",
            "write it and its classes in a module (in a notebook `%%writefile model.py`) and "
            "import it, or run here: executor=concurrent.futures.ThreadPoolExecutor(1)",
        )
    model.leave_to_children()
    return Processes(places, lambda each: ForkedWorker(each.core))


def _why_not_sent(model: Model) -> str | None:
    """Processes that are started anew know modules and the script; a prompt's or notebook's
    functions, and those in others, only forked ones have."""
    if model.is_of_script:
        return None
    try:
        message = pickle.dumps(model)
    except Exception as error:
        return str(error)
    if b"__main__" in message:
        return "it was written at a prompt, in a notebook or in another function"
    return None


def places_here() -> list[Place]:
    name = knobs.backend.value()
    if name in ("auto", "cuda") and (found := _gpus("CUDA_VISIBLE_DEVICES", _cuda_devices)):
        return found
    if name in ("auto", "hip") and (found := _gpus("HIP_VISIBLE_DEVICES", _hip_devices)):
        return found
    if name.startswith(("cuda", "hip")):
        return [Place(0, {"SHAREDOA_BACKEND": name})]  # one certain device
    if hasattr(os, "sched_getaffinity"):
        return [Place(core, core=core) for core in sorted(os.sched_getaffinity(0))]
    return [Place(number) for number in range(os.cpu_count() or 1)]


def _gpus(variable: str, count: Callable[[], int]) -> list[Place]:
    try:
        number = count()
    except BackendError:
        return []
    visible = os.environ.get(variable)
    names = visible.split(",") if visible else [str(each) for each in range(number)]
    return [Place(at, {variable: name.strip()}) for at, name in enumerate(names[:number])]


def _cuda_devices() -> int:
    from ..backends.cuda_device import cuda_devices

    return sum(each.missing is None for each in cuda_devices())


def _hip_devices() -> int:
    from ..backends.hip_device import hip_devices

    return sum(each.missing is None for each in hip_devices())
