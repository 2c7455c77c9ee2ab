"""What is computed of all elements of a program's results between its launches: by sharedoa where
they are, and by loops over NumPy scalars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from random import Random
from typing import Any

import numpy as np

import sharedoa as oa

from .signatures import DTYPES, FLOATS

#: Number of a result, and what is computed of it.
Choice = tuple[int, str]
_NAMES = (
    "sum", "min", "max", "argmin", "argmax", "any", "all", "count", "cumsum", "where", "argsort",
    "sort",
)  # fmt: skip
#: Of floats their order is sharedoa's own.
_SUMS = ("sum", "cumsum")
#: So many programs launch what sorts, as interpreters take long.
_SORTING = 0.2


def chosen(text: str, results: Sequence[str]) -> list[Choice]:
    """Some for a program of that text."""
    random, found = Random(text), list[Choice]()
    sorts = random.random() < _SORTING
    for number, type in enumerate(results):
        names = [
            name
            for name in _NAMES
            if not (name in _SUMS and type in FLOATS) and (sorts or "sort" not in name)
        ]
        if type in DTYPES:
            found += [(number, name) for name in random.sample(names, 2)]
    return found


def by_sharedoa(out: Any, name: str) -> list[Any]:
    if name == "count":
        return [np.int64(oa.count_nonzero(out))]
    if name == "where":
        return [*oa.where(out)[0]]
    if name == "sort":
        copy = out.heap.array(out.__sharedoa_element__, out.numpy())
        copy.sort()
        return [*copy]
    found = getattr(out, name)()
    return [*found] if name in ("cumsum", "argsort") else [found]


def by_loops(values: Sequence[Any], type: str, name: str) -> list[Any]:
    """The same of at least one NumPy scalar of ``type``."""
    wide = np.uint64 if type.startswith("u") else np.int64
    places = range(len(values))
    match name:
        case "sum" | "cumsum":
            sums, total = [], 0
            for value in values:
                total += int(value)
                sums.append(_wrapped(total, wide))
            return sums if name == "cumsum" else sums[-1:]
        case "min" | "argmin":
            place = min(places, key=cmp_to_key(lambda a, b: _order(values[a], values[b], -1)))
        case "max" | "argmax":
            place = min(places, key=cmp_to_key(lambda a, b: _order(values[b], values[a], 1)))
        case "any":
            return [np.bool_(any(value != 0 for value in values))]
        case "all":
            return [np.bool_(all(value != 0 for value in values))]
        case "count":
            return [np.int64(sum(1 for value in values if value != 0))]
        case "where":
            return [np.int64(place) for place in places if values[place] != 0]
        case "argsort":
            ascending = sorted(places, key=cmp_to_key(lambda a, b: _order(values[a], values[b], 1)))
            return [np.int64(place) for place in ascending]
        case "sort":
            signed: Callable[[Any], Any] = lambda v: math.copysign(1, v) if v == 0 else 0
            zeros = sorted(values, key=signed)
            return sorted(zeros, key=cmp_to_key(lambda a, b: _order(a, b, 1)))
    if name.startswith("arg"):
        return [np.int64(place)]
    value = values[place]
    return [value + value.dtype.type(0) if type in FLOATS else value]


def _order(a: Any, b: Any, nans: int) -> int:
    """Which comes first; NaN last if ``nans`` is 1, first if it is -1."""
    if a != a or b != b:
        return nans * (int(a != a) - int(b != b))
    return int(a > b) - int(a < b)


def _wrapped(number: int, type: Any) -> Any:
    return np.uint64(number % 2**64).astype(type)
