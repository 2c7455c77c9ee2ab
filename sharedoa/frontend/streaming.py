"""Which methods do the same few loads and stores for every object, so that one thread may as well
do them for several neighbours at once."""

from __future__ import annotations

from typing import Any

from . import tree
from .effects import ASK_LAUNCH, COMPUTE, assigned_by
from .walk import nodes_of

_MOST_NODES = 200
"""Statements, expressions and places of a short method with all that it calls. Several times as
many could need more registers than leave room for enough threads."""
_STORES = (tree.Store, tree.AugmentedStore)
_ACCEPTED = (COMPUTE - {tree.Logical, tree.Conditional}) | ASK_LAUNCH | {
    tree.Load, tree.DirectCall, tree.Assign, tree.Evaluate, tree.Return, *_STORES,
}  # fmt: skip
"""The same for every object: no branches, no calls through a class."""


def is_short(program: tree.Program) -> bool:
    """Whether all that the kernel calls is short together."""
    functions = (f for f in program.functions.values() if f is not program.kernel)
    return sum(1 for function in functions for _ in nodes_of(function)) <= _MOST_NODES


def is_streaming(program: tree.Program, symbol: str) -> bool:
    """Whether method ``symbol`` of the program, with all that it calls, runs the same statements
    for every object and stores to nothing but fields of its receiver, which it reads in no other
    way. Then the loads of one object do not wait for the stores of another one.
    """
    reader = _Reader(program)
    fits = reader.read(symbol, of_receiver=True)
    return fits and not reader.stored & reader.read_elsewhere


class _Reader:
    def __init__(self, program: tree.Program) -> None:
        self._functions = program.functions
        self._open: set[str] = set()
        #: Names of fields that are stored to in the receiver, or read in other objects.
        self.stored: set[str] = set()
        self.read_elsewhere: set[str] = set()

    def read(self, symbol: str, of_receiver: bool) -> bool:
        """Look at a function and all that it calls; whether nothing speaks against it."""
        if symbol in self._open:
            return False  # it calls itself
        function = self._functions[symbol]
        receiver = _receiver(function) if of_receiver else None
        self._open.add(symbol)
        fits = all(self._fits(node, receiver) for node in nodes_of(function))
        self._open.remove(symbol)
        return fits

    def _fits(self, node: Any, receiver: tree.Variable | None) -> bool:
        if node.__class__ not in _ACCEPTED:
            return False
        if isinstance(node, tree.InlinePlace) and not isinstance(node.index, tree.Constant):
            return False  # who knows which of two elements are the same
        if isinstance(node, _STORES):
            field = _field(node.place)
            if field is None or not _is(field.object, receiver):
                return False
            self.stored.add(field.name)
        if isinstance(node, tree.FieldPlace) and not _is(node.object, receiver):
            self.read_elsewhere.add(node.name)
        if isinstance(node, tree.DirectCall):
            first = node.arguments[0] if node.arguments else None
            return self.read(node.symbol, first is not None and _is(first, receiver))
        return True


def _receiver(function: tree.Function) -> tree.Variable | None:
    """The variable that is the receiver throughout a method."""
    variable = function.parameters[0]
    assigned = (each for node in nodes_of(function) for each in assigned_by(node))
    return None if variable in assigned else variable


def _field(place: tree.Place) -> tree.FieldPlace | None:
    """The field that a place is, or is part of."""
    while isinstance(place, (tree.InlinePlace, tree.MemberPlace)):
        place = place.base
    return place if isinstance(place, tree.FieldPlace) else None


def _is(expression: tree.Expression, variable: tree.Variable | None) -> bool:
    while isinstance(expression, tree.Convert):
        expression = expression.value
    return isinstance(expression, tree.Local) and expression.variable is variable
