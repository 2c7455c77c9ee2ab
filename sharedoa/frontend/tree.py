"""The typed tree: what a method or kernel means, with every type and every conversion explicit.

The front end produces it, code generation consumes it, and later stages (specialisation, fusion,
gradients) transform it. Two rules hold everywhere:

* operands of an operation have exactly the type it needs; the front end has put a ``Convert``
  wherever Python would convert silently;
* evaluation order is the order of the fields of a node, left to right, as in CPython.
"""

from __future__ import annotations

from collections import abc
from typing import Literal, Union

from dispatch.dataclass import dataclass, field

from ..location import Location
from ..model.classes import ClassType
from ..model.constant_table import ConstantTable
from ..model.types import (
    ArrayType,
    InlineType,
    ListType,
    NullType,
    ReferenceType,
    ScalarType,
    TupleType,
    Type,
    ValueType,
    VoidType,
)

__all__ = [
    "ArrayType", "InlineType", "Location", "NullType", "ReferenceType", "ScalarType", "TupleType",
    "Type", "ValueType", "VoidType",
]  # fmt: skip


@dataclass(eq=False)
class Variable:
    """A local or parameter. ``type`` is its one type throughout the function."""

    name: str
    type: Type


# ---------------------------------------------------------------- expressions


@dataclass(eq=False)
class Expression:
    type: Type
    location: Location


@dataclass(eq=False)
class Constant(Expression):
    """A number of ``type`` (a scalar, weak or not); the value already fits it."""

    value: int | float | bool


@dataclass(eq=False)
class Null(Expression):
    """The null reference, of a reference type."""


@dataclass(eq=False)
class Local(Expression):
    variable: Variable


@dataclass(eq=False)
class Let(Expression):
    """Evaluate ``value`` once, bind it, then the result is ``body``."""

    variable: Variable
    value: Expression
    body: Expression


@dataclass(eq=False)
class Convert(Expression):
    """Scalar to scalar (integers wrap, float to int truncates and saturates, NaN to 0; to bool is
    ``!= 0``), or a reference to a base class (no code)."""

    value: Expression


@dataclass(eq=False)
class Truth(Expression):
    """``bool(value)``: a number is not 0, a reference is not null, an array is not empty."""

    value: Expression


UnaryOperator = Literal["neg", "invert", "not", "abs"]
BinaryOperator = Literal[
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"
]
CompareOperator = Literal["eq", "ne", "lt", "le", "gt", "ge", "is", "is_not"]


@dataclass(eq=False)
class Unary(Expression):
    """``not`` takes and gives bool; the others keep the operand's type."""

    operator: UnaryOperator
    operand: Expression


@dataclass(eq=False)
class Binary(Expression):
    """Both operands have the result's type. Integers wrap; ``//`` and ``%`` floor; division of
    integers by zero gives 0 (debug mode reports it); a shift by the width or more gives 0, or -1
    for a negative number shifted right; a negative integer exponent gives 0; ``truediv`` is of
    floats only. Floats: ``//`` and ``%`` as NumPy's ``floor_divide`` and ``remainder``."""

    operator: BinaryOperator
    left: Expression
    right: Expression


@dataclass(eq=False)
class Compare(Expression):
    """One comparison, of equal types (numbers, bools), or identity of references. Result bool."""

    operator: CompareOperator
    left: Expression
    right: Expression


@dataclass(eq=False)
class Logical(Expression):
    """Short-circuit ``and``/``or`` of bools."""

    operator: Literal["and", "or"]
    left: Expression
    right: Expression


@dataclass(eq=False)
class Conditional(Expression):
    """``then if test else otherwise``; only the branch taken is evaluated."""

    test: Expression
    then: Expression
    otherwise: Expression


@dataclass(eq=False)
class Load(Expression):
    """Read a place. Whole inline arrays are loaded as parts of value structs alone."""

    place: Place


@dataclass(eq=False)
class ArrayLength(Expression):
    """``len(array)`` as a weak int, of a list, too."""

    array: Expression


@dataclass(eq=False)
class ArraySlice(Expression):
    """``count`` elements of an array from ``start`` on, which are all inside; both weak ints."""

    array: Expression
    start: Expression
    count: Expression


@dataclass(eq=False)
class ArrayRow(Expression):
    """Row ``index`` of an array that lies row by row; all weak ints. A negative index counts from
    the end where ``may_be_negative``."""

    array: Expression
    index: Expression
    rows: Expression
    columns: Expression
    may_be_negative: bool


@dataclass(eq=False)
class MakeValue(Expression):
    """A value struct from its fields, in the order of declaration."""

    fields: list[Expression]


