"""What a program does with arrays of references: which parameters it only indexes, and whether it
stores references into any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..model.classes import ClassType
from ..model.types import ArrayType, InlineType, ReferenceType, ValueType
from .core import (
    Function,
    LvalueType,
    Operation,
    Program,
    Type,
    Value,
    element_of,
    operations_in,
    root_of,
)
from .operations import kind_of
from .rewrite import Use, uses_in


def indexed_parameters(program: Program, receivers: int = 0) -> tuple[int, ...]:
    """The kernel's parameters, by number, that are arrays of references of which the program reads
    elements and the length, and nothing else, in the kernel and wherever it passes them on, and
    whose elements stay what they are.

    Any array may be the same as another one, or a piece of it. So where a program stores to
    elements of arrays none of them stays, but those of its first parameters, so many as there are
    ``receivers``: who calls methods on objects means those that there are when the call begins.
    """
    indexed = _Indexed(program).of(program.kernel)
    if stores_references(program):
        return tuple(number for number in indexed if number < receivers)
    return indexed


class ElementStores(NamedTuple):
    """What must be an array of its very class, as arrays of subclasses cannot hold what a program
    stores: parameters of the kernel, by number, and arrays that objects hold, by class."""

    parameters: tuple[int, ...]
    held: frozenset[ClassType]


def element_stores(program: Program) -> ElementStores:
    """Kernels know an array by one class from where it comes from on. So those are concerned that
    they know by a class of which they store to elements, or which they store themselves."""
    changed = list(_changed(program))
    known = [lvalue for lvalue in changed if lvalue is not None]
    classes = {_referred(element_of(each)) for each in known if _is_in_array(each)}
    moved = {_element_class(element_of(each)) for each in known}
    given = [_element_class(parameter.type) for parameter in program.kernel.parameters]
    from_memory = {
        _element_class(result.type)
        for operation in operations_in(program)
        if operation.kind in ("load", "value_field", "tuple_item")
        for result in operation.results
    }
    if len(known) < len(changed):
        classes = moved = {*from_memory, *given}
    read_only = _Indexed(program).of(program.kernel) if classes | moved != {None} else ()
    numbers = tuple(
        number
        for number, cls in enumerate(given)
        if cls is not None and cls in classes | moved and number not in read_only
    )
    held = frozenset(cls for cls in classes & from_memory if cls is not None)
    return ElementStores(numbers, held)


def array_fields(program: Program) -> frozenset[tuple[ClassType, str]]:
    """The fields that the program reads arrays of references from, by declaring class."""
    fields = (each.operands[0].source for each in operations_in(program) if each.kind == "load")
    return frozenset(
        (field["owner"], field["name"])
        for field in fields
        if field is not None and field.kind == "field" and _is_array_of_references(field.result)
    )


def stores_references(program: Program) -> bool:
    """Whether a launch may change an element of an array that holds references, or which array of
    references a field holds."""
    return any(lvalue is None or _holds_references(lvalue) for lvalue in _changed(program))


def _changed(program: Program) -> Iterator[Value | None]:
    """The lvalues that operations of the program write to; None for what nobody knows."""
    for operation in operations_in(program):
        kind = kind_of(operation)
        if kind is None:
            yield None
        elif kind.changes:
            lvalues = [each for each in operation.operands if isinstance(each.type, LvalueType)]
            if not lvalues:
                yield None
            yield from lvalues


def _holds_references(lvalue: Value) -> bool:
    type = element_of(lvalue)
    return (_is_in_array(lvalue) and _are_references(type)) or _element_class(type) is not None


def _are_references(type: Type) -> bool:
    """References, or arrays of them."""
    if isinstance(type, InlineType):
        return _are_references(type.element)
    if isinstance(type, ValueType):
        return any(map(_are_references, type.fields.values()))
    return isinstance(type, ReferenceType) or _element_class(type) is not None


def _is_in_array(lvalue: Value) -> bool:
    """Whether it is an element of an array or part of one; also if nobody knows."""
    root = root_of(lvalue)
    return root is None or root.kind not in ("field", "list_element")


def _referred(type: Type) -> ClassType | None:
    return type.cls if isinstance(type, ReferenceType) else None


def _element_class(type: Type) -> ClassType | None:
    return _referred(type.element) if isinstance(type, ArrayType) else None


def _is_array_of_references(lvalue: Value) -> bool:
    return _element_class(element_of(lvalue)) is not None


class _Indexed:
    """Which parameters functions only index."""

    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._found: dict[str, tuple[int, ...]] = {}

    def of(self, function: Function) -> tuple[int, ...]:
        known = self._found.get(function.symbol)
        if known is not None:
            return known
        # A function that calls itself is taken to do anything with what it passes on.
        self._found[function.symbol] = ()
        uses = uses_in(function)
        found = tuple(
            number
            for number, parameter in enumerate(function.parameters)
            if _element_class(parameter.type) is not None
            and all(self._indexes(use, uses) for use in uses.get(parameter, ()))
        )
        self._found[function.symbol] = found
        return found

    def _indexes(self, use: Use, uses: dict[Value, list[Use]]) -> bool:
        operation, number = use
        if operation.kind in ("length", "truth"):
            return True
        if operation.kind == "element":
            return all(_loads(each.operation) for each in uses.get(operation.result, ()))
        if operation.kind == "call":
            return number in self.of(self._functions[operation["symbol"]])
        return False


def _loads(operation: Operation) -> bool:
    return operation.kind == "load"
