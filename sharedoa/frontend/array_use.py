"""What a program does with arrays of references: which parameters it only indexes, and whether it
stores references into any."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..model.classes import ClassType
from ..model.types import ArrayType, InlineType, ReferenceType, Type, ValueType
from . import tree
from .walk import nodes, nodes_of


def indexed_parameters(program: tree.Program) -> tuple[int, ...]:
    """Places of the kernel's parameters that are arrays of references of which the program reads
    elements and the length, and nothing else, in the kernel and wherever it passes them on."""
    return _Uses(program).of(program.kernel)


def array_fields(program: tree.Program) -> frozenset[tuple[ClassType, str]]:
    """The fields that the program reads arrays of references from, by declaring class."""
    return frozenset(
        (node.place.owner, node.place.name)
        for node in nodes(program)
        if isinstance(node, tree.Load)
        and isinstance(node.place, tree.FieldPlace)
        and _is_reference_array(node.place.type)
    )


def stores_references(program: tree.Program) -> bool:
    """Whether a launch may change an element of an array that holds references, or which array of
    references a field holds."""
    return any(
        isinstance(node, (tree.Store, tree.AugmentedStore, tree.Atomic))
        and (
            _is_reference_array(node.place.type)
            or (_is_in_array(node.place) and _holds_references(node.place.type))
        )
        for node in nodes(program)
    )


def _is_in_array(place: Any) -> bool:
    while isinstance(place, (tree.InlinePlace, tree.MemberPlace)):
        place = place.base
    return isinstance(place, tree.ElementPlace)


def _holds_references(type: Type) -> bool:
    if isinstance(type, InlineType):
        return _holds_references(type.element)
    if isinstance(type, ValueType):
        return any(map(_holds_references, type.fields.values()))
    return isinstance(type, ReferenceType)


class _Uses:
    def __init__(self, program: tree.Program) -> None:
        self._functions = program.functions
        self._found: dict[str, tuple[int, ...]] = {}

    def of(self, function: tree.Function) -> tuple[int, ...]:
        """Places of the parameters of ``function`` that it only indexes."""
        known = self._found.get(function.symbol)
        if known is not None:
            return known
        # A function that calls itself is taken to do anything with what it passes on.
        self._found[function.symbol] = ()
        used, indexed = self._count(function)
        found = tuple(
            place
            for place, variable in enumerate(function.parameters)
            if _is_reference_array(variable.type) and used[variable] == indexed[variable]
        )
        self._found[function.symbol] = found
        return found

    def _count(
        self, function: tree.Function
    ) -> tuple[Counter[tree.Variable], Counter[tree.Variable]]:
        """How often each variable is used in any way, and as an array that is only indexed."""
        used: Counter[tree.Variable] = Counter()
        indexed: Counter[tree.Variable] = Counter()
        for node in nodes_of(function):
            if isinstance(node, (tree.Local, tree.Assign)):
                used[node.variable] += 1
            for array in self._indexed_by(node):
                if isinstance(array, tree.Local):
                    indexed[array.variable] += 1
        return used, indexed

    def _indexed_by(self, node: Any) -> list[tree.Expression]:
        if isinstance(node, tree.Load) and isinstance(node.place, tree.ElementPlace):
            return [node.place.array]
        if isinstance(node, (tree.ArrayLength, tree.Truth)):
            return [node.array if isinstance(node, tree.ArrayLength) else node.value]
        if isinstance(node, tree.DirectCall):
            places = self.of(self._functions[node.symbol])
            return [node.arguments[place] for place in places]
        return []


def _is_reference_array(type: Type) -> bool:
    return isinstance(type, ArrayType) and isinstance(type.element, ReferenceType)
