"""Arrays and fields as columns of Arrow, which polars, pyarrow and DuckDB take: copies, as Arrow's
values never change. Vectors and inline arrays are lists of one length, value structs structs,
references numbers."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import ExportError
from ..model.types import ArrayType, InlineType, Type, ValueType
from .placement import Values


def _holds_arrays(type: Type) -> bool:
    if isinstance(type, InlineType):
        return _holds_arrays(type.element)
    if isinstance(type, ValueType):
        return any(map(_holds_arrays, type.fields.values()))
    return isinstance(type, ArrayType)


def arrow_array(values: Values, type: Type, what: str) -> Any:
    """``values`` of elements of ``type`` as an array of pyarrow. Raises ExportError."""
    if _holds_arrays(type):
        raise ExportError(
            f"{what} is {type!r}: arrays of any length are no column",
            "make a list of each: [each.numpy() for each in view]",
        )
    try:
        arrow = import_module("pyarrow")
    except ImportError:
        raise ExportError(
            f"{what} becomes a column of Arrow through pyarrow, which is not installed",
            "pip install pyarrow, or give view.numpy()",
        ) from None
    return _column(arrow, values)


def _column(arrow: Any, values: Values) -> Any:
    if values.ndim > 1:
        count, length, *rest = values.shape
        items = _column(arrow, values.reshape(math.prod((count, length)), *rest))
        return arrow.FixedSizeListArray.from_arrays(items, length)
    if values.dtype.names is not None:
        parts = [_column(arrow, values[name]) for name in values.dtype.names]
        return arrow.StructArray.from_arrays(parts, list(values.dtype.names))
    return arrow.array(np.array(values))  # a copy: pyarrow takes what lies side by side as it is
