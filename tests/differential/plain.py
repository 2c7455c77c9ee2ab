"""The same programs without sharedoa: plain Python objects that hold NumPy scalars.

This is what the compiled program has to agree with; nothing here comes from the package under
test. Fields, arguments and results convert by their annotations, as the design says: like NumPy's
``same_kind`` assignment.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .signatures import DTYPES

THREAD = SimpleNamespace(index=0)


def convert(value: Any, annotation: Any) -> Any:
    """``value`` as a field or parameter with that annotation holds it."""
    if isinstance(annotation, str) and annotation.startswith("tuple["):
        types = annotation.removeprefix("tuple[").removesuffix("]").split(", ")
        return tuple(convert(part, type_) for part, type_ in zip(value, types, strict=True))
    dtype = DTYPES.get(annotation)
    if dtype is None:
        return value
    if dtype is np.bool_:
        return bool(value)
    return np.asarray(value).astype(dtype)[()]


def conversion(name: str) -> Callable[[Any], Any]:
    """The function ``i32``, ``f32`` and so on: wraps integers, saturates floats."""
    dtype = DTYPES[name]

    def call(value: Any) -> Any:
        if np.issubdtype(dtype, np.floating):
            return dtype(value)
        limits = np.iinfo(dtype)
        if isinstance(value, (float, np.floating)):
            if math.isnan(value):
                return dtype(0)
            low, high = float(limits.min), float(limits.max)
            # The largest integers are no floats: what rounds up to them saturates, too.
            if value >= high:
                return dtype(limits.max)
            return dtype(limits.min) if value <= low else dtype(int(value))
        return np.array(int(value) & (2**limits.bits - 1), np.uint64).astype(dtype)[()]

    call.__name__ = name
    return call


def _converting(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(function)
    annotations = function.__annotations__

    def call(*arguments: Any, **named: Any) -> Any:
        bound = parameters.bind(*arguments, **named)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            bound.arguments[name] = convert(value, annotations.get(name))
        return convert(function(*bound.args, **bound.kwargs), annotations.get("return"))

    return call


class InlineArray:
    """Elements of one type inside an object, or rows of them."""

    def __init__(self, annotation: str, values: list[Any]) -> None:
        self._element = annotation
        self._values = [
            InlineArray(annotation, value)
            if isinstance(value, list)
            else convert(value, annotation)
            for value in values
        ]

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            row, column = index
            return self._values[row][column]
        return self._values[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, tuple):
            row, column = index
            self._values[row][column] = value
        else:
            self._values[index] = convert(value, self._element)


class Object:
    """A class whose attributes convert when they are assigned."""

    annotations: dict[str, str]

    def __init_subclass__(cls) -> None:
        cls.annotations = {**getattr(cls, "annotations", {}), **inspect.get_annotations(cls)}
        for name, value in list(vars(cls).items()):
            if inspect.isfunction(value):
                setattr(cls, name, _converting(value))
            elif isinstance(value, property):
                assert value.fget is not None
                setattr(cls, name, property(_converting(value.fget)))

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, convert(value, self.annotations[name]))


def value(cls: type) -> type:
    """A struct: fields are converted once, methods convert, equality is of the fields."""
    annotations = inspect.get_annotations(cls)

    def initialise(self: Any, *parts: Any) -> None:
        for (name, annotation), part in zip(annotations.items(), parts, strict=True):
            setattr(self, name, convert(part, annotation))

    def equal(self: Any, other: Any) -> bool:
        return all(bool(getattr(self, n) == getattr(other, n)) for n in annotations)

    for name, function in list(vars(cls).items()):
        if inspect.isfunction(function):
            setattr(cls, name, _converting(function))
    cls.__init__ = initialise  # type: ignore[misc]
    cls.__eq__ = equal  # type: ignore[assignment]
    return cls


def _shared(type: Any, count: int) -> InlineArray:
    """Memory of the block: for each thread the first, the second one and so on."""
    if THREAD.made == len(THREAD.tiles):
        THREAD.tiles.append(InlineArray(type.__name__, [0] * count))
    THREAD.made += 1
    found: InlineArray = THREAD.tiles[THREAD.made - 1]
    return found


def _atomic(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], None]:
    def call(target: Any, place: Any, value: Any) -> None:
        target[place] = apply(target[place], value)

    return call


class _Subscripted:
    def __getitem__(self, item: Any) -> Any:
        return item


#: What the name ``oa`` means in a program that runs without sharedoa.
OA = SimpleNamespace(
    Object=Object,
    value=value,
    func=_converting,
    kernel=lambda function: function,
    grid=lambda axes: THREAD.index,
    Array=_Subscripted(),
    inline=_Subscripted(),
    shared=_shared,
    atomic_add=_atomic(operator.add),
    atomic_sub=_atomic(operator.sub),
    atomic_min=_atomic(min),
    atomic_max=_atomic(max),
)

#: Globals of such a program.
NAMES: dict[str, Any] = {
    "math": math,
    "np": np,
    "oa": OA,
    **{name: conversion(name) for name in DTYPES if name != "bool"},
}


def launch(kernel: Callable[..., Any], threads: int, *arguments: Any, block: int = 1) -> None:
    """Run a kernel for every thread, one after another; those of a block from barrier to barrier,
    if it is a generator that yields at barriers."""
    with np.errstate(all="ignore"):
        for first in range(0, threads, block):
            THREAD.tiles = []
            running = {}
            for index in range(first, min(first + block, threads)):
                THREAD.index = index
                running[index] = kernel(*arguments)
            while any(running.values()):
                for index, steps in running.items():
                    THREAD.index, THREAD.made = index, 0
                    if steps is not None and next(steps, _ENDED) is _ENDED:
                        running[index] = None


_ENDED = object()
