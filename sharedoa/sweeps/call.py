"""``oa.sweep``."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, SharedOAError

if TYPE_CHECKING:
    import pandas

    from ..progress import Progress
    from .journal import Journal
    from .one_run import Outcome
    from .runs import Run
    from .table import Row

#: How many workers a run may cost.
_ATTEMPTS = 3


def sweep(
    model: Callable[..., Any],
    parameters: Mapping[str, Iterable[Any]],
    repeats: int = 1,
    seed: int = 0,
    executor: Executor | None = None,
    to: str | PathLike[str] | None = None,
) -> pandas.DataFrame:
    """Call ``model`` with every combination of ``parameters``, ``repeats`` times each, and give a
    table of what it returned: a row a run, with parameters, ``run``, ``seed``, results,
    ``seconds`` on the worker, and ``error``.

    ``model(**parameters, seed=...)`` makes objects, runs, and returns numbers or texts by name. It
    is called in a heap of its own. Each run has a seed of 63 bits, which depends on ``seed``, its
    parameters and which repetition it is, on no order and no executor. A run that raises has its
    ``error``, and the others go on; so have those whose worker was lost three times, where one
    that is lost once is given to another worker.

    ``executor`` is any ``concurrent.futures.Executor``; without one there is a process for each
    GPU, or each core, of this machine. ``to`` names a file, ``.parquet`` or ``.csv``, which keeps
    every finished run at once: the same call later, also after a kill, runs what is missing or had
    failed. More values, repeats or another seed add to it; another text of ``model`` is refused.

    Raises ArgumentError for parameters that the model does not take and for a file that is of
    something else, ConfigurationError without pandas (or pyarrow for Parquet).
    """
    from .main_script import Model, stop_if_only_loading

    stop_if_only_loading()
    from ..progress import reporting
    from .journal import Journal
    from .processes import processes_for
    from .runs import name_of, runs_of, takes_seed
    from .table import data_frame, needed

    needed("pandas")
    runs = runs_of(parameters, repeats, seed)
    has_seed = takes_seed(model, runs, repeats)
    if not (executor is None or isinstance(executor, Executor)):
        raise ArgumentError(
            f"executor={executor!r} is no concurrent.futures.Executor",
            "give none for processes of this machine; Dask has client.get_executor()",
        )
    journal = None if to is None else Journal(to, model, list(parameters))
    rows = {} if journal is None else journal.rows
    missing = [run for run in runs if run.seed not in rows or rows[run.seed].error is not None]
    sent = Model(model)
    ours = None
    try:
        if missing and executor is None:
            executor = ours = processes_for(sent, len(missing))
        with reporting(name_of(model)) as progress:
            if missing:
                assert executor is not None
                work = _Work(executor, sent, has_seed, journal, rows, progress, len(runs))
                work.do(missing)
    except BaseException:
        if ours is not None:
            ours.shutdown(cancel_futures=True)
        raise
    else:
        if ours is not None:
            ours.shutdown()
    finally:
        if journal is not None:
            journal.finish(run.seed for run in runs)
    return data_frame(rows[run.seed]._replace(parameters=run.parameters) for run in runs)


class _Work:
    """Runs that an executor has, and what to do as each of them ends."""

    def __init__(
        self,
        executor: Executor,
        model: Any,
        has_seed: bool,
        journal: Journal | None,
        rows: dict[int, Row],
        progress: Progress | None,
        total: int,
    ) -> None:
        self._executor, self._model, self._has_seed = executor, model, has_seed
        self._journal, self._rows = journal, rows
        self._progress, self._total = progress, total
        self._ended: queue.SimpleQueue[tuple[Run, Future[Outcome]]] = queue.SimpleQueue()
        self._futures: dict[int, Future[Outcome]] = {}
        self._lost: Counter[int] = Counter()

    def do(self, runs: list[Run]) -> None:
        self._show(self._total - len(runs))
        try:
            for run in runs:
                self._submit(run)
            left = len(runs)
            while left:
                run, future = self._ended.get()
                if self._is_done(run, future):
                    left -= 1
                    self._show(self._total - left)
        finally:
            for future in self._futures.values():
                future.cancel()

    def _submit(self, run: Run) -> None:
        from .one_run import run_once

        seed = run.seed if self._has_seed else None
        future: Future[Outcome]
        try:
            future = self._executor.submit(run_once, self._model, run.parameters, seed)
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(error)
        self._futures[run.number] = future
        future.add_done_callback(lambda ended: self._ended.put((run, ended)))

    def _is_done(self, run: Run, future: Future[Outcome]) -> bool:
        """Note what became of a run, or give it to another worker."""
        from .one_run import Outcome

        del self._futures[run.number]
        try:
            outcome = future.result()
        except SharedOAError:
            raise  # a worker cannot find the model: no other one will
        except Exception as error:
            self._lost[run.number] += 1
            if self._lost[run.number] < _ATTEMPTS and not isinstance(error, BrokenExecutor):
                self._submit(run)
                return False
            times = self._lost[run.number]
            text = f"{type(error).__name__}: {error} ({times} time{'s' * (times > 1)})"
            outcome = Outcome({}, 0.0, text)
        self._note(run, outcome)
        return True

    def _note(self, run: Run, outcome: Outcome) -> None:
        from .table import Row

        row = Row(run.seed, run.parameters, *outcome)
        if self._journal is None:
            self._rows[run.seed] = row
        else:
            self._journal.add(row)

    def _show(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done, self._total)
