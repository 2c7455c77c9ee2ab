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
from typing import Any, NamedTuple

from ..model.classes import ClassType
from ..model.types import ReferenceType, ScalarType
from . import tree
from .effects import CALL, COMPUTE, CONTROL, READ
from .walk import part_names, statements_in

_MOST_NODES = 2000
"""Of the statements and expressions of an iteration, those of functions counted at each call."""
_ACCEPTED = COMPUTE | READ | CALL | CONTROL | {tree.Store, tree.Candidate}
"""Of others the report of an ``assert`` names the thread, too."""
_LOOPS = frozenset({tree.ForRange, tree.While})
Field = tuple[ClassType, str]


class Known(NamedTuple):
    """What is known of a variable: which value it is (equal for variables that hold the same one in
    an iteration, None for unknown), and whether that is the same in all iterations."""

    identity: Hashable = None
    invariant: bool = False


_UNKNOWN = Known()
Variables = Mapping[tree.Variable, Known]


def stored_fields(
    program: tree.Program, body: Sequence[tree.Statement], variables: Variables
) -> frozenset[Field] | None:
    """The fields that an iteration stores to; None if order matters, or nobody can tell."""
    reader = _Reader(program)
    if not reader.read(list(body), variables):
        return None
    stored = reader.stored
    read_in = {place for field, place in reader.loaded if field in stored}
    if read_in:
        if len(stored) > 1 or reader.has_loop:
            return None
        if None in read_in or read_in != {*stored.values()}:
            return None
    return frozenset(stored)


class _Reader:
    def __init__(self, program: tree.Program) -> None:
        self._functions = program.functions
        self._open: list[str] = []
        self._seen = 0
        #: By field, which object it is stored to in, and read from.
        self.stored: dict[Field, Hashable] = {}
        self.loaded: set[tuple[Field, Hashable]] = set()
        self.has_loop = False

    def read(self, node: Any, variables: Variables) -> bool:
        """Look at a node and everything below it; whether nothing speaks against it."""
        if isinstance(node, list):
            return all(self.read(part, variables) for part in node)
        kind = node.__class__
        if kind is tree.Local or kind is tree.Constant:
            return True
        names = part_names(kind)
        if names is None:
            return True
        self._seen += 1
        if self._seen > _MOST_NODES or kind not in _ACCEPTED:
            return False
        self.has_loop = self.has_loop or kind in _LOOPS
        if isinstance(node, tree.Let):
            inner = {**variables, node.variable: _known(node.value, variables)}
            return self.read(node.value, variables) and self.read(node.body, inner)
        if isinstance(node, tree.Store):
            return self._store(node, variables)
        if isinstance(node, tree.FieldPlace):
            field = node.owner, node.name
            self.loaded.add((field, _known(node.object, variables).identity))
        if not all(self.read(getattr(node, name), variables) for name in names):
            return False
        if isinstance(node, tree.DirectCall):
            return self._call(node.symbol, node.arguments, variables)
        if isinstance(node, tree.VirtualCall):
            arguments = [node.receiver, *node.arguments]
            symbols = dict.fromkeys(candidate.symbol for candidate in node.candidates)
            return all(self._call(symbol, arguments, variables) for symbol in symbols)
        return True

    def _store(self, node: tree.Store, variables: Variables) -> bool:
        place = node.place
        if not isinstance(place, tree.FieldPlace):
            return False
        if not isinstance(place.type, (ScalarType, ReferenceType)):
            return False
        field = place.owner, place.name
        if field in self.stored or not _known(node.value, variables).invariant:
            return False
        self.stored[field] = _known(place.object, variables).identity
        return self.read(place.object, variables) and self.read(node.value, variables)

    def _call(
        self, symbol: str, arguments: Sequence[tree.Expression], variables: Variables
    ) -> bool:
        if symbol in self._open:
            return False
        function = self._functions[symbol]
        passed = zip(function.parameters, arguments, strict=True)
        known = {parameter: _known(argument, variables) for parameter, argument in passed}
        for node in statements_in(function.body):
            if isinstance(node, (tree.Assign, tree.ForRange)):
                known[node.variable] = _UNKNOWN
        self._open.append(symbol)
        fits = self.read(function.body, known)
        self._open.pop()
        return fits


def _known(expression: tree.Expression, variables: Variables) -> Known:
    if isinstance(expression, (tree.Constant, tree.Null)):
        return Known(invariant=True)
    if isinstance(expression, tree.Local):
        return variables.get(expression.variable, _UNKNOWN)
    if isinstance(expression, tree.Convert):
        value = _known(expression.value, variables)
        is_same = isinstance(expression.type, ReferenceType)
        return value if is_same else Known(invariant=value.invariant)
    if isinstance(expression, tree.Unary):
        return Known(invariant=_known(expression.operand, variables).invariant)
    if isinstance(expression, tree.Binary):
        parts = _known(expression.left, variables), _known(expression.right, variables)
        return Known(invariant=all(part.invariant for part in parts))
    return _UNKNOWN
