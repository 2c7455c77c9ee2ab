"""Taking programs apart and putting them together: uses, replacement, copies."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dispatch.dataclass import replace

from ..location import Location
from .core import Function, Operation, Program, Region, Type, Value, operations_in


class Use(NamedTuple):
    """``operation`` has the value as its operand number ``number``."""

    operation: Operation
    number: int


def uses_in(part: Program | Function | Region) -> dict[Value, list[Use]]:
    """Where the values that are used are."""
    found: dict[Value, list[Use]] = {}
    for operation in operations_in(part):
        for number, operand in enumerate(operation.operands):
            found.setdefault(operand, []).append(Use(operation, number))
    return found


def replace_uses(part: Function | Region, values: Mapping[Value, Value]) -> None:
    """Use ``values[v]`` wherever the part used v."""
    if values:
        for operation in operations_in(part):
            operation.operands = [values.get(each, each) for each in operation.operands]


def way_of(
    kind: str, operands: Sequence[Hashable], types: Sequence[Type], attributes: Mapping[str, Any]
) -> tuple[Hashable, ...]:
    """Equal for what is computed in the same way of the same. Zeros with a sign and without are
    equal, but not the same."""
    told = [(name, _told(value)) for name, value in sorted(attributes.items())]
    return (kind, *types, *operands, *told)


def _told(value: Any) -> Hashable:
    if isinstance(value, float):
        return repr(value)
    return tuple(value) if isinstance(value, list) else value  # the classes of a type test


def make(
    kind: str,
    operands: Sequence[Value],
    location: Location,
    types: Sequence[Type] = (),
    regions: Sequence[Region] = (),
    **attributes: Any,
) -> Operation:
    """An operation with new results of ``types``."""
    made = Operation(kind, [*operands], location, attributes, regions=[*regions])
    made.results = [Value(type, source=made) for type in types]
    return made


def copy_program(program: Program) -> Program:
    functions = {symbol: copy_function(f, symbol) for symbol, f in program.functions.items()}
    return Program(functions[program.kernel.symbol], functions)


def copy_function(function: Function, symbol: str) -> Function:
    """The same function once more, under another symbol."""
    return replace(function, symbol=symbol, body=copy_region(function.body, {}))


def copy_region(region: Region, values: dict[Value, Value]) -> Region:
    """A copy with values of its own, which are noted in ``values``; what is there already is used
    instead of what the region uses."""
    made = Region([_copied(argument, None, values) for argument in region.arguments])
    made.operations = copy_operations(region.operations, values)
    return made


def copy_operations(operations: Iterable[Operation], values: dict[Value, Value]) -> list[Operation]:
    """Copies, with what they make noted in ``values``."""
    found = []
    for operation in operations:
        made = Operation(
            operation.kind,
            [values.get(operand, operand) for operand in operation.operands],
            operation.location,
            dict(operation.attributes),
            regions=[copy_region(region, values) for region in operation.regions],
        )
        made.results = [_copied(result, made, values) for result in operation.results]
        found.append(made)
    return found


def _copied(value: Value, source: Operation | None, values: dict[Value, Value]) -> Value:
    values[value] = found = Value(value.type, value.name, source)
    return found
