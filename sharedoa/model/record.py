"""The record of a class: what an object consists of, byte by byte, as C lays out a structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Header:
    """What precedes the fields: ``size`` bytes, aligned to ``alignment``."""

    size: int
    alignment: int


@dataclass(frozen=True)
class Record:
    """The shape of one object: its bytes, and each field's offset and dtype."""

    size: int
    alignment: int
    offsets: dict[str, int]
    dtypes: dict[str, np.dtype[Any]]
