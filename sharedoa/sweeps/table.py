"""The rows of a sweep as a pandas table, and as the file that keeps them: Parquet or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ptxpass.output_file import whole_file

from ..errors import ConfigurationError

#: Where a Parquet file says which sweep it is of.
_LABEL = b"sharedoa.sweep"


class Row(NamedTuple):
    """One finished run."""

    seed: int
    parameters: dict[str, Any]
    results: dict[str, Any]
    seconds: float
    error: str | None


def needed(module: str) -> Any:
    """A module of the extra ``sweep``; ConfigurationError without."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ConfigurationError(
            f"a sweep needs {package}, which cannot be imported: {error}",
            "install it: pip install 'sharedoa[sweep]'",
        ) from error


def columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """Parameters, run, seed, results, seconds and error, by name. What a run did not give is None;
    a column of results of different kinds is text."""
    rows = list(rows)
    parameters = dict.fromkeys(name for row in rows for name in row.parameters)
    results = dict.fromkeys(name for row in rows for name in row.results)
    found: dict[str, list[Any]] = {
        **{name: _alike([row.parameters.get(name) for row in rows]) for name in parameters},
        "run": list(range(len(rows))),
        "seed": [row.seed for row in rows],
        **{name: _alike([row.results.get(name) for row in rows]) for name in results},
        "seconds": [row.seconds for row in rows],
        "error": [row.error for row in rows],
    }
    return found


def _alike(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and not all(-(2**63) <= each < 2**64 for each in values if each is not None):
        kinds = {int, str}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(kinds) > 1:
        return [None if value is None else str(value) for value in values]
    return values


def data_frame(rows: Iterable[Row]) -> Any:
    """What ``oa.sweep`` gives."""
    return needed("pandas").DataFrame(columns(rows))


def write_table(file: Path, rows: list[Row], label: Mapping[str, Any]) -> None:
    """Put the table in place of what ``file`` held, all at once."""
    with whole_file(file, durable=True) as opened:
        (_write_parquet if file.suffix == ".parquet" else _write_csv)(opened, rows, label)


def read_table(file: Path) -> tuple[dict[str, Any] | None, list[Row]]:
    """What the file says of its sweep (CSV: nothing), and its rows. ValueError or OSError for what
    is no such file."""
    if file.suffix == ".parquet":
        parquet = needed("pyarrow.parquet")
        arrow = needed("pyarrow")
        try:
            table = parquet.read_table(file)
        except arrow.ArrowException as error:
            raise ValueError(str(error)) from error
        label = json.loads((table.schema.metadata or {}).get(_LABEL, b"null"))
        return label, [_row(each, label) for each in table.to_pylist()] if label else []
    return None, _read_csv(file)


def _row(values: dict[str, Any], label: Mapping[str, Any]) -> Row:
    named = {name: values.pop(name) for name in label["parameters"]}
    seed, seconds, error = (values.pop(name) for name in ("seed", "seconds", "error"))
    values.pop("run")
    results = {name: value for name, value in values.items() if value is not None}
    return Row(seed, named, results, seconds, error)


def _write_parquet(opened: BinaryIO, rows: list[Row], label: Mapping[str, Any]) -> None:
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    found = columns(rows)
    fields = {"error": arrow.string()}
    arrays = {name: arrow.array(each, fields.get(name)) for name, each in found.items()}
    table = arrow.table(arrays)
    parquet.write_table(table.replace_schema_metadata({_LABEL: json.dumps(label)}), opened)


def _write_csv(opened: BinaryIO, rows: list[Row], label: Mapping[str, Any]) -> None:
    found = columns(rows)
    text = io.TextIOWrapper(opened, "utf-8", newline="")
    # Text in quotes and numbers without, so that reading tells "7" from 7.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(found)
    for values in zip(*found.values(), strict=True):
        writer.writerow([str(each) if isinstance(each, bool) else each for each in values])
    text.flush()
    text.detach()


def _read_csv(file: Path) -> list[Row]:
    """Empty text is no result: CSV has no other way to say so."""
    with file.open(newline="", encoding="utf-8") as opened:
        content = opened.read()
    typed = csv.reader(io.StringIO(content), quoting=csv.QUOTE_NONNUMERIC)
    names = [str(each) for each in next(typed, [])]
    if not {"run", "seed", "seconds", "error"} <= set(names):
        raise ValueError("it has no columns run, seed, seconds and error")
    written = csv.reader(io.StringIO(content))
    next(written)
    label = {"parameters": names[: names.index("run")]}
    return [
        _row(dict(zip(names, map(_cell, kinds, texts), strict=True)), label)
        for kinds, texts in zip(typed, written, strict=True)
    ]


def _cell(typed: object, text: str) -> Any:
    if isinstance(typed, str):
        return {"": None, "True": True, "False": False}.get(typed, typed)
    try:
        return int(text)
    except ValueError:
        return float(text)
