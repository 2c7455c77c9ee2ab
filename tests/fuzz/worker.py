"""A process that gives damaged files to one reader, with little memory and little time for each.

``python -m tests.fuzz.worker READER SEED CASES FOLDER`` prints a line for every case in which
something else happened than a result or a refusal; the files of such cases stay in FOLDER.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import time
import warnings
from pathlib import Path
from types import FrameType

from .mutation import mutated
from .readers import READERS

#: What a case may take beside what the process has when it begins, and how long.
MEMORY, SECONDS = 1 << 30, 20


class TooLong(BaseException):
    """The reader has not come to an end."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLong


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(name: str, seed: int, cases: int, folder: Path) -> None:
    reader = READERS[name]
    for files in reader.files:  # what a good file loads is loaded, and good files are read
        _read(name, files, folder)
    warnings.simplefilter("error")
    _limit_memory()
    signal.signal(signal.SIGALRM, _stop)
    for case in range(cases):
        generator = random.Random(f"{name} {seed} {case}")
        files = dict(generator.choice(reader.files))
        changed = generator.choice(list(files))
        files[changed] = mutated(files[changed], generator)
        kept = folder / f"{name.replace(' ', '-')}-{seed}-{case}"
        kept.mkdir()
        # Before the reader is called: it may not come back.
        print(f"case {case}", file=sys.stderr, flush=True)
        begun = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            _read(name, files, kept)
        except reader.refusals as error:
            if len(str(error)) > 2000:
                print(f"case {case}: a message of {len(str(error))} characters", flush=True)
        except BaseException as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            took = time.perf_counter() - begun
            told = f"{type(error).__name__}: {str(error)[:200]!r} after {took:.1f} s"
            print(f"case {case}: {told}, {kept}", flush=True)
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for file in kept.iterdir():
            file.unlink()
        kept.rmdir()


def _read(name: str, files: dict[str, bytes], folder: Path) -> None:
    for file, content in files.items():
        (folder / file).write_bytes(content)
    READERS[name].read(folder / next(iter(files)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
