"""Reductions and the like of fields, against NumPy's."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i32, i64, u8

FIELDS: dict[str, Any] = {"energy": i32, "small": u8, "x": f64, "y": f32, "id": i64}
NAMES = (
    "sum", "cumsum", "min", "max", "argmin", "argmax", "any", "all", "argsort", "sort", "count",
    "where", "choose", "arithmetic", "reduce", "scan",
)  # fmt: skip
Values = np.ndarray[Any, Any]


def same(found: Any, wanted: Any) -> bool:
    """Equal with signs of zeros; NaN is NaN."""
    found, wanted = (np.asarray(each) for each in (found, wanted))
    if found.shape != wanted.shape:
        return False
    if found.dtype.kind != "f":
        return bool((found == wanted).all())
    signs = np.signbit(found) == np.signbit(wanted)
    return np.array_equal(found, wanted, equal_nan=True) and bool(signs[~np.isnan(found)].all())


def compare(what: str, source: Any, values: Values, element: Any, larger: Any) -> None:
    """What is computed of ``source`` on the heap is what NumPy computes of ``values``; ``larger``
    is the greater one of two i64 modulo 1000."""
    if what in ("sum", "cumsum", "reduce", "scan") and values.dtype.kind == "f":
        return  # in another order than NumPy
    if what in ("min", "max", "argmin", "argmax", "reduce") and not len(values):
        _refuses(lambda: oa.reduce(larger, source) if what == "reduce" else source.min())
    elif what in ("sum", "any", "all"):
        assert getattr(source, what)() == getattr(values, what)()
    elif what in ("min", "max", "argmin", "argmax"):
        found, wanted = getattr(source, what)(), getattr(values, what)()
        assert same(found, wanted) or found == wanted == 0, (found, wanted)
    elif what == "cumsum":
        assert same(source.cumsum(), values.cumsum())
    elif what == "argsort":
        assert same(source.argsort(), values.argsort(kind="stable"))
    elif what == "sort":
        array = oa.array(element, source)
        array.sort()
        assert np.array_equal(array.numpy(), np.sort(values), equal_nan=values.dtype.kind == "f")
    elif what == "count":
        assert oa.count_nonzero(source) == np.count_nonzero(values)
    elif what == "where":
        assert same(oa.where(source)[0], np.where(values)[0])
    elif what == "choose":
        assert same(oa.where(source, source, 1), np.where(values, values, values.dtype.type(1)))
    elif what == "arithmetic":
        assert same(source * 2 + source, values * 2 + values)
    elif values.dtype == np.int64:
        larger_of = lambda a, b: a if a % 1000 > b % 1000 else b
        steps: list[int] = [*accumulate(values.tolist(), larger_of)]
        if what == "scan":
            assert [int(each) % 1000 for each in oa.scan(larger, source)] == [
                each % 1000 for each in steps
            ]
        else:
            assert int(oa.reduce(larger, source)) % 1000 == steps[-1] % 1000


def _refuses(call: Any) -> None:
    try:
        call()
    except (ValueError, oa.SharedOAError):
        return
    raise AssertionError("of nothing")
