"""The runs of a sweep: every combination of parameters, repeated, each with a seed of its own."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dispatch.dataclass import dataclass

from ..errors import ArgumentError
from ..model import lazy_annotations

#: What a table has beside parameters and results.
OWN_COLUMNS = ("run", "seed", "seconds", "error")
_PLAIN = (bool, int, float, str)


@dataclass(frozen=True)
class Run:
    """One call of the model. ``seed`` also tells it from all others."""

    number: int
    parameters: dict[str, Any]
    seed: int


def plain(value: object) -> Any:
    """A number, truth value or text as Python's own; TypeError for what is none."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, _PLAIN):
        return value
    raise TypeError(f"{type(value).__name__} is neither a number nor text")


def runs_of(parameters: Mapping[str, Iterable[Any]], repeats: int, seed: int) -> list[Run]:
    """All runs in order: combinations as ``itertools.product`` gives them, each ``repeats`` times.

    Raises ArgumentError for parameters that are none.
    """
    for name, number, least in (("repeats", repeats, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise ArgumentError(
                f"{name} is a whole number from {least}, not {number!r}", f"write {name}={least}"
            )
    if not isinstance(parameters, Mapping):
        raise ArgumentError(
            f"a sweep takes the values of parameters by name, not {parameters!r}",
            'write {"size": [100, 200]}',
        )
    values = {name: _values(name, given) for name, given in parameters.items()}
    combinations = itertools.product(*values.values())
    chosen = [dict(zip(values, each, strict=True)) for each in combinations]
    given = [(each, repeat) for each in chosen for repeat in range(repeats)]
    return [
        Run(number, each, _seed(int(seed), each, repeat))
        for number, (each, repeat) in enumerate(given)
    ]


def _values(name: str, given: Iterable[Any]) -> list[Any]:
    if name in OWN_COLUMNS or not isinstance(name, str):
        raise ArgumentError(
            f"{name!r} cannot be a parameter: the table has a column of that name",
            "give it another name; a sweep gives each run its seed, and repeats says how many",
        )
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ArgumentError(
            f"the parameter {name!r} is {given!r}, and a sweep takes a list of values",
            f"write {{{name!r}: [{given!r}]}}",
        )
    try:
        values = [plain(each) for each in given]
    except TypeError as error:
        raise ArgumentError(
            f"a value of the parameter {name!r} cannot stand in a table: {error}",
            "give numbers or texts, and let the model make of them what it needs",
        ) from error
    if not values:
        raise ArgumentError(f"the parameter {name!r} has no value", "give at least one")
    ((written, times),) = Counter(map(_canonical, values)).most_common(1)
    if times > 1:
        raise ArgumentError(
            f"the parameter {name!r} has the value {written} {times} times",
            "give it once; repeats=2 runs every combination twice",
        )
    return values


def _seed(seed: int, parameters: Mapping[str, Any], repeat: int) -> int:
    """Of a run, from 0 to 2^63: it depends on the sweep's seed, on these parameters and on which
    repetition it is, and on nothing else, so a sweep with more values or repeats has the same
    runs, and others."""
    named = {name: _canonical(value) for name, value in parameters.items()}
    text = json.dumps(named, sort_keys=True)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), "<u4")
    sequence = np.random.SeedSequence([seed, *map(int, words)], spawn_key=(repeat,))
    return int(sequence.generate_state(1, np.uint64)[0]) >> 1


def _canonical(value: Any) -> str:
    """100 and 100.0 are one value, as they are one key of a dictionary; 1 and True are two."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return repr(value)


def takes_seed(model: Callable[..., Any], runs: list[Run], repeats: int) -> bool:
    """Whether ``model`` is to be given ``seed``. Raises ArgumentError if it does not take the
    parameters, or is to be repeated without a seed."""
    if not callable(model):
        raise ArgumentError(
            f"a sweep runs a function, not {model!r}",
            "write oa.sweep(model, ...), where model is a function of the parameters and seed",
        )
    try:
        signature = lazy_annotations.signature(model)
    except (TypeError, ValueError):  # one that is written in C
        return True
    every = inspect.Parameter.VAR_KEYWORD
    given = signature.parameters
    takes = "seed" in given or any(each.kind is every for each in given.values())
    if not takes and repeats > 1:
        raise ArgumentError(
            f"{name_of(model)} takes no seed, so all {repeats} repeats would be one run",
            "add a parameter `seed` to the model, or leave out repeats",
        )
    try:
        signature.bind(**runs[0].parameters, **({"seed": 0} if takes else {}))
    except TypeError as error:
        raise ArgumentError(
            f"{name_of(model)}{signature} does not take these parameters: {error}",
            "name the model's parameters in `parameters`; `seed` is given by the sweep",
        ) from error
    return takes


def name_of(model: Callable[..., Any]) -> str:
    return getattr(model, "__qualname__", None) or type(model).__qualname__
