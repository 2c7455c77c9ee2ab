"""References and array addresses as numbers that mean the same in every heap.

An object becomes (number of its class, its ordinal among the class's objects by address), a place
in an array (number of the array, bytes from its start); both are packed into the 64 bits of the
address, 0 stays null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DumpError
from ..model.types import ArrayType, InlineType, ReferenceType, Type, ValueType

_SHIFT = 40
_MASK = np.uint64((1 << _SHIFT) - 1)
MOST_GROUPS = (1 << 64 - _SHIFT) - 1
"""Classes, or arrays, that codes can tell apart."""

Words = np.ndarray[Any, np.dtype[np.uint64]]
Translate = Callable[[Words], Words]
Items = tuple[int, int]
"""Bytes of an array's elements in the heap, and in a dump, where references have 64 bits."""


def split_codes(codes: Words) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Words]:
    """The number of the class or array that each code names, -1 for null, and what follows it."""
    return (codes >> np.uint64(_SHIFT)).astype(np.int64) - 1, codes & _MASK


class Encoder:
    """From addresses to codes. ``groups`` are the addresses of the objects of each class, or the
    start of each array, sorted within a group; ``sizes`` how many bytes from each belong to it."""

    def __init__(
        self,
        groups: Sequence[Words],
        sizes: Sequence[int],
        what: str,
        items: Sequence[Items] | None = None,
    ) -> None:
        """``sizes``: a code names bytes inside an item only if its size is more than 1. ``items``:
        how large the elements of each array are."""
        numbers = [
            (np.uint64(number + 1) << np.uint64(_SHIFT)) + np.arange(len(group), dtype=np.uint64)
            for number, group in enumerate(groups)
        ]
        addresses = np.concatenate([np.zeros(0, np.uint64), *groups])
        order = np.argsort(addresses, kind="stable")
        self._starts = addresses[order]
        self._codes = np.concatenate([np.zeros(0, np.uint64), *numbers])[order]
        lengths = [
            np.full(len(group), size, np.uint64) for group, size in zip(groups, sizes, strict=True)
        ]
        self._sizes = np.concatenate([np.zeros(0, np.uint64), *lengths])[order]
        self._what = what
        self._items = np.array(items or [(1, 1)] * len(groups), np.uint64).reshape(-1, 2)

    def __call__(self, addresses: Words) -> Words:
        """Raises DumpError for an address that belongs to nothing."""
        codes = np.zeros_like(addresses)
        used = addresses != 0
        wanted = addresses[used]
        if not len(wanted):
            return codes
        index = np.searchsorted(self._starts, wanted, side="right") - 1
        known = index >= 0
        offsets = np.zeros_like(wanted)
        if len(self._starts):
            offsets = wanted - self._starts[index]
            known &= offsets < self._sizes[index]
        if not known.all():
            raise DumpError(
                f"{self._what} {int(wanted[~known][0]):#x}, which was deleted or is not of this "
                "heap",
                "set references to None when what they refer to is deleted",
            )
        starts = self._codes[index]
        items = self._items[(starts >> np.uint64(_SHIFT)).astype(np.int64) - 1]
        codes[used] = starts + offsets // items[:, 0] * items[:, 1]
        return codes


class Decoder:
    """From codes to what they name now: ``groups`` are references to the objects of each class, or
    the start of each array. ``inside`` says that codes count bytes from the start."""

    def __init__(
        self, groups: Sequence[Words], inside: bool, items: Sequence[Items] | None = None
    ) -> None:
        lengths = [0, *(len(group) for group in groups)]
        self._first = np.cumsum(lengths)
        self._all = np.concatenate([np.zeros(0, np.uint64), *groups])
        self._inside = inside
        self._items = np.array(items or [(1, 1)] * len(groups), np.uint64).reshape(-1, 2)

    def __call__(self, codes: Words) -> Words:
        """The codes name something: ``dump_contents`` has looked."""
        found = np.zeros_like(codes)
        used = codes != 0
        group, rest = split_codes(codes[used])
        if self._inside:
            items = self._items[group]
            found[used] = self._all[self._first[group]] + rest // items[:, 1] * items[:, 0]
        else:
            found[used] = self._all[self._first[group] + rest.astype(np.int64)]
        return found


def translate(
    values: np.ndarray[Any, Any], type: Type, references: Translate, arrays: Translate
) -> None:
    """Replace every reference and array address in ``values`` of ``type``, in place."""
    if isinstance(type, ReferenceType):
        values[...] = references(values)
    elif isinstance(type, ArrayType):
        values["address"] = arrays(values["address"])
    elif isinstance(type, InlineType):
        translate(values, type.element, references, arrays)
    elif isinstance(type, ValueType) and not type.shape:
        for name, component in type.fields.items():
            translate(values[name], component, references, arrays)
