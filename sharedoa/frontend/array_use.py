"""What a program does with arrays of references: which parameters it only indexes, and whether it
stores references into any."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from ..model.classes import ClassType
from ..model.types import ArrayType, InlineType, ReferenceType, Type, ValueType
from . import tree
from .effects import STORE, assigned_by, is_known
from .walk import nodes, nodes_of


def indexed_parameters(program: tree.Program, receivers: int = 0) -> tuple[int, ...]:
    """Places of the kernel's parameters that are arrays of references of which the program reads
    elements and the length, and nothing else, in the kernel and wherever it passes them on, and
    whose elements stay what they are.

    Any array may be the same as another one, or a piece of it. So where a program stores to
    elements of arrays none of them stays, but those of its first parameters, so many as there are
    ``receivers``: who calls methods on objects means those that there are when the call begins.
    """
    indexed = _Uses(program).of(program.kernel)
    if stores_references(program):
        return tuple(place for place in indexed if place < receivers)
    return indexed


class ElementStores(NamedTuple):
    """What must be an array of its very class, as arrays of subclasses cannot hold what a program
    stores: parameters of the kernel, by place, and arrays that objects hold, by class."""

    parameters: tuple[int, ...]
    held: frozenset[ClassType]


def element_stores(program: tree.Program) -> ElementStores:
    """Kernels know an array by one class from where it comes from on. So those are concerned that
    they know by a class of which they store to elements, or which they store themselves."""
    found = list(nodes(program))
    stores = [node.place for node in found if node.__class__ in STORE]
    classes = {_referred(place.type) for place in stores if _is_in_array(place)}
    moved = {_element_class(place.type) for place in stores}
    given = [_element_class(variable.type) for variable in program.kernel.parameters]
    read = (tree.Load, tree.ValueField, tree.TupleItem)
    from_memory = {_element_class(node.type) for node in found if isinstance(node, read)}
    if not all(map(is_known, found)):
        classes = moved = {*from_memory, *given}
    read_only = _Uses(program).of(program.kernel) if classes | moved != {None} else ()
    places = tuple(
        place
        for place, cls in enumerate(given)
        if cls is not None and cls in classes | moved and place not in read_only
    )
    return ElementStores(places, frozenset(cls for cls in classes & from_memory if cls is not None))


def _referred(type: Type) -> ClassType | None:
    return type.cls if isinstance(type, ReferenceType) else None


def _element_class(type: Type) -> ClassType | None:
    return _referred(type.element) if isinstance(type, ArrayType) else None


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
    return any(map(_stores_reference, nodes(program)))


def _stores_reference(node: Any) -> bool:
    if node.__class__ not in STORE:
        return not is_known(node)
    place = node.place
    in_array = _is_in_array(place) and _holds_references(place.type)
    return in_array or _is_reference_array(place.type)


def _is_in_array(place: Any) -> bool:
    while isinstance(place, (tree.InlinePlace, tree.MemberPlace)):
        place = place.base
    return isinstance(place, tree.ElementPlace)


def _holds_references(type: Type) -> bool:
    """References, or arrays of them."""
    if isinstance(type, InlineType):
        return _holds_references(type.element)
    if isinstance(type, ValueType):
        return any(map(_holds_references, type.fields.values()))
    return isinstance(type, ReferenceType) or _is_reference_array(type)


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
            if isinstance(node, tree.Local):
                used[node.variable] += 1
            used.update(assigned_by(node))
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
    return _element_class(type) is not None
