"""Programs in structured SSA form: values, operations, regions, functions.

Between the front end and LLVM a program is a tree of regions. Each region is a list of operations
that run in order; the last one, its *terminator*, says where control goes. A value is made once, by
an operation or as an argument of a region, and is visible from there to the end of its region and
in the regions within. Branches and loops are operations that hold regions; what they change is what
their regions pass on. Which kinds of operations there are, and what each does to the world, is
declared in ``operations``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Union

from dispatch.dataclass import dataclass, field

from ..location import Location
from ..model.classes import ClassType
from ..model.run_form import RunForm
from ..model.types import Type as ModelType

NEIGHBOURS = 4
"""Elements of a group that one thread takes together (thread coarsening); a power of two."""


@dataclass(frozen=True)
class LvalueType:
    """The type of an lvalue: where in memory a value of type ``element`` lies."""

    element: ModelType

    def __repr__(self) -> str:
        return f"lvalue[{self.element!r}]"


Type = Union[ModelType, LvalueType]


@dataclass(eq=False, slots=True)
class Value:
    """What an operation makes, or an argument of a region. ``name`` is for readers only."""

    type: Type
    name: str = ""
    #: The operation that makes it; None for an argument.
    source: Operation | None = None

    def __repr__(self) -> str:
        return f"%{self.name or '?'}"


@dataclass(eq=False, slots=True)
class Operation:
    """One operation. ``attributes`` are what is known when the program is compiled."""

    kind: str
    operands: list[Value]
    location: Location
    attributes: dict[str, Any] = field(default_factory=dict)
    results: list[Value] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    @property
    def result(self) -> Value:
        """The only one."""
        (only,) = self.results
        return only

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.operands))})"


@dataclass(eq=False, slots=True)
class Region:
    arguments: list[Value] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    @property
    def terminator(self) -> Operation:
        return self.operations[-1]


@dataclass(frozen=True)
class Candidate:
    """A concrete class that a receiver may have, and the function that the call then runs."""

    cls: ClassType
    symbol: str

    @property
    def type_index(self) -> int:
        return self.cls.type_index

    @property
    def entry_base(self) -> int:
        """The entry of slot 0 in the class's function table."""
        return self.cls.entry_base


class Lane(NamedTuple):
    """A parameter that is the member number ``number`` of a group of neighbours, passed as the
    reference of the first of them (``passes.runs``)."""

    number: int


#: What is known of a parameter in every call of a function.
ParameterFact = Union[RunForm, Lane]


@dataclass(eq=False)
class Function:
    """One function of a program. ``parameters[0]`` of a method is the receiver. A question has the
    kernel's parameters, and says whether a thread does anything (``passes.idle_threads``).
    ``known`` says of parameters, by index, what holds in every call. ``melded``: threads of a warp
    that come to it on ways which exclude one another call it together (``passes.call_melding``).
    ``gradient``: the function that gives the adjoints of its parameters, where that was written
    (``oa.custom_gradient``)."""

    symbol: str
    name: str
    kind: Literal["kernel", "method", "func", "question"]
    result: ModelType
    body: Region
    location: Location
    owner: ClassType | None = None
    known: Mapping[int, ParameterFact] = field(default_factory=dict)
    melded: bool = False
    gradient: str | None = None

    @property
    def parameters(self) -> list[Value]:
        return self.body.arguments


class Remark(NamedTuple):
    location: Location
    text: str


class Stretch(NamedTuple):
    """Threads of a launch from ``first`` on that are those of the kernel ``name``."""

    first: int
    name: str


@dataclass(eq=False)
class Program:
    """A kernel with every function it can reach, by symbol. ``functions`` holds the kernel too.
    ``remarks``: what passes tell people of places in it. ``stretches``: of one for several launches
    side by side, whose its threads are."""

    kernel: Function
    functions: dict[str, Function] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    stretches: tuple[Stretch, ...] = ()


# -------------------------------------------------------------------- walks


def operations_in(part: Program | Function | Region) -> Iterator[Operation]:
    """Every operation of the part, those that hold regions before what they hold."""
    parts = part.functions.values() if isinstance(part, Program) else [part]
    for each in parts:
        pending = [iter((each.body if isinstance(each, Function) else each).operations)]
        while pending:
            for operation in pending[-1]:
                yield operation
                if operation.regions:
                    pending.append(_operations_of(operation.regions))
                    break
            else:
                pending.pop()


def _operations_of(regions: Sequence[Region]) -> Iterator[Operation]:
    for region in regions:
        yield from region.operations


def regions_in(part: Function | Region) -> Iterator[Region]:
    """The region, or the function's body, and every region within."""
    pending = [part.body if isinstance(part, Function) else part]
    while pending:
        region = pending.pop()
        yield region
        pending += [inner for op in reversed(region.operations) for inner in reversed(op.regions)]


def defined_in(region: Region) -> set[Value]:
    """The values that are made in a region and the regions within."""
    found: set[Value] = set()
    for each in regions_in(region):
        found.update(each.arguments)
        for operation in each.operations:
            found.update(operation.results)
    return found


def live_ins(regions: Iterable[Region]) -> list[Value]:
    """The values that regions use and do not make, in the order of their first use."""
    found: dict[Value, None] = {}
    for region in regions:
        own = defined_in(region)
        for operation in operations_in(region):
            found.update((used, None) for used in operation.operands if used not in own)
    return list(found)


def unconverted(value: Value) -> Value:
    """What a number was before conversions; the value that a reference is, whatever its static
    class."""
    while value.source is not None and value.source.kind == "convert":
        value = value.source.operands[0]
    return value


def behind(value: Value, goes_on: Callable[[Operation], bool]) -> Iterator[Value]:
    """The value and what it is computed from, each once, through operations for which ``goes_on``
    holds. Values are used often, and chains of them are long: recursion would take for ever."""
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        yield each
        if each.source is not None and goes_on(each.source):
            new = [operand for operand in each.source.operands if operand not in seen]
            pending += dict.fromkeys(new)
            seen.update(new)


def root_of(lvalue: Value) -> Operation | None:
    """The operation that names the field or element which an lvalue is, or is part of."""
    found = lvalue.source
    while found is not None and found.kind in ("inline_element", "member"):
        found = found.operands[0].source
    return found


def rounds_of(loop: Operation) -> range | None:
    """What a ``for`` counts, if that is known."""
    numbers = [constant_of(bound) for bound in loop.operands[:3]]
    if None in numbers or not numbers[2]:
        return None
    return range(*(int(number) for number in numbers if number is not None))


def type_of(value: Value) -> ModelType:
    """The type of a value that is no lvalue."""
    assert not isinstance(value.type, LvalueType)
    return value.type


def element_of(lvalue: Value) -> ModelType:
    """The type of what lies at an lvalue."""
    assert isinstance(lvalue.type, LvalueType)
    return lvalue.type.element


def constant_of(value: Value) -> int | float | bool | None:
    """The number that a value is known to be."""
    source = value.source
    return source["value"] if source is not None and source.kind == "constant" else None
