"""A process a case: starting, limits, and what became of it.

Processes are forked from one that has loaded numpy and llvmlite, but nothing of ours: that spares
half of what a start takes. ``fresh`` starts an interpreter for each instead; ``warm`` spares the
imports of ours, too, for those who run a few cases often.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .catalogue import Job, function_of, module_of
from .verdicts import BACKEND, DEBUG, judge, write_outcome

ROOT = Path(__file__).parents[2]
#: What takes long to import and does not know that it is ours.
THIRD_PARTY = ("numpy", "cffi", "llvmlite.ir", "llvmlite.binding", "sortedcontainers")
_OUTCOME = "outcome.json"
_OUTPUT = "output.txt"
_OUTPUT_KEPT = 4000
_PAUSE = 0.01


@dataclass
class Result:
    """What became of a job; ``output`` is the end of what it printed."""

    name: str
    debug: bool
    outcome: str
    detail: str
    seconds: float
    output: str


@dataclass
class _Running:
    job: Job
    folder: Path
    pid: int
    began: float


@dataclass(frozen=True)
class Settings:
    """How the cases of one call run. ``folder`` has a folder for each and the code cache."""

    folder: Path
    backend: str
    processes: int
    fresh: bool = False
    subjects: tuple[str, ...] = ()

    @property
    def cache(self) -> Path:
        return self.folder / "code"


def in_child(work: Callable[[], object]) -> object:
    """What ``work`` gives, found in a process of its own: what it imports stays there."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as file:
                json.dump(work(), file)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    _, status = os.waitpid(pid, 0)
    if status:
        raise SystemExit("the catalogue cannot be read")
    found: object = json.loads(text)
    return found


class Runner:
    """Runs jobs side by side. In a process that is to run a case ``run`` returns that job."""

    def __init__(self, settings: Settings, tell: Callable[[Result], None]) -> None:
        self._settings = settings
        self._tell = tell
        self._running: list[_Running] = []
        self._number = 0
        #: What has ended.
        self.results: list[Result] = []

    def run(self, jobs: list[Job]) -> Job | None:
        waiting = list(reversed(jobs))
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._settings.processes:
                    job = waiting.pop()
                    if self._start(job):
                        self._running.clear()  # they are the parent's
                        return job
                ended = self._ended()
                for each in ended:
                    self.results.append(each)
                    self._tell(each)
                if not ended:
                    time.sleep(_PAUSE)
        finally:
            for one in self._running:
                _kill(one.pid)
        return None

    def _start(self, job: Job) -> bool:
        """Start a process for ``job``; whether this is it."""
        self._number += 1
        folder = self._settings.folder / f"case{self._number}"
        folder.mkdir()
        sys.stdout.flush()
        sys.stderr.flush()
        began = time.monotonic()
        if self._settings.fresh:
            self._running.append(_Running(job, folder, self._start_fresh(job, folder), began))
            return False
        # What Python does around a fork would drop an interrupt.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            pid = os.fork()
            if pid == 0:
                _settle(folder, self._environment(job))
                return True
            self._running.append(_Running(job, folder, pid, began))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return False

    def _start_fresh(self, job: Job, folder: Path) -> int:
        command = [sys.executable, "-m", __package__ or "", "--case", job.case.name]
        for subject in self._settings.subjects:
            command += ["--subject", subject]
        with open(folder / _OUTPUT, "wb") as output:
            started = subprocess.Popen(
                command, cwd=folder, env=self._environment(job), stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        started.returncode = 0  # it is waited for by number
        return started.pid

    def _environment(self, job: Job) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if not n.startswith("SHAREDOA_")}
        return {
            **kept,
            BACKEND: self._settings.backend,
            DEBUG: str(int(job.debug)),
            "SHAREDOA_CACHE_DIR": str(self._settings.cache),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])]),
            "COLUMNS": "200",
        }

    def _ended(self) -> list[Result]:
        found = []
        for one in list(self._running):
            seconds = time.monotonic() - one.began
            pid, status = os.waitpid(one.pid, os.WNOHANG)
            is_late = pid == 0 and seconds > one.job.case.limit
            if is_late:
                _kill(one.pid)
                os.waitpid(one.pid, 0)
            if pid == 0 and not is_late:
                continue
            self._running.remove(one)
            _kill(one.pid)  # what it may have started
            found.append(_result(one, None if is_late else status, seconds))
            shutil.rmtree(one.folder, ignore_errors=True)
        return found


def run_here(job_name: str, subjects: tuple[str, ...]) -> None:
    """Run a case in this process and leave its outcome in the current folder."""
    file = Path.cwd() / _OUTCOME
    subject = job_name.partition(".")[0]
    module = next((s for s in subjects if s.endswith(f".{subject}")), module_of(subject))
    outcome, detail = judge(lambda: function_of(job_name, module)())
    write_outcome(file, outcome, detail)


def _settle(folder: Path, environment: dict[str, str]) -> None:
    """Make this forked process look like one of its own."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path.insert(0, str(ROOT))
    # Sizes of faults are limits of their own; a core file would only take time.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(_OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)


def _result(one: _Running, status: int | None, seconds: float) -> Result:
    job, folder = one.job, one.folder
    output = (folder / _OUTPUT).read_bytes().decode(errors="replace")
    outcome, detail = _outcome(folder / _OUTCOME, status, output)
    return Result(
        job.case.name, job.debug, outcome, detail, round(seconds, 3), output[-_OUTPUT_KEPT:]
    )


def _outcome(file: Path, status: int | None, output: str) -> tuple[str, str]:
    if status is None:
        return "hang", "it did not end"
    if os.WIFSIGNALED(status):
        return "crash", f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    if not file.exists():
        return "unclear", f"it ended with status {os.WEXITSTATUS(status)} in the middle"
    found = json.loads(file.read_text(encoding="utf-8"))
    outcome, detail = found["outcome"], found["detail"]
    if outcome in ("fine", "clear"):
        if status:
            return "unclear", f"it ended with status {os.WEXITSTATUS(status)}"
        for words in ("Traceback (most recent call last)", "Exception ignored in"):
            if words in output:
                return "unclear", f"it printed: {words}"
    return outcome, detail


def _kill(pid: int) -> None:
    """End the process and all that it has started: they are a session of their own."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
