"""What a program does to populations: of which classes it makes objects, how many at most in one
thread, and whether it ends any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from dispatch.dataclass import dataclass

from ..model.classes import ClassType
from ..model.types import ReferenceType
from .core import Operation, Program, Region, operations_in, rounds_of
from .operations import kind_of
from .passes.calls import callees

_MOST_EACH = 1 << 16
"""Objects of a class by one thread; more count as any number."""


@dataclass(frozen=True)
class Births:
    """``made``: the classes that objects are made of, by type index, with the most that a thread
    makes; None where nobody knows. ``ended``: the static classes of objects that are deleted.
    ``asks``: whether it asks which objects live. ``together``: the most objects that a thread makes
    of all classes together, which are fewer where each is made on a way of its own."""

    made: Mapping[ClassType, int | None]
    ended: frozenset[ClassType]
    asks: bool
    together: int | None = 0

    @property
    def changes(self) -> bool:
        """Whether populations may change in a launch."""
        return bool(self.made or self.ended)

    def __bool__(self) -> bool:
        return self.changes or self.asks

    def entry(self, cls: ClassType) -> int:
        """The number of a class in the birth table."""
        return list(self.made).index(cls)


NO_BIRTHS = Births({}, frozenset(), False)


def births_of(program: Program) -> Births:
    """What the program does before any pass."""
    every = [*operations_in(program)]
    classes = {operation["cls"] for operation in every if operation.kind == "new"}
    counts = _Counts(program).of_function(program.kernel.symbol) if classes else Counter()

    def most(of: ClassType | None) -> int | None:
        return None if counts is None or counts[of] > _MOST_EACH else counts[of]

    made = {cls: most(cls) for cls in sorted(classes, key=lambda cls: cls.type_index)}
    ended = frozenset(_static_class(each) for each in every if each.kind == "delete")
    asks = any(each.kind == "is_alive" for each in every)
    return Births(made, ended, asks, most(None))


def _static_class(operation: Operation) -> ClassType:
    type = operation.operands[0].type
    assert isinstance(type, ReferenceType)
    return type.cls


_Made = Counter[ClassType | None] | None
"""How many objects of each class, and under None of all together; None: any number of any."""


class _Counts:
    """How many objects a thread makes at most."""

    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._open: set[str] = set()
        self._known: dict[str, _Made] = {}
        self._makers = makers_in(program)

    def of_function(self, symbol: str) -> _Made:
        if symbol not in self._makers:
            return Counter()
        if symbol in self._open:
            return None  # it calls itself
        if symbol not in self._known:
            self._open.add(symbol)
            self._known[symbol] = self._in_region(self._functions[symbol].body)
            self._open.remove(symbol)
        return self._known[symbol]

    def _in_region(self, region: Region) -> _Made:
        return _sum(map(self._of, region.operations))

    def _of(self, operation: Operation) -> _Made:
        kind = kind_of(operation)
        if kind is None:
            return None
        if operation.kind == "new":
            return Counter([operation["cls"], None])
        called = _most(map(self.of_function, callees(operation)))
        within = [self._in_region(region) for region in operation.regions]
        if not kind.is_loop:
            return _sum([called, _most(within)])
        rounds = rounds_of(operation) if operation.kind == "for" else None
        *each, after = within
        return _sum([_repeated(_sum(each), rounds), after])


def makers_in(program: Program) -> frozenset[str]:
    """The symbols of functions that may make objects, themselves or by what they call."""
    found = {
        symbol
        for symbol, function in program.functions.items()
        if any(each.kind == "new" for each in operations_in(function))
    }
    calls = {
        symbol: {each for o in operations_in(function) for each in callees(o)}
        for symbol, function in program.functions.items()
    }
    while new := {s for s, called in calls.items() if s not in found and called & found}:
        found |= new
    return frozenset(found)


def _sum(parts: Iterable[_Made]) -> _Made:
    """Of what happens one after another."""
    total: Counter[ClassType | None] = Counter()
    for part in parts:
        if part is None:
            return None
        total += part
    return total


def _most(parts: Iterable[_Made]) -> _Made:
    """Of ways of which one is taken."""
    most: Counter[ClassType | None] = Counter()
    for part in parts:
        if part is None:
            return None
        most |= part
    return most


def _repeated(each: _Made, rounds: range | None) -> _Made:
    if not each:
        return each
    if rounds is None or len(rounds[: _MOST_EACH + 1]) > _MOST_EACH:
        return None
    return Counter({cls: count * len(rounds) for cls, count in each.items()})
