"""What the benchmarks share: options, the record of machine and versions, samples, JSON files."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import binding as llvm

import sharedoa
from dispatch.mode import MODES, ModeError, parse_mode
from ptxpass.output_file import try_to_write, write_whole
from sharedoa.backends import available
from sharedoa.errors import ConfigurationError, SharedOAError
from sharedoa.runtime import knobs
from sharedoa.runtime.explanation import table

BACKENDS = ("auto", "cuda", "cpu")
RESULTS = Path(__file__).parent / "results"
#: Samples of every timed launch; the least that quartiles mean something for.
REPEAT = 20
MICROSECONDS, MILLISECONDS = 1e6, 1e3
#: So many parts of a benchmark are named in the name of its record.
_PARTS_NAMED = 5
_PACKAGES = ("sharedoa", "llvmlite", "numpy", "cffi", "cuda-bindings", "cuda-python")


@dataclass(frozen=True)
class Options:
    """How benchmarks run: ``full`` takes the sizes that are recorded, else small ones."""

    backend: str = "auto"
    full: bool = False
    out: Path = RESULTS
    repeat: int = REPEAT
    modes: tuple[str, ...] = MODES


@dataclass
class Result:
    """What one benchmark measured. Each row is a dictionary; ``samples`` in it are seconds.

    ``failures`` say what was computed wrongly or could not run: they are recorded beside the rest,
    and the command fails in the end.
    """

    name: str
    backend: str
    settings: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Note an error of the code inside as a failure of ``what``, and go on."""
        try:
            yield
        except (AssertionError, SharedOAError) as error:
            self.failures.append(f"{what}: {error}")
            print(f"failed: {self.failures[-1]}", file=sys.stderr)


def summary(samples: Sequence[float]) -> dict[str, Any]:
    """Raw samples in seconds with their median, quartiles and extremes."""
    low, middle, high = np.quantile(samples, [0.25, 0.5, 0.75]).tolist()
    return {
        "samples": [round(float(sample), 9) for sample in samples],
        "median": middle,
        "lower_quartile": low,
        "upper_quartile": high,
        "min": float(min(samples)),
        "max": float(max(samples)),
    }


def backend_name(options: Options) -> str:
    """The backend that ``options`` mean, which is opened."""
    with sharedoa.Heap(backend=options.backend) as heap:
        name: str = heap.backend.name
    return name


