"""Processes that a case starts: programs of a user, and the commands."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from .runner import ROOT
from .verdicts import Crash, Hang, Silent, Unclear, refused, require_words

SECONDS = 30.0


@dataclass
class Ended:
    """How a process ended, and what it printed."""

    status: int
    out: str
    err: str

    def well(self, *words: str) -> Ended:
        """Raise unless it ended with status 0, and printed these words."""
        self._not_by_signal()
        if "AssertionError" in self.err:  # of the program, which knows what is right
            raise Silent(self.err[-1000:])
        if self.status:
            raise Unclear(f"status {self.status}: {(self.out + self.err)[-1000:]}")
        self._no_traceback()
        missing = [word for word in words if word not in self.out]
        if missing:
            raise Silent(f"{missing[0]!r} is not in what was printed: {self.out[-500:]}")
        return self

    def refused(self, *words: str, status: int | None = None, traceback: bool = False) -> Ended:
        """Raise unless it ended with an error status, and said why; by a traceback only if that is
        allowed, as it is where a program of the user does not catch our exceptions."""
        self._not_by_signal()
        if not self.status:
            raise Silent(f"status 0; printed: {(self.out + self.err)[-500:]}")
        if not traceback:
            self._no_traceback()
        if status is not None and self.status != status:
            raise Unclear(f"status {self.status}, not {status}: {self.err[-1000:]}")
        # The words of a help may be broken into lines.
        require_words(" ".join(f"{self.err} {self.out}".split()), words)
        refused(self.err.strip()[-500:])
        return self

    def by_signal(self, number: int) -> Ended:
        """Raise unless this signal ended it."""
        if self.status != -number:
            raise Silent(f"status {self.status}, not {-number}: {self.err[-500:]}")
        return self

    def _not_by_signal(self) -> None:
        if self.status < 0:
            name = signal.Signals(-self.status).name
            raise Crash(f"a process was ended by {name}: {self.err[-500:]}")

    def _no_traceback(self) -> None:
        if "Traceback (most recent call last)" in self.err or "Exception ignored" in self.err:
            raise Unclear(f"a traceback: {self.err[-1000:]}")


def command(
    *arguments: object,
    seconds: float = SECONDS,
    prepare: Callable[[], None] | None = None,
    stdout: int | None = None,
    **environment: str,
) -> Ended:
    """``python ARGUMENTS`` in the folder of the case. ``prepare`` is run in the process before."""
    started = start(*arguments, prepare=prepare, stdout=stdout, **environment)
    return finish(started, seconds)


def start(
    *arguments: object,
    prepare: Callable[[], None] | None = None,
    stdout: int | None = None,
    **environment: str,
) -> subprocess.Popen[str]:
    """The same, left running."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=prepare,
    )


def finish(started: subprocess.Popen[str], seconds: float = SECONDS) -> Ended:
    """Wait for a process. Raises Hang."""
    try:
        out, err = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        started.kill()
        _, err = started.communicate()
        raise Hang(f"a process did not end in {seconds:.0f} s: {err[-500:]}") from None
    return Ended(started.returncode, out or "", err)


def written(text: str, name: str = "program.py") -> Path:
    """A program of a user in the folder of the case."""
    file = Path(name).absolute()
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return file


def module(text: str, name: str = "mine") -> ModuleType:
    """A module of a user in the folder of the case, imported; kernels need a file."""
    spec = importlib.util.spec_from_file_location(name, written(text, f"{name}.py"))
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def program(text: str, *arguments: object, seconds: float = SECONDS, **environment: str) -> Ended:
    """Write a program and run it."""
    return command(written(text), *arguments, seconds=seconds, **environment)


def sharedoa(*arguments: object, seconds: float = SECONDS, **environment: str) -> Ended:
    """``sharedoa ARGUMENTS``."""
    return command("-m", "sharedoa", *arguments, seconds=seconds, **environment)


def ptxpass(*arguments: object, seconds: float = SECONDS, **environment: str) -> Ended:
    """``ptxpass ARGUMENTS``."""
    return command("-m", "ptxpass", *arguments, seconds=seconds, **environment)


def interrupted(
    started: subprocess.Popen[str],
    until: str,
    signals: Sequence[int] = (signal.SIGINT,),
    pause: float = 0.3,
    seconds: float = SECONDS,
) -> Ended:
    """Send signals to a process once it has printed the line ``until``, and wait for its end."""
    assert started.stdout is not None
    for line in started.stdout:
        if line.strip() == until:
            break
    for number in signals:
        time.sleep(pause)
        if started.poll() is None:
            started.send_signal(number)
    return finish(started, seconds)


def repository_file(*parts: str) -> Path:
    return ROOT.joinpath(*parts)
