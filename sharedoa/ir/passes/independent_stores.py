"""What one iteration of a loop does to memory, through all functions that it calls, and whether the
order of iterations makes a difference.

A store may be made by any iteration, in any order and at the same time as the others', if

* it is the only store to its field, and its value is the same in all iterations;
* no iteration reads a field that is stored to; or there is but one such field, iterations read it
  in the object that they store to, and have no loop within, which may go from object to object, or
  on and on until another iteration has stored.

Then the field of an object holds that value after the loop if at least one iteration, looking at
what was there before it, stores; and an iteration that sees another one's value finds it there.
With two such fields an iteration could pass on in one what it sees in the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from ...model.classes import ClassType
from ...model.types import ReferenceType, ScalarType
from ..core import (
    LvalueType,
    Operation,
    Program,
    Region,
    Value,
    behind,
    defined_in,
    root_of,
    unconverted,
)
from ..operations import Effects, kind_of

_MOST_OPERATIONS = 2000
"""Of an iteration, those of functions counted at each call."""
_ACCEPTED = (
    Effects.READS | Effects.WRITES | Effects.CALLS | Effects.LEAVES_LOOP | Effects.RETURNS
    | Effects.LINGERS
)  # fmt: skip
"""Other effects name the thread, or come in an order."""
_COMPUTES = frozenset({"constant", "zero", "unary", "binary", "convert"})
Field = tuple[ClassType, str]


class _Known(NamedTuple):
    """What is known of a value: which one it is (equal for the same one in an iteration, None for
    unknown), and whether it is the same in all iterations."""

    identity: Hashable = None
    invariant: bool = False


_UNKNOWN = _Known()


def _computes(operation: Operation) -> bool:
    """Whether it makes the same of the same operands, whoever runs it."""
    return operation.kind in _COMPUTES


def stored_fields(program: Program, body: Region) -> frozenset[Field] | None:
    """The fields that an iteration of a loop stores to; None if order matters, or nobody can tell.
    ``body`` is the body of the loop."""
    reader = _Reader(program)
    if not reader.read(body, _Iteration(body)):
        return None
    stored = reader.stored
    read_in = {identity for field, identity in reader.loaded if field in stored}
    if read_in:
        if len(stored) > 1 or reader.has_loop:
            return None
        if None in read_in or read_in != {*stored.values()}:
            return None
    return frozenset(stored)


class _Iteration:
    """What is known of values in the body of the loop itself."""

    def __init__(self, body: Region) -> None:
        self._own = defined_in(body)

    def of(self, value: Value) -> _Known:
        # Made once an iteration, but for what loops within make, of which nothing is read.
        return _Known(unconverted(value), all(map(self._is_known, behind(value, _computes))))

    def _is_known(self, value: Value) -> bool:
        return value not in self._own or (value.source is not None and _computes(value.source))


class _Callee:
    """What is known of values in a function that an iteration calls."""

    def __init__(self, given: Mapping[Value, _Known]) -> None:
        self._given = given

    def of(self, value: Value) -> _Known:
        # The function may be called twice in an iteration, so what it makes itself may be several.
        identity = self._given.get(unconverted(value), _UNKNOWN).identity
        return _Known(identity, all(map(self._is_known, behind(value, _computes))))

    def _is_known(self, value: Value) -> bool:
        if value in self._given:
            return self._given[value].invariant
        return value.source is not None and _computes(value.source)


class _Reader:
    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._open: list[str] = []
        self._seen = 0
        #: By field, which object it is stored to in, and read from.
        self.stored: dict[Field, Hashable] = {}
        self.loaded: set[tuple[Field, Hashable]] = set()
        self.has_loop = False

    def read(self, region: Region, values: _Iteration | _Callee) -> bool:
        """Look at everything that a region does; whether nothing speaks against it."""
        return all(self._fits(operation, values) for operation in region.operations)

    def _fits(self, operation: Operation, values: _Iteration | _Callee) -> bool:
        self._seen += 1
        kind = kind_of(operation)
        if kind is None or self._seen > _MOST_OPERATIONS:
            return False
        if kind.effects & ~_ACCEPTED:
            return False
        self.has_loop = self.has_loop or kind.is_loop
        if Effects.WRITES in kind.effects:
            return operation.kind == "store" and self._store(operation, values)
        if operation.kind == "load":
            root = root_of(operation.operands[0])
            if root is not None and root.kind == "field":
                field = root["owner"], root["name"]
                self.loaded.add((field, values.of(root.operands[0]).identity))
        if not all(self.read(region, values) for region in operation.regions):
            return False
        if operation.kind == "call":
            return self._call(operation["symbol"], operation.operands, values)
        if operation.kind == "call_virtual":
            symbols = dict.fromkeys(candidate.symbol for candidate in operation["candidates"])
            return all(self._call(symbol, operation.operands, values) for symbol in symbols)
        return not kind.calls

    def _store(self, store: Operation, values: _Iteration | _Callee) -> bool:
        value, lvalue = store.operands
        place = lvalue.source
        if place is None or place.kind != "field":
            return False
        type = lvalue.type
        if not isinstance(type, LvalueType):
            return False
        if not isinstance(type.element, (ScalarType, ReferenceType)):
            return False
        field = place["owner"], place["name"]
        if field in self.stored or not values.of(value).invariant:
            return False
        self.stored[field] = values.of(place.operands[0]).identity
        return True

    def _call(self, symbol: str, arguments: Sequence[Value], values: _Iteration | _Callee) -> bool:
        if symbol in self._open:
            return False
        function = self._functions[symbol]
        passed = zip(function.parameters, arguments, strict=True)
        known = {parameter: values.of(argument) for parameter, argument in passed}
        self._open.append(symbol)
        fits = self.read(function.body, _Callee(known))
        self._open.pop()
        return fits