def machine(backend: str) -> dict[str, Any]:
    """The device that ``backend`` runs on, and the machine around it."""
    return {
        "backend": backend,
        "device": device_name(backend),
        "description": next(found.reason for found in available() if found.name == backend),
        "processor": llvm.get_host_cpu_name(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
    }


def device_name(backend: str) -> str:
    """The GPU's name, or the processor's as LLVM knows it."""
    if backend != "cuda":
        return f"cpu {llvm.get_host_cpu_name()}"
    from sharedoa.backends.cuda_device import cuda_devices

    return cuda_devices()[0].name


def versions() -> dict[str, str]:
    """Versions of everything between a kernel's source and its machine code, and of CuPy where a
    benchmark is compared with it."""
    found = {"llvm": ".".join(map(str, llvm.llvm_version_info))}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            if package == "sharedoa":  # run from a checkout
                found[package] = sharedoa.__version__
    if "cupy" in sys.modules:  # whose package is named after CUDA's version
        found["cupy"] = sys.modules["cupy"].__version__
    return found


def environment() -> dict[str, Any]:
    """Settings of heaps that the environment gives, by variable; folders say nothing of speed."""
    chosen = (
        knobs.layout,
        knobs.references,
        knobs.initial_region,
        knobs.capacity,
        knobs.debug,
        knobs.fastmath,
    )
    return {knob.variable: knob.value() for knob in chosen if knob.source == "environment"}


def named_parts(name: str, parts: Sequence[str]) -> str:
    """The name of the record of some ``parts`` of a benchmark: says which, or the first of many."""
    if len(parts) > _PARTS_NAMED:
        parts = [parts[0], f"and-{len(parts) - 1}-more"]
    return "-".join([name, *parts]).replace("_", "-")


def file_of(name: str, backend: str, folder: Path) -> Path:
    """The file of a record that is written today: ``folder/<name>-<device>-<date>.json``."""
    device = re.sub(r"[^a-z0-9]+", "-", device_name(backend).lower()).strip("-")
    return folder / f"{name}-{device}-{datetime.datetime.now(datetime.UTC):%Y-%m-%d}.json"


def write(result: Result, folder: Path) -> Path:
    """Record ``result`` in the file that ``file_of`` names; the path."""
    head = {
        "benchmark": result.name,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(result.backend),
        "versions": versions(),
        "settings": result.settings,
        "environment": environment(),
        "failures": result.failures,
    }
    file = file_of(result.name, result.backend, folder)
    write_record(head, result.rows, file)
    return file


def write_record(head: dict[str, Any], rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Write a record. A program that is ended meanwhile leaves the file as it was.

    Raises ConfigurationError for a file that cannot be written.
    """
    # One row a line: a file of raw samples that can still be read, and compared by line.
    lines = ",\n".join(f"  {json.dumps(row, default=_plain)}" for row in rows)
    text = f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n{lines}\n ]\n}}\n'
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text)
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be written: {error.strerror}", "name a file that you may write"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} has no JSON form")


def show(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; a float is rounded to what can be read, None is left empty."""
    cells = [[_cell(value) for value in row] for row in rows]
    print(f"\n{title}", *table([headings, *cells]), sep="\n", flush=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def argument_parser(description: str | None, add_help: bool = True) -> argparse.ArgumentParser:
    """The options that every benchmark has; without help it can be a parent of other parsers."""
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        description=description, formatter_class=style, add_help=add_help
    )
    parser.add_argument("--backend", default="auto", choices=BACKENDS)
    parser.add_argument("--full", action="store_true", help="the sizes that are recorded")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON files")
    parser.add_argument(
        "--repeat", type=parse_positive, default=REPEAT, help="samples of each launch"
    )
    parser.add_argument(
        "--modes", type=parse_modes, default=MODES, help="names with commas between; all"
    )
    return parser


def parse_modes(text: str) -> tuple[str, ...]:
    """Names of modes with commas between."""
    try:
        return tuple(parse_mode(name).name for name in text.split(","))
    except ModeError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def parse_positive(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def parse_label(text: str) -> str:
    """The end of a record's name, which becomes a part of a file's name."""
    if not re.fullmatch(r"[A-Za-z0-9._-]*", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} has other characters than letters, digits, '.', '_' and '-'"
        )
    return text


def parse_some(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """A parser of names with commas between, in any case."""
    named = {name.lower(): name for name in known}

    def parse(text: str) -> tuple[str, ...]:
        given = [part.strip().lower() for part in text.split(",")]
        unknown = sorted(set(given) - set(named))
        if unknown:
            raise argparse.ArgumentTypeError(
                f"unknown {', '.join(unknown)}; there are {', '.join(named.values())}"
            )
        return tuple(named[name] for name in given)

    return parse


def require_folder(folder: Path) -> None:
    """Make ``folder``; raises ConfigurationError unless files can be written into it now, so that
    nothing is measured in vain."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try_to_write(folder / "record.json")
    except OSError as error:
        raise ConfigurationError(
            f"--out: {folder} is no folder that can be written to: {error.strerror}",
            "name one that can be made, and that you may write to",
        ) from error


@contextmanager
def errors_in_words(*others: type[Exception]) -> Iterator[None]:
    """Where a user's mistake, or one of the ``others``, ends the program: told without a traceback,
    with exit status 1. Decorates functions that are command lines."""
    try:
        yield
    except (SharedOAError, *others) as error:
        sys.exit(f"error: {error}")


def options_from(given: argparse.Namespace) -> Options:
    """Options as a command line gives them. Raises ConfigurationError for a folder that cannot be
    written to."""
    require_folder(given.out)
    return Options(given.backend, given.full, given.out, given.repeat, given.modes)


def record(result: Result, options: Options) -> None:
    """Write the file of ``result`` and say where it is; of nothing measured there is none."""
    if not result.rows and not result.failures:
        print(f"{result.name}: nothing to record", flush=True)
        return
    print(f"recorded in {write(result, options.out)}", flush=True)


@errors_in_words()
def main(run: Callable[[Options], Result], description: str | None) -> None:
    """The command line of one benchmark: run it, record what it gives."""
    options = options_from(argument_parser(description).parse_args())
    result = run(options)
    record(result, options)
    if result.failures:
        sys.exit(f"{len(result.failures)} failures")
