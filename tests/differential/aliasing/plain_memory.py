"""Plain Python objects and arrays that know who looked at them: the programs of ``source`` without
sharedoa, and whether a launch of theirs is defined.

Threads run one after another. A launch is defined if any other order, and any interleaving, would
leave the same: what a thread writes no other one looks at, but for integer atomics that commute
and whose old values nobody uses, and plain stores of one value that nobody reads.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..plain import NAMES, conversion, convert, value
from ..signatures import DTYPES

_MOST_ROUNDS = 100
_COMMUTATIVE = frozenset({"add", "sub", "min", "max"})
_PAIRS = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}


class Undefined(Exception):
    """The launch means something else in another order, or nothing at all."""


class _Place:
    """What threads did to one place."""

    __slots__ = ("atomics", "readers", "used", "values", "writers")

    def __init__(self) -> None:
        self.readers: set[int] = set()
        self.writers: set[int] = set()
        self.values: list[Any] = []
        self.atomics: dict[str, set[int]] = {}
        self.used = False

    def is_defined(self) -> bool:
        by_atomics = set().union(*self.atomics.values())
        if len(self.readers | self.writers | by_atomics) <= 1:
            return True
        if self.writers:
            one = all(same(each, self.values[0]) for each in self.values)
            alone = len(self.writers) == 1 and not self.readers
            return not by_atomics and not self.readers and (one or alone)
        if not by_atomics:
            return True
        operators = {"add" if each == "sub" else each for each in self.atomics}
        commute = len(operators) == 1 and operators <= _COMMUTATIVE
        return commute and not self.used and not self.readers


def same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and seen(one) == seen(other))


def seen(value: Any) -> Any:
    """A number or struct in a form that compares bit by bit, except that every NaN is equal."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.floating):
        return "nan" if np.isnan(value) else (value.dtype.str, float(value).hex())
    if isinstance(value, np.integer):
        return (value.dtype.str, int(value))
    if hasattr(value, "p"):
        return seen(value.p), seen(value.q)
    return value


class Accesses:
    """Of one launch; outside of launches nobody counts."""

    def __init__(self) -> None:
        self.thread: int | None = None
        self.places: dict[tuple[int, Any], _Place] = {}
        self.undo: list[tuple[Callable[[Any, Any], None], Any, Any]] = []

    def _at(self, container: Any, key: Any) -> _Place:
        found = self.places.get((id(container), key))
        if found is None:
            found = self.places[id(container), key] = _Place()
        return found

    def read(self, container: Any, key: Any) -> None:
        if self.thread is not None:
            self._at(container, key).readers.add(self.thread)

    def write(self, container: Any, key: Any, new: Any) -> None:
        if self.thread is not None:
            place = self._at(container, key)
            place.writers.add(self.thread)
            place.values.append(new)

    def atomic(self, container: Any, key: Any, operator: str, used: bool, new: Any) -> None:
        if self.thread is not None:
            place = self._at(container, key)
            place.atomics.setdefault(operator, set()).add(self.thread)
            place.used |= used or isinstance(new, np.floating)


ACCESSES = Accesses()


class Cells:
    """Memory of an array or an inline array."""

    __slots__ = ("element", "values")

    def __init__(self, element: str, values: list[Any]) -> None:
        self.element, self.values = element, [convert(each, element) for each in values]

    def get(self, place: int) -> Any:
        ACCESSES.read(self, place)
        return self.values[place]

    def put(self, place: int, new: Any) -> None:
        new = convert(new, self.element)
        ACCESSES.write(self, place, new)
        self.keep(place, new)

    def keep(self, place: int, new: Any) -> None:
        if ACCESSES.thread is not None:
            ACCESSES.undo.append((self.values.__setitem__, place, self.values[place]))
        self.values[place] = new


class Array:
    """A stretch of cells; a slice shares them."""

    __slots__ = ("cells", "length", "start")

    def __init__(self, cells: Cells, start: int = 0, length: int | None = None) -> None:
        self.cells, self.start = cells, start
        self.length = len(cells.values) - start if length is None else length

    def _place(self, index: Any) -> int:
        index = int(index)
        if not -self.length <= index < self.length:
            raise Undefined("outside of an array")
        return self.start + index % self.length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        return self.cells.get(self._place(index))

    def __setitem__(self, index: Any, new: Any) -> None:
        self.cells.put(self._place(index), new)

    def slice(self, start: int, stop: int) -> Array:
        return Array(self.cells, self.start + start, stop - start)

    def plain(self) -> list[Any]:
        return self.cells.values[self.start : self.start + self.length]

    def atomic(self, operator: str, index: Any, used: bool, *given: Any) -> Any:
        place = self._place(index)
        old = self.cells.values[place]
        new = _combined(operator, old, self.cells.element, given)
        ACCESSES.atomic(self.cells, place, operator, used, new)
        self.cells.keep(place, new)
        return old


