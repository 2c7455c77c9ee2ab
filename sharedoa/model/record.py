"""The record of a class: what an object consists of, byte by byte, as C lays out a structure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dispatch.dataclass import dataclass

#: Leads into a field: a component of a value struct, or the item of an inline array, a vector or a
#: matrix, whose items are counted row by row.
Component = str | int


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

    def part(self, name: str, components: tuple[Component, ...] = ()) -> tuple[int, np.dtype[Any]]:
        """Offset and dtype of a field, or of what ``components`` lead to in it."""
        offset, dtype = self.offsets[name], self.dtypes[name]
        for component in components:
            inside, dtype = part_of(dtype, component)
            offset += inside
        return offset, dtype


def part_of(dtype: np.dtype[Any], component: Component) -> tuple[int, np.dtype[Any]]:
    """Bytes into a value of ``dtype``, and dtype, of a member or an element. Raises KeyError if a
    structure has no such member."""
    if isinstance(component, int):
        return component * dtype.base.itemsize, dtype.base
    assert dtype.fields is not None
    inner, inside = dtype.fields[component][:2]
    return int(inside), inner


@dataclass(frozen=True)
class Scalar:
    """What a value consists of: ``members`` lead to it in the value's dtype; of one in inline
    arrays, their ``shape`` and the ``strides`` of their elements in the record."""

    members: tuple[str, ...]
    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


def row_strides(dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Bytes between neighbours of an array within a value, along each axis."""
    lengths = dtype.shape
    return tuple(
        dtype.base.itemsize * math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))
    )


def scalars(dtype: np.dtype[Any], offset: int) -> Iterator[Scalar]:
    """The scalars of a value that lies ``offset`` bytes into the record."""
    if dtype.subdtype is not None:
        steps = row_strides(dtype)
        for inner in scalars(dtype.base, offset):
            shape, strides = (*dtype.shape, *inner.shape), (*steps, *inner.strides)
            yield Scalar(inner.members, inner.dtype, inner.offset, shape, strides)
    elif dtype.fields is not None:
        for name, (part, inside, *_) in dtype.fields.items():
            for inner in scalars(part, offset + inside):
                members = (name, *inner.members)
                yield Scalar(members, inner.dtype, inner.offset, inner.shape, inner.strides)
    else:
        yield Scalar((), dtype, offset)


def scalar_parts(dtype: np.dtype[Any], offset: int) -> Iterator[tuple[int, int]]:
    """Offset and size of each, every element of inline arrays by itself."""
    for scalar in scalars(dtype, offset):
        for index in np.ndindex(*scalar.shape):
            inside = sum(n * step for n, step in zip(index, scalar.strides, strict=True))
            yield scalar.offset + inside, scalar.dtype.itemsize
