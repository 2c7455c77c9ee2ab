"""One run on a worker: what the model gave, or what went wrong."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..heap.heap import Heap
from ..tracebacks import trimmed
from .main_script import Model
from .runs import OWN_COLUMNS, plain


class Outcome(NamedTuple):
    """Numbers by name, seconds on the worker, and None or what went wrong."""

    results: dict[str, Any]
    seconds: float
    error: str | None


def run_once(model: Model, parameters: dict[str, Any], seed: int | None) -> Outcome:
    """Call the model in a heap of its own, so that it meets nobody's objects but its own."""
    began = time.perf_counter()
    arguments = parameters if seed is None else {**parameters, "seed": seed}
    results: dict[str, Any] = {}
    error = None
    try:
        with Heap() as heap:
            given = model.function(**arguments)
            heap.synchronize()
        results = _results(given, parameters)
    except (Exception, SystemExit) as problem:
        error = _told(problem)
    return Outcome(results, time.perf_counter() - began, error)


def _results(given: object, parameters: Mapping[str, Any]) -> dict[str, Any]:
    if given is None:
        raise TypeError("the model returned None; let it return a dict of numbers")
    if not isinstance(given, Mapping):
        given = {"result": given}
    results = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a result is text, not {name!r}")
        if name in parameters or name in OWN_COLUMNS:
            raise TypeError(f"the table has a column {name!r} already; name the result otherwise")
        try:
            results[name] = plain(value)
        except TypeError as error:
            raise TypeError(f"the result {name!r} is not for a table: {error}") from None
    return results


def _told(error: BaseException) -> str:
    """Kind, text, and the last line that is the user's."""
    text = f"{type(error).__name__}: {error}"
    trace = error.__traceback__
    trace = trimmed(trace and trace.tb_next)
    if trace is None:
        return text
    last = traceback.extract_tb(trace)[-1]
    return f"{text} ({os.path.basename(last.filename)}:{last.lineno} in {last.name})"
