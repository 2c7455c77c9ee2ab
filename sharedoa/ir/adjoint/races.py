"""Which floats several threads of a launch may touch in an order that makes a difference.

The way back adds to adjoints as if nobody read what another thread of the launch has written. That
is certain of floats that are only read, of sums (``atomic_add``) that nobody reads, of fields that
threads reach through their own object alone (``ownership``), and of elements of arrays whose index
is the thread's own. Launches with others run in debug mode, which looks at every access.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from ...model.classes import class_of_index
from ...model.scalars import ScalarType
from ...model.types import ArrayType, Type, ValueType
from ..core import LvalueType, Operation, Program, Value, operations_in, root_of, unconverted
from ..passes.calls import callees
from ..roles import Role, may_meet
from ..summary import Access, How, summarize
from .leaves import float_leaves


@dataclass(frozen=True)
class RaceFacts:
    """What is known of a program. ``raced``: roles in which a thread may touch what another one
    writes, whatever a launch is given. ``arrays``: sets of parameters, by number, with elements of
    one type that threads may so touch if the arrays overlap, or if an element is not each thread's
    own: it is for those in ``by_thread``, which the thread's index along the one axis names, and
    in ``by_row`` along two. ``ways``: what is done to elements of each."""

    raced: frozenset[Role]
    arrays: tuple[frozenset[int], ...]
    by_thread: frozenset[int]
    by_row: frozenset[int]
    ways: Mapping[int, frozenset[How]]


def race_facts(program: Program, receivers: int, is_own: Callable[[Role], bool]) -> RaceFacts:
    """``receivers`` and ``is_own`` are those of ``ownership.own_roles``."""
    accesses = summarize(program)[program.kernel.symbol].accesses
    floats = [each for each in accesses if _has_floats(each.role) and not is_own(each.role)]
    raced: set[Role] = set()
    groups: dict[Role, frozenset[int]] = {}
    ways: dict[int, set[How]] = {}
    for each in floats:
        meeting = [other for other in floats if may_meet(each.role, other.role)]
        if is_harmless({other.how for other in meeting}):
            continue
        numbers = [_array_of(program, other) for other in meeting]
        if any(number is None for number in numbers):
            raced.add(each.role)
            continue
        groups[each.role] = frozenset(number for number in numbers if number is not None)
        for number, other in zip(numbers, meeting, strict=True):
            assert number is not None
            ways.setdefault(number, set()).add(other.how)
    named = {number: {*_index_ways(program, number, receivers)} for number in ways}
    return RaceFacts(
        frozenset(raced),
        tuple(groups.values()),
        frozenset(number for number, found in named.items() if found == {"thread"}),
        frozenset(number for number, found in named.items() if found == {"row"}),
        {number: frozenset(found) for number, found in ways.items()},
    )


def is_harmless(hows: Collection[How]) -> bool:
    """Whether threads may do these things to one float in any order."""
    return {*hows} in ({"read"}, {"add"}, set())


def _array_of(program: Program, access: Access) -> int | None:
    """The number of the kernel's parameter that is the array which is accessed."""
    number = access.via.parameter
    if number is None or access.role[:1] != ("element",):
        return None
    type = program.kernel.parameters[number].type
    if isinstance(type, ArrayType):
        return number if access.via.is_own else None
    # An array of two dimensions is a value of one array and numbers.
    is_plain = isinstance(type, ValueType) and all(
        isinstance(part, ScalarType)
        or (isinstance(part, ArrayType) and isinstance(part.element, ScalarType))
        for part in type.fields.values()
    )
    return number if is_plain else None


def _index_ways(program: Program, number: int, receivers: int) -> Iterator[str]:
    """How elements of an array that is a parameter are named: by the thread's index along one axis
    ("thread"), along two ("row"), or in another way."""
    parameters = program.kernel.parameters
    parameter = parameters[number]
    for operation in operations_in(program.kernel):
        if callees(operation):
            if any(_parameter_of(each) is parameter for each in operation.operands):
                yield "passed on"
            continue
        for operand in operation.operands:
            root = root_of(operand) if isinstance(operand.type, LvalueType) else None
            if root is None or root.kind != "element":
                continue
            array = _parameter_of(root.operands[0])
            if array is parameter:
                # Methods that are called on many objects have an element for each.
                yield "thread" if receivers else _index_way(root)
            elif array not in parameters:
                yield "other"  # which array it is, a branch may have chosen


def _parameter_of(array: Value) -> Value:
    """What an array is a part of."""
    while array.source is not None and array.source.kind in ("row", "slice", "value_field"):
        array = array.source.operands[0]
    return array


def _index_way(element: Operation) -> str:
    array, index = element.operands
    made = array.source
    if made is None or made.kind == "value_field":
        return "thread" if _is_thread_index(index, 0) else "other"
    if made.kind == "row" and _is_thread_index(made.operands[1], 1) and _is_thread_index(index, 0):
        return "row"
    return "other"


def _is_thread_index(value: Value, axis: int) -> bool:
    source = unconverted(value).source
    return source is not None and source.kind == "thread_index" and source["axis"] == axis


def _has_floats(role: Role) -> bool:
    if not role:
        return True
    kind, *rest = role
    if kind == "element":
        return bool(float_leaves(_type(rest[0])))
    if kind != "field":
        return False
    index, name, *_ = rest
    assert isinstance(index, int)
    cls = class_of_index(index)
    return cls is None or bool(float_leaves(cls.fields[str(name)]))


def _type(value: object) -> Type:
    return value  # type: ignore[return-value]