def _combined(operator: str, old: Any, type: str, given: tuple[Any, ...]) -> Any:
    if operator == "cas":
        return convert(given[1], type) if same(old, convert(given[0], type)) else old
    new = convert(given[0], type)
    return new if operator == "exch" else convert(_PAIRS[operator](old, new), type)


class Object:
    """Fields convert when they are assigned; annotations are those of all bases."""

    annotations: dict[str, str]

    def __init_subclass__(cls) -> None:
        cls.annotations = {**getattr(cls, "annotations", {}), **inspect.get_annotations(cls)}
        for name, function in list(vars(cls).items()):
            if inspect.isfunction(function):
                setattr(cls, name, _converting(function))

    def __getattribute__(self, name: str) -> Any:
        if ACCESSES.thread is not None and name in type(self).annotations:
            ACCESSES.read(self, name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, new: Any) -> None:
        new = convert(new, self.annotations[name])
        ACCESSES.write(self, name, new)
        self._keep(name, new)

    def _keep(self, name: str, new: Any) -> None:
        put = lambda key, old: object.__setattr__(self, key, old)
        if ACCESSES.thread is not None:
            ACCESSES.undo.append((put, name, object.__getattribute__(self, name)))
        put(name, new)

    def atomic(self, operator: str, name: str, used: bool, *given: Any) -> Any:
        old = object.__getattribute__(self, name)
        new = _combined(operator, old, type(self).annotations[name], given)
        ACCESSES.atomic(self, name, operator, used, new)
        self._keep(name, new)
        return old


def _converting(function: Callable[..., Any]) -> Callable[..., Any]:
    names = list(inspect.signature(function).parameters)
    annotations = function.__annotations__

    def call(*arguments: Any) -> Any:
        pairs = zip(names, arguments, strict=True)
        given = [convert(each, annotations.get(name)) for name, each in pairs]
        return convert(function(*given), annotations.get("return"))

    return call


def _rounds(*bounds: Any) -> range:
    found = range(*map(int, bounds))
    if len(found) > _MOST_ROUNDS:
        raise Undefined("a loop without end")
    return found


class _Subscripted:
    def __getitem__(self, item: Any) -> Any:
        return item


def _atomic(operator: str) -> Callable[..., Any]:
    def call(target: Any, place: Any, *given: Any, used: bool = True) -> Any:
        return target.atomic(operator, place, used, *given)

    return call


_OPERATORS = ("add", "sub", "min", "max", "exch", "cas")
_OA = SimpleNamespace(
    Object=Object,
    value=value,
    func=_converting,
    kernel=lambda function: function,
    grid=lambda axes: ACCESSES.thread,
    Array=_Subscripted(),
    inline=_Subscripted(),
    **{f"atomic_{each}": _atomic(each) for each in _OPERATORS},
)


class _Discarded(ast.NodeTransformer):
    """Tells atomics whose old value nobody uses."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        call = node.value
        if isinstance(call, ast.Call) and "atomic_" in ast.unparse(call.func):
            call.keywords.append(ast.keyword("used", ast.Constant(False)))
        return node


def namespace(text: str) -> dict[str, Any]:
    """The globals of a program that runs without sharedoa."""
    names = {**NAMES, "oa": _OA, "range": _rounds}
    names.update({name: conversion(name) for name in DTYPES if name != "bool"})
    parsed = _Discarded().visit(ast.parse("from __future__ import annotations\n" + text))
    exec(compile(ast.fix_missing_locations(parsed), "plain", "exec"), names)
    return names


def launch(call: Callable[[int], Any], threads: int) -> list[Any]:
    """Run ``call`` for each thread, which gives its result. Raises Undefined, with nothing
    changed."""
    ACCESSES.places, ACCESSES.undo = {}, []
    results = []
    try:
        with np.errstate(all="ignore"):
            for index in range(threads):
                ACCESSES.thread = index
                results.append(call(index))
        if not all(place.is_defined() for place in ACCESSES.places.values()):
            raise Undefined("a race")
    except (Undefined, AttributeError, ZeroDivisionError, OverflowError) as error:
        ACCESSES.thread = None
        for put, key, old in reversed(ACCESSES.undo):
            put(key, old)
        raise Undefined(str(error)) from error
    finally:
        ACCESSES.thread = None
    return results
