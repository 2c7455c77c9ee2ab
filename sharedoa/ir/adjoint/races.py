"""Which floats several threads of a launch may touch in an order that makes a difference.

The way back adds to adjoints as if nobody read what another thread of the launch has written. That
is certain of floats that are only read, of sums (``atomic_add``) that nobody reads, of fields that
threads reach through their own object alone (``ownership``), and of elements of arrays whose index
is the thread's own. Launches with others run in debug mode, which looks at every access.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from dispatch.dataclass import dataclass

from ...model.classes import class_of_index
from ...model.scalars import ScalarType
from ...model.types import ArrayType, Type, ValueType
from ..core import LvalueType, Operation, Program, Value, operations_in, root_of
from ..passes.calls import callees
from ..roles import Role, may_meet
from ..summary import Access, How, summarize
from .leaves import float_leaves


@dataclass(frozen=True)
class Index:
    """How threads name an element of an array: ``thread``, by their index along axis 0; ``row``, by
    those along both axes of an array of two; ``flat``, by that along ``axis``, added to ``stride``
    times the other one, a parameter of the kernel."""

    way: Literal["thread", "row", "flat", "other"]
    stride: int = 0
    axis: int = 0

    def is_own(self, threads: Sequence[int], arguments: Sequence[Any]) -> bool:
        """Whether each thread of a launch of so many names another element."""
        if self.way == "thread":
            return threads[1] == 1
        if self.way == "flat":
            stride = int(arguments[self.stride])
            # Integers of 32 bits, which is the least, hold every index.
            return threads[self.axis] <= stride <= _MOST // threads[1 - self.axis]
        return self.way == "row"


_MOST = (1 << 31) - 1
_OTHER = Index("other")


@dataclass(frozen=True)
class RaceFacts:
    """What is known of a program. ``raced``: roles in which a thread may touch what another one
    writes, whatever a launch is given. ``arrays``: sets of parameters, by number, with elements of
    one type that threads may so touch if the arrays overlap, or if an element is not each thread's
    own (``index``: how it is named, where that is the same everywhere). ``ways``: what is done to
    elements of each."""

    raced: frozenset[Role]
    arrays: tuple[frozenset[int], ...]
    index: Mapping[int, Index]
    ways: Mapping[int, frozenset[How]]
    #: Sets of parameters that have all elements of their type that the program touches, and how
    #: they are named: each in one way.
    named: tuple[Mapping[int, Index], ...] = ()


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
        {number: found.pop() for number, found in named.items() if len(found) == 1},
        {number: frozenset(found) for number, found in ways.items()},
        tuple(_named(program, floats, receivers)),
    )


def _named(
    program: Program, floats: Sequence[Access], receivers: int
) -> Iterator[Mapping[int, Index]]:
    seen: set[frozenset[int | None]] = set()
    for each in floats:
        numbers = frozenset(
            _array_of(program, other) for other in floats if may_meet(each.role, other.role)
        )
        if None in numbers or numbers in seen:
            continue
        seen.add(numbers)
        found = {n: {*_index_ways(program, n, receivers)} for n in numbers if n is not None}
        if all(len(ways) == 1 for ways in found.values()):
            yield {number: ways.pop() for number, ways in found.items()}


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


def _index_ways(program: Program, number: int, receivers: int) -> Iterator[Index]:
    """How elements of an array that is a parameter are named."""
    parameters = program.kernel.parameters
    parameter = parameters[number]
    for operation in operations_in(program.kernel):
        if callees(operation):
            if any(_parameter_of(each) is parameter for each in operation.operands):
                yield _OTHER  # as it is passed on
            continue
        for operand in operation.operands:
            root = root_of(operand) if isinstance(operand.type, LvalueType) else None
            if root is None or root.kind != "element":
                continue
            array = _parameter_of(root.operands[0])
            if array is parameter:
                # Methods that are called on many objects have an element for each.
                yield Index("thread") if receivers else _index_of(root, parameters)
            elif array not in parameters:
                yield _OTHER  # which array it is, a branch may have chosen


def _parameter_of(array: Value) -> Value:
    """What an array is a part of."""
    while array.source is not None and array.source.kind in ("row", "slice", "value_field"):
        array = array.source.operands[0]
    return array


def _index_of(element: Operation, parameters: Sequence[Value]) -> Index:
    array, index = element.operands
    made = array.source
    if made is None or made.kind == "value_field":
        if _axis(index) == 0:
            return Index("thread")
        return _flat(index, parameters) or _OTHER
    if made.kind == "row" and _axis(made.operands[1]) == 1 and _axis(index) == 0:
        return Index("row")
    return _OTHER


def _flat(index: Value, parameters: Sequence[Value]) -> Index | None:
    """An index that is ``one * stride + other``, of the thread's two indices."""
    for product, added in _turns(_whole(index), "add"):
        for one, stride in _turns(_whole(product), "mul"):
            axes, stride = (_axis(one), _axis(added)), _whole(stride)
            if axes in ((1, 0), (0, 1)) and stride in parameters:
                return Index("flat", parameters.index(stride), axes[1] or 0)
    return None


def _turns(value: Value, operator: str) -> list[tuple[Value, Value]]:
    """The operands of a sum or a product, either way round."""
    source = value.source
    if source is None or source.kind != "binary" or source["operator"] != operator:
        return []
    one, other = source.operands
    return [(one, other), (other, one)]


def _whole(value: Value) -> Value:
    """What a number was before conversions between integers that hold every index."""
    while value.source is not None and value.source.kind == "convert" and _is_wide(value.type):
        before = value.source.operands[0]
        if not _is_wide(before.type):
            break
        value = before
    return value


def _is_wide(type: object) -> bool:
    return isinstance(type, ScalarType) and type.kind in ("int", "uint") and type.bits >= 32


def _axis(value: Value) -> int | None:
    """Of which axis a value is the thread's index."""
    source = _whole(value).source
    if source is None or source.kind != "thread_index":
        return None
    axis: int = source["axis"]
    return axis


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