@dataclass(eq=False)
class ValueField(Expression):
    """A field of a value struct that is itself a value (not in memory)."""

    value: Expression
    name: str


@dataclass(eq=False)
class MakeInline(Expression):
    """An inline array that is no memory, from its elements, or rows."""

    items: list[Expression]


@dataclass(eq=False)
class InlineItem(Expression):
    """Element of such an array, by an index for each of its lengths; ``may_be_negative`` as in
    ``ElementPlace``, of each."""

    value: Expression
    indices: list[Expression]
    may_be_negative: tuple[bool, ...]


@dataclass(eq=False)
class MakeList(Expression):
    """A new list of ``items``, over and over, ``repeat`` times."""

    items: list[Expression]
    repeat: int


@dataclass(eq=False)
class MakeTuple(Expression):
    items: list[Expression]


@dataclass(eq=False)
class TupleItem(Expression):
    value: Expression
    index: int


@dataclass(eq=False)
class DirectCall(Expression):
    """Call of one function of the program; a method's receiver is the first argument."""

    symbol: str
    arguments: list[Expression]


@dataclass(frozen=True)
class Candidate:
    """A concrete class that a receiver may have, and the function that the call then runs."""

    cls: ClassType
    symbol: str


@dataclass(eq=False)
class VirtualCall(Expression):
    """Call through the receiver's class. ``arguments`` leaves the receiver out. ``static_class`` is
    the receiver's declared class, ``candidates`` every concrete class at or below it."""

    receiver: Expression
    static_class: ClassType
    method: str
    slot: int
    parameter_types: list[Type]
    arguments: list[Expression]
    candidates: list[Candidate]


@dataclass(eq=False)
class TypeTest(Expression):
    """``isinstance(value, cls)``; null is an instance of nothing. ``matching`` are the concrete
    classes at or below ``cls``."""

    value: Expression
    cls: ClassType
    matching: tuple[ClassType, ...]


@dataclass(eq=False)
class New(Expression):
    """A new object of ``cls``; the fields that ``names`` names begin with ``values``, the others
    with zero or null. Null if there is no room."""

    cls: ClassType
    names: list[str]
    values: list[Expression]


@dataclass(eq=False)
class Delete(Expression):
    """End an object; whether it lived, and nobody else has ended it."""

    object: Expression


@dataclass(eq=False)
class IsAlive(Expression):
    """Whether an object lives, as far as is known."""

    object: Expression


@dataclass(eq=False)
class TableElement(Expression):
    """A number of a constant table; a weak int for each of its axes, of which some, as
    ``may_be_negative`` says, may count from the end."""

    table: ConstantTable
    indices: list[Expression]
    may_be_negative: tuple[bool, ...]


@dataclass(eq=False)
class Sequence(Expression):
    """Statements that are run before ``value`` is evaluated."""

    statements: list[Statement]
    value: Expression


MATH_FUNCTIONS = (
    "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "atan2", "sinh", "cosh", "tanh", "pow", "fmod", "hypot", "floor", "ceil",
    "trunc", "fabs", "copysign", "isnan", "isinf", "isfinite", "cbrt", "erf", "fma", "rint",
    "asinh", "acosh", "atanh", "erfc", "gamma", "lgamma",
)  # fmt: skip


@dataclass(eq=False)
class MathCall(Expression):
    """A function of ``MATH_FUNCTIONS`` on floats of one width; ``is*`` give bool."""

    name: str
    arguments: list[Expression]


@dataclass(eq=False)
class ThreadIndex(Expression):
    """This thread's index along axis 0 (x) or 1 (y), a weak int."""

    axis: int


@dataclass(eq=False)
class GridSize(Expression):
    """Number of threads of the launch along an axis, a weak int."""

    axis: int


@dataclass(eq=False)
class Atomic(Expression):
    """Read, combine and write a place as one step; the result is the old value. ``compare`` only
    for ``cas``. The element type is a scalar, or a reference for ``exch`` and ``cas``. ``count``:
    the threads of a warp add in their order."""

    operator: Literal["add", "sub", "min", "max", "exch", "cas", "count"]
    place: Place
    value: Expression
    compare: Expression | None = None


# --------------------------------------------------------------------- places


@dataclass(eq=False)
class FieldPlace:
    """Field ``name``, declared by ``owner``, of an object."""

    type: Type
    location: Location
    object: Expression
    owner: ClassType
    name: str


@dataclass(eq=False)
class ElementPlace:
    """Element of an ``oa.Array`` or a list. ``index`` is a weak int; when ``may_be_negative`` a
    negative one counts from the end, as in Python. With a ``neighbour`` it is the element so many
    places after ``index``, which then is a multiple of ``NEIGHBOURS``, of an array that begins at a
    multiple of 16 bytes; all elements up to ``NEIGHBOURS`` after ``index`` exist."""

    type: Type
    location: Location
    array: Expression
    index: Expression
    may_be_negative: bool
    neighbour: int | None = None


