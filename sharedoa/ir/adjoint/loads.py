"""Loads that give what is known already: what was loaded from the same place, or stored there, with
nothing between that may have changed it. The way back would keep each of them."""

from __future__ import annotations

from collections.abc import Hashable

from ..core import Function, LvalueType, Operation, Region, Value, constant_of
from ..operations import Effects, effects_of, kind_of
from ..rewrite import replace_uses
from ..roles import EVERYTHING, Role, may_meet, role_of

_ANYTHING = Effects.CALLS | Effects.WAITS | Effects.LIVES | Effects.UNKNOWN
_Known = dict[Hashable, tuple[Role, Value]]
"""What lies at places, by what names them, with the role of each."""


def forward_loads(function: Function) -> None:
    """Use what is known in place of loads; who loads no more goes with ``passes.unused``."""
    found: dict[Value, Value] = {}
    _region(function.body, {}, found)
    replace_uses(function, {value: _last(value, found) for value in found})


def _last(value: Value, found: dict[Value, Value]) -> Value:
    while value in found:
        value = found[value]
    return value


def _region(region: Region, known: _Known, found: dict[Value, Value]) -> None:
    for operation in region.operations:
        kind = kind_of(operation)
        if operation.regions:
            is_loop = kind is None or kind.is_loop
            for inner in operation.regions:
                # A round of a loop may find what an earlier one has changed.
                _region(inner, {} if is_loop else dict(known), found)
            _forget(operation, known)
            continue
        if operation.kind == "load":
            (lvalue,) = operation.operands
            name, role = _name(lvalue, found), role_of(lvalue)
            if name in known:
                found[operation.result] = known[name][1]
            else:
                known[name] = role, operation.result
        elif operation.kind == "store":
            value, lvalue = operation.operands
            _forget(operation, known)
            known[_name(lvalue, found)] = role_of(lvalue), value
        else:
            _forget(operation, known)


def _forget(operation: Operation, known: _Known) -> None:
    """Forget what an operation, with what it holds, may change."""
    effects = effects_of(operation)
    if kind_of(operation) is None or effects & _ANYTHING:
        known.clear()
        return
    for role in _changed(operation):
        for name in [name for name, (own, _) in known.items() if may_meet(own, role)]:
            del known[name]


def _changed(operation: Operation) -> list[Role]:
    kind = kind_of(operation)
    roles: list[Role] = []
    if kind is None or kind.changes:
        lvalues = [each for each in operation.operands if isinstance(each.type, LvalueType)]
        roles += map(role_of, lvalues) if lvalues else [EVERYTHING]
    for region in operation.regions:
        for each in region.operations:
            roles += _changed(each)
    return roles


def _name(lvalue: Value, found: dict[Value, Value]) -> Hashable:
    """What names a place: equal for the same one; others may have several names."""
    made = lvalue.source
    if made is None:
        return lvalue
    parts: list[Hashable] = []
    for operand in made.operands:
        number = constant_of(operand)
        if isinstance(operand.type, LvalueType):
            parts.append(_name(operand, found))
        elif number is not None:
            parts.append(("constant", repr(number)))
        else:
            parts.append(_last(operand, found))
    attributes = tuple((key, made[key]) for key in sorted(made.attributes))
    return made.kind, tuple(parts), attributes
