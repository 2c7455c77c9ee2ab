"""Adjoints of what touches memory. Each place has the place of its adjoint (``shadow``); elements
of lists have them in lists of the way back, which lie where the list itself would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.scalars import ScalarType
from ...model.types import ListType
from ..core import LvalueType, Operation, Value, element_of, root_of, type_of
from .leaves import float_leaves

if TYPE_CHECKING:
    from .reverse import Backward


def load(to: Backward, operation: Operation) -> None:
    """What was read adds its adjoint to that of the place."""
    given = to.take(operation.result)
    if not given:
        return
    place = _shadow(to, operation.operands[0])
    for path, adjoint in given.items():
        _add(to, operation.operands[0], to.code.place(place, path), adjoint)


def store(to: Backward, operation: Operation) -> None:
    """The place's adjoint becomes that of the value, and what lay there before has none."""
    value, lvalue = operation.operands
    leaves = float_leaves(element_of(lvalue))
    if not leaves:
        return
    place = _shadow(to, lvalue)
    for path, type in leaves.items():
        part = to.code.place(place, path)
        adjoint = to.code.value("load", [part], type)
        to.code.add("store", [to.code.number(0.0, type), part])
        to.give(value, path, adjoint)


def atomic(to: Backward, operation: Operation) -> None:
    """Of a sum the value gets the place's adjoint, which stays as it is."""
    lvalue, *_, value = operation.operands
    type, operator = element_of(lvalue), operation["operator"]
    if not (isinstance(type, ScalarType) and type.is_float):
        return
    if operator not in ("add", "sub") or to.plan.is_used(operation.result):
        what = f"the result of atomic_{operator}" if operator in ("add", "sub") else operator
        raise to.refusal(
            operation,
            f"{what} of floats depends on the order of threads",
            "sums have one: oa.atomic_add or oa.atomic_sub, whose result nobody looks at",
        )
    adjoint = to.code.value("load", [_shadow(to, lvalue)], type)
    to.give(value, (), adjoint if operator == "add" else to.code.negative(adjoint))


def new_list(to: Backward, operation: Operation) -> None:
    """What a list began with has the adjoints of its elements at that time."""
    type = type_of(operation.result)
    assert isinstance(type, ListType)
    if not float_leaves(type.element):
        return
    made, code, count = to.primal(operation.result), to.code, len(operation.operands)
    for number in range(count * operation["repeat"]):
        value = operation.operands[number % count]
        if not to.is_active(value):
            continue
        place = code.value(
            "list_element", [made, code.integer(number)], LvalueType(type.element),
            may_be_negative=False,
        )  # fmt: skip
        for path, leaf in float_leaves(type.element).items():
            to.give(value, path, code.value("load", [code.place(place, path)], leaf))


def _shadow(to: Backward, lvalue: Value) -> Value:
    place = to.primal(lvalue)
    root = root_of(lvalue)
    if root is not None and root.kind == "list_element":
        return place
    return to.code.value("shadow", [place, to.delta], place.type)


def _add(to: Backward, lvalue: Value, place: Value, adjoint: Value) -> None:
    """Add to what lies at ``place``, the adjoint of a part of ``lvalue``."""
    code = to.code
    if to.plan.adds_plainly(lvalue):
        before = code.value("load", [place], adjoint.type)
        code.add("store", [code.binary("add", before, adjoint), place])
    else:
        combined = {"combined": True} if to.plan.is_shared(lvalue) else {}
        code.value("atomic", [place, adjoint], adjoint.type, operator="add", **combined)