@dataclass(eq=False)
class InlinePlace:
    """Element of an inline array that lies at ``base``."""

    type: Type
    location: Location
    base: Place
    index: Expression
    may_be_negative: bool


@dataclass(eq=False)
class MemberPlace:
    """Field ``name`` of the value struct that lies at ``base``."""

    type: Type
    location: Location
    base: Place
    name: str


@dataclass(eq=False)
class TilePlace:
    """Memory that the threads of a block share, the kernel's tile ``number``; an inline array."""

    type: Type
    location: Location
    number: int
    name: str


Place = Union[TilePlace, FieldPlace, ElementPlace, InlinePlace, MemberPlace]


def is_own(place: Place) -> bool:
    """Whether a place is an element of a list, or part of one."""
    while isinstance(place, (InlinePlace, MemberPlace)):
        place = place.base
    return isinstance(place, ElementPlace) and isinstance(place.array.type, ListType)


def is_in_value(place: Place) -> bool:
    """Whether a place is part of a value struct, which is only written as a whole."""
    while isinstance(place, InlinePlace):
        place = place.base
    return isinstance(place, MemberPlace)


# ----------------------------------------------------------------- statements


@dataclass(eq=False)
class Statement:
    location: Location


@dataclass(eq=False)
class Assign(Statement):
    variable: Variable
    value: Expression


@dataclass(eq=False)
class Store(Statement):
    """Evaluate ``value``, then the parts of ``place``, then write: Python's order."""

    place: Place
    value: Expression


@dataclass(eq=False)
class AugmentedStore(Statement):
    """``place op= value``: the parts of ``place`` are evaluated once. ``old`` stands, in ``value``,
    for what was read from the place; ``value`` is the whole new value."""

    place: Place
    old: Variable
    value: Expression


@dataclass(eq=False)
class Evaluate(Statement):
    value: Expression


@dataclass(eq=False)
class If(Statement):
    test: Expression
    then: list[Statement]
    otherwise: list[Statement]


@dataclass(eq=False)
class While(Statement):
    """``otherwise`` is Python's ``else`` clause: it runs when the loop ends without ``break``."""

    test: Expression
    body: list[Statement]
    otherwise: list[Statement]


@dataclass(eq=False)
class ForRange(Statement):
    """``for variable in range(start, stop, step)``; all weak ints, evaluated once, before the loop.
    Assigning to the variable in the body does not disturb the iteration; after the loop it keeps
    its last value, and an empty range leaves it untouched. A step of 0 ends the loop at once
    (debug mode reports it)."""

    variable: Variable
    start: Expression
    stop: Expression
    step: Expression
    body: list[Statement]
    otherwise: list[Statement]


@dataclass(eq=False)
class Break(Statement):
    pass


@dataclass(eq=False)
class Continue(Statement):
    pass


@dataclass(eq=False)
class Return(Statement):
    value: Expression | None


@dataclass(eq=False)
class Formatted:
    """An integer or a float of 64 bits that is said as Python's format ``spec`` says."""

    value: Expression
    spec: str


#: Text as it is, or a number.
Said = Union[str, Expression, Formatted]


@dataclass(eq=False)
class Assert(Statement):
    test: Expression
    message: abc.Sequence[Said]


@dataclass(eq=False)
class Require(Statement):
    """The reference is to an object: null is reported, as any use of it is."""

    value: Expression


@dataclass(eq=False)
class Print(Statement):
    """One item after another, nothing between; then ``end``."""

    items: list[Said]
    end: str


@dataclass(eq=False)
class Barrier(Statement):
    """``oa.syncthreads()``; only in kernels."""


class Fence(Statement):
    """``intrinsics.fence()``."""


# ------------------------------------------------------------------ functions


@dataclass(eq=False)
class Function:
    """One function of a program. ``parameters[0]`` of a method is the receiver (a ReferenceType for
    classes, a ValueType for value structs). Locals that may be read before they are assigned start
    at zero or null."""

    symbol: str
    name: str
    kind: Literal["kernel", "method", "func"]
    parameters: list[Variable]
    result: Type
    body: list[Statement]
    location: Location
    owner: ClassType | None = None
    #: The symbol of the way back that it was given.
    gradient: str | None = None


@dataclass(eq=False)
class Program:
    """A kernel with every function it can reach, by symbol. ``functions`` holds the kernel too."""

    kernel: Function
    functions: dict[str, Function] = field(default_factory=dict)
