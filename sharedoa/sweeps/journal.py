"""What keeps finished runs: the table's file, and beside it a journal of what it does not have yet.

Each run is a line of the journal as soon as it is done. A line has a checksum, so one that was cut
off by a kill is no run. The file is replaced at once by one with the journal's runs when the sweep
ends, and only then does the journal go.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import dedent
from typing import Any, BinaryIO

from ptxpass.output_file import try_to_write

from ..errors import ArgumentError
from .runs import name_of
from .table import Row, needed, read_table, write_table

_SUFFIXES = (".parquet", ".csv")
_SYNC_SECONDS = 1.0


class Journal:
    """The finished runs of one file, by their seeds."""

    def __init__(self, to: str | os.PathLike[str], model: Callable[..., Any], names: list[str]):
        """Read what is there.

        Raises ArgumentError for a file that is of another model or other parameters, that another
        sweep writes to, or that cannot be read or written.
        """
        self.file = Path(to)
        if self.file.suffix not in _SUFFIXES:
            raise ArgumentError(
                f"a sweep is kept in a file .parquet or .csv, not in {self.file}",
                f"write to={str(self.file.with_suffix('.parquet'))!r}",
            )
        if self.file.suffix == ".parquet":
            needed("pyarrow.parquet")
        self._path = self.file.with_name(f"{self.file.name}.journal")
        self._label = {"model": name_of(model), "text": _text(model), "parameters": sorted(names)}
        self.rows: dict[int, Row] = {}
        self._synced = time.monotonic()
        try:
            try_to_write(self.file)
            self._opened: BinaryIO = self._path.open("a+b")
            try:
                self._lock()
                self._read()
            except BaseException:
                self._leave()
                raise
        except OSError as error:
            raise ArgumentError(
                f"{error.filename or self.file} cannot be used: {error.strerror or error}",
                "give `to` a file in a folder that you may write to",
            ) from error

    def add(self, row: Row) -> None:
        self.rows[row.seed] = row
        self._append(list(row))
        if time.monotonic() > self._synced + _SYNC_SECONDS:
            os.fsync(self._opened.fileno())
            self._synced = time.monotonic()

    def finish(self, order: Iterable[int]) -> None:
        """Write the file: runs of the seeds in ``order``, then what else there is."""
        first = [seed for seed in order if seed in self.rows]
        others = set(first)
        seeds = [*first, *(seed for seed in self.rows if seed not in others)]
        if seeds:
            write_table(self.file, [self.rows[seed] for seed in seeds], self._label)
        if self.file.suffix == ".parquet" or not seeds:
            self._path.unlink()
        else:  # which model a CSV is of stands nowhere else
            self._opened.truncate(0)
            self._append(self._label)
        self._opened.close()

    def close(self) -> None:
        self._opened.close()

    def _leave(self) -> None:
        """No journal stays that was made only to look."""
        if os.fstat(self._opened.fileno()).st_size == 0:
            self._path.unlink(missing_ok=True)
        self._opened.close()

    def _append(self, what: object) -> None:
        text = json.dumps(what).encode()
        self._opened.write(b"%08x %s\n" % (zlib.crc32(text), text))
        self._opened.flush()

    def _read(self) -> None:
        self._opened.seek(0)
        content = self._opened.read()
        found = [value for line in content.splitlines() if (value := _whole(line)) is not None]
        label = next((each for each in found if isinstance(each, dict)), None)
        if self.file.exists() and self.file.stat().st_size:
            told, rows = self._read_file()
            self._compare(told or label)
            self.rows = {row.seed: row for row in rows}
        if label is not None:
            self._compare(label)
        for each in found:
            if isinstance(each, list):
                row = Row(*each)
                self.rows[row.seed] = row
        if content and not content.endswith(b"\n"):
            self._opened.write(b"\n")
        if label is None:
            self._append(self._label)

    def _read_file(self) -> tuple[dict[str, Any] | None, list[Row]]:
        try:
            return read_table(self.file)
        except (ValueError, KeyError) as error:
            raise ArgumentError(
                f"{self.file} is no file of a sweep: {error}", "give `to` another name"
            ) from error

    def _compare(self, label: dict[str, Any] | None) -> None:
        what = None
        if label is None:
            what = "of a model that nobody knows: it does not say so itself"
            if self.file.suffix == ".csv":
                what = f"of a model that nobody knows, as {self._path.name} is not beside it"
        elif label["model"] != self._label["model"]:
            what = f"of the model {label['model']}"
        elif label["parameters"] != self._label["parameters"]:
            what = f"of the parameters {', '.join(label['parameters'])}"
        elif label["text"] != self._label["text"]:
            what = "of another text of the model"
        if what is not None:
            raise ArgumentError(
                f"{self.file} has runs {what}, which are not to be mixed with others",
                f"give `to` another name, or delete {self.file} and {self._path.name}",
            )

    def _lock(self) -> None:
        if sys.platform == "win32":
            return  # an open file cannot be replaced there: of two sweeps the second one fails
        import fcntl

        try:
            fcntl.flock(self._opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArgumentError(
                f"another sweep is writing {self.file}", "wait for it, or give `to` another name"
            ) from None


def _whole(line: bytes) -> Any:
    """What a line says, None if it is not whole."""
    checksum, _, text = line.partition(b" ")
    try:
        return json.loads(text) if int(checksum, 16) == zlib.crc32(text) else None
    except ValueError:
        return None


def _text(model: Callable[..., Any]) -> str:
    """A digest of what the model says, without comments and the way it is laid out. What it calls
    is not in it."""
    try:
        source = ast.unparse(ast.parse(dedent(inspect.getsource(model))))
    except (OSError, TypeError, SyntaxError):
        return ""
    return hashlib.sha256(source.encode()).hexdigest()
