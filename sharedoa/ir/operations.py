"""The kinds of operations, and what each does: declared here once, and asked by every pass.

An operation whose kind nobody declared may do anything: it reads and writes all memory, differs
from thread to thread, speaks to the host, and waits for others. Passes never list kinds to find out
what is harmless; they ask ``effects_of``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, Flag, auto
from functools import cached_property

from dispatch.dataclass import dataclass

from .core import Operation, Region


class Effects(Flag):
    """What an operation does beside computing its results from its operands."""

    NOTHING = 0
    #: Reads memory of objects or arrays.
    READS = auto()
    #: Changes memory of objects or arrays.
    WRITES = auto()
    #: Reads and changes as one step, which other threads see as a whole.
    ATOMIC = auto()
    #: Its results differ between threads, or launches, that have the same operands.
    ASKS_THREAD = auto()
    #: Runs functions of the program, which do what they do.
    CALLS = auto()
    #: Ends a round of the loop that it is in, or that loop.
    LEAVES_LOOP = auto()
    #: Ends its function.
    RETURNS = auto()
    #: May go on for ever.
    LINGERS = auto()
    #: Tells the host something.
    REPORTS = auto()
    #: May end the thread where CPython runs it; compiled code reports and goes on.
    RAISES = auto()
    #: Waits for other threads.
    WAITS = auto()
    #: Begins or ends objects, or asks whether they live.
    LIVES = auto()
    #: Makes memory that only this thread can reach, or says where in it something lies.
    OWNS = auto()
    #: Something that is not declared.
    UNKNOWN = auto()


EVERYTHING = Effects(0)
for _each in Effects:
    EVERYTHING |= _each

#: Of operations that may go if nobody uses what they make, and may be repeated.
PURE = Effects.NOTHING


class Adjoint(Enum):
    """How reverse mode treats an operation (``ir.adjoint``)."""

    #: What it makes is constant to gradients, and nothing of it is to be reversed.
    CONSTANT = auto()
    #: ``ir.adjoint`` has a rule for its kind.
    RULE = auto()


@dataclass(frozen=True)
class Kind:
    """A kind of operations. ``effects`` leaves out what its regions do. ``attributes`` are those
    that it must have. ``checked``: debug mode looks at its operands, and may report."""

    name: str
    effects: Effects = EVERYTHING
    attributes: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    operands: int | None = None
    results: int | None = 1
    regions: int | None = 0
    is_terminator: bool = False
    #: Rounds of its regions but the last end by ``continue``, and it by ``break``.
    is_loop: bool = False
    #: Machine instructions, roughly; what a kind costs that nobody described is very much.
    cost: int = 1
    checked: bool = False
    #: All it reads is of which class an object is, which never changes.
    reads_class: bool = False
    #: It may be computed of whatever there is: it faults on nothing.
    is_total: bool = False
    #: Threads of one launch that give it the same operands get the same results.
    of_launch: bool = False
    #: None: it cannot be differentiated, and who tries is told so.
    adjoint: Adjoint | None = None

    # Asked of every operation of a program, and flags of Python are slow.

    @cached_property
    def changes(self) -> bool:
        """Whether it changes memory of objects or arrays."""
        return bool(self.effects & (Effects.WRITES | Effects.ATOMIC))

    @cached_property
    def calls(self) -> bool:
        """Whether it runs functions of the program."""
        return Effects.CALLS in self.effects

    @cached_property
    def is_unknown(self) -> bool:
        """Whether it does something that is not declared."""
        return Effects.UNKNOWN in self.effects

    @cached_property
    def required(self) -> frozenset[str]:
        """The attributes that it must have."""
        return frozenset(self.attributes)

    @cached_property
    def possible(self) -> frozenset[str]:
        """The attributes that it may have."""
        return self.required.union(self.optional)


_KINDS: dict[str, Kind] = {}
_UNDECLARED_COST = 1024


def declare(kind: Kind) -> Kind:
    """Make a kind known. Raises ValueError if there is one of that name."""
    if kind.name in _KINDS:
        raise ValueError(f"there is an operation {kind.name}")
    _KINDS[kind.name] = kind
    return kind


def kind_of(operation: Operation) -> Kind | None:
    """What was declared of its kind, if anything."""
    return _KINDS.get(operation.kind)


def effects_of(operation: Operation) -> Effects:
    """What the operation does, with all that is done in its regions."""
    kind = _KINDS.get(operation.kind)
    if kind is None:
        return EVERYTHING
    found = kind.effects
    for region in operation.regions:
        within = effects_in(region)
        if kind.is_loop and region is not operation.regions[-1]:
            within &= ~Effects.LEAVES_LOOP  # the loop is this one
        found |= within
    return found


def effects_in(region: Region) -> Effects:
    """What the operations of a region do together."""
    found = Effects.NOTHING
    for operation in region.operations:
        found |= effects_of(operation)
    return found


def cost_of(operation: Operation) -> int:
    """Machine instructions of the operation by itself, roughly."""
    kind = _KINDS.get(operation.kind)
    if kind is None:
        return _UNDECLARED_COST
    refine = _COSTS.get(operation.kind)
    return kind.cost if refine is None else refine(operation)


_LONG = 16
_LONG_OPERATORS = frozenset({"truediv", "floordiv", "mod", "pow"})
_COSTS: dict[str, Callable[[Operation], int]] = {
    "binary": lambda operation: _LONG if operation["operator"] in _LONG_OPERATORS else 1,
}


_CONSTANT, _RULE = Adjoint.CONSTANT, Adjoint.RULE


def _pure(
    name: str,
    *attributes: str,
    operands: int | None = None,
    cost: int = 0,
    checked: bool = False,
    total: bool = False,
    adjoint: Adjoint | None = _CONSTANT,
) -> None:
    declare(
        Kind(
            name,
            PURE,
            attributes,
            operands=operands,
            cost=cost,
            checked=checked,
            is_total=total,
            adjoint=adjoint,
        )
    )


# ------------------------------------------------------------------ computing

_pure("constant", "value", operands=0, total=True)
#: 0, 0.0, false, null, or a compound of them.
_pure("zero", operands=0, total=True)
#: Memory of zeros of so many bytes that is no object's; it is read where no object is to be.
_pure("nothing", "bytes", operands=0, total=True, adjoint=None)
#: A value that nobody looks at.
_pure("anything", operands=0, total=True)
#: The same value, of which compilers do not know that.
_pure("opaque", operands=1, adjoint=_RULE)
#: The first operand, which compilers believe to be known when all of them are, and no earlier.
_pure("together", cost=1, total=True, adjoint=None)
#: Scalar to scalar, as ``frontend.tree.Convert`` says, or a reference as one to another class.
_pure("convert", operands=1, adjoint=_RULE, total=True)
_pure("truth", operands=1, total=True)
_pure("unary", "operator", operands=1, cost=1, adjoint=_RULE, total=True)
_pure("binary", "operator", operands=2, checked=True, adjoint=_RULE)
_pure("compare", "operator", operands=2, cost=1, total=True)
#: ``operands[1] if operands[0] else operands[2]``; both are computed.
_pure("select", operands=3, cost=1, adjoint=_RULE, total=True)
_pure("length", operands=1, total=True)
_pure("make_value", adjoint=_RULE, total=True)
_pure("value_field", "name", operands=1, adjoint=_RULE, total=True)
#: An inline array that is no memory, from its elements or rows; and an element of one, by an index
#: for each of its lengths, of which each may be negative or not.
_pure("make_inline", adjoint=_RULE)
_pure("inline_item", "may_be_negative", cost=1, checked=True, adjoint=_RULE)
_pure("make_tuple", adjoint=_RULE, total=True)
_pure("tuple_item", "index", operands=1, adjoint=_RULE, total=True)
_pure("math", "name", cost=_LONG, adjoint=_RULE, total=True)
#: A number of a ``ConstantTable``: an index for each of its axes; some ``may_be_negative``.
_pure("table_element", "table", "may_be_negative", cost=2, checked=True)

# -------------------------------------------------------------------- threads

declare(Kind("thread_index", Effects.ASKS_THREAD, ("axis",), operands=0, cost=0, adjoint=_CONSTANT))
declare(
    Kind(
        "grid_size",
        Effects.ASKS_THREAD,
        ("axis",),
        operands=0,
        cost=0,
        of_launch=True,
        adjoint=_CONSTANT,
    )
)

# --------------------------------------------------------------------- memory

#: Lvalues. They say where something lies and touch nothing there.
_pure("field", "owner", "name", operands=1, checked=True)
#: Memory that the threads of a block share, which each block has its own of: an inline array.
declare(Kind("tile", Effects.ASKS_THREAD, ("number", "name"), operands=0, cost=0))
#: Element of an array; ``neighbour``: so many places after the index, which is a multiple of
#: NEIGHBOURS then.
declare(
    Kind(
        "element",
        PURE,
        ("may_be_negative",),
        ("neighbour",),
        operands=2,
        cost=0,
        checked=True,
        adjoint=_CONSTANT,
    )
)
#: A list of the operands, ``repeat`` times one after another; a new one each time. Elements of it
#: are read and written as all memory is; no other thread ever does.
declare(Kind("list", Effects.OWNS, ("repeat",), cost=4, adjoint=_RULE))
declare(
    Kind(
        "list_element",
        Effects.OWNS,
        ("may_be_negative",),
        operands=2,
        cost=0,
        checked=True,
        adjoint=_CONSTANT,
    )
)
_pure("inline_element", "may_be_negative", operands=2, checked=True)
_pure("member", "name", operands=1)

#: Part of an array, as an array: so many elements from an index on.
_pure("slice", operands=3, cost=1)
#: Row of an array that lies row by row: the array, the index, the numbers of rows and columns.
_pure("row", "may_be_negative", operands=4, cost=1, checked=True)

declare(Kind("load", Effects.READS, operands=1, adjoint=_RULE))
#: The value, then the lvalue.
declare(Kind("store", Effects.WRITES, operands=2, results=0, adjoint=_RULE))
#: The lvalue, what to compare with (``cas``), the value; the result is what was there.
#: ``combined``: threads of a warp are likely to add to one place, and do so together if they are.
declare(Kind("atomic", Effects.ATOMIC, ("operator",), ("combined",), adjoint=_RULE))
#: The threads of a warp add the value in their order, 256 elements at most from each other; the
#: result is what was there. All of them come to it together.
declare(Kind("count", Effects.ATOMIC | Effects.WAITS, operands=2))
#: Something that will be loaded soon lies there, if anything does; to say so in one of ``every``
#: threads in a row is enough.
declare(Kind("prefetch", PURE, ("every",), operands=1, results=0))
#: Whether an object is of one of the classes; null is of none.
declare(
    Kind(
        "type_test", Effects.READS, ("cls", "matching"), ("candidates", "identify"),
        operands=1, checked=True, reads_class=True, adjoint=_CONSTANT,
    )
)  # fmt: skip
#: Element of an array that is a run: the reference is computed (``passes.runs``).
declare(
    Kind(
        "run_element", PURE, ("form", "may_be_negative"), ("lane",), operands=2, checked=True,
        is_total=True,
    )
)  # fmt: skip

# -------------------------------------------------------------------- objects

#: A new object of the class, whose fields hold anything; null if there is no room. ``entry``: that
#: of its class in the birth table, with the thread's number as operand (``passes.number_threads``).
declare(Kind("new", Effects.LIVES | Effects.ASKS_THREAD, ("cls",), ("entry",), cost=16))
#: Ends an object; whether it lived, and nobody else has ended it. Null never lives. Of one that
#: lived when the launch began the bytes of its region and its slot may be given
#: (``passes.own_bytes``).
declare(Kind("delete", Effects.LIVES, cost=16))
declare(Kind("is_alive", Effects.LIVES, operands=1, cost=16))

# ---------------------------------------------------------------------- calls

declare(Kind("call", Effects.CALLS, ("symbol",), results=None, cost=0, adjoint=_RULE))
#: The receiver, then the arguments; ``candidates``: every concrete class that it may have, but so
#: many ``without_objects``. Its meaning is a load of the object's vtable pointer
#: (``ptxpass.ir.sites``); ``passes.dispatch`` notes what it becomes.
declare(
    Kind(
        "call_virtual", Effects.CALLS | Effects.READS, ("cls", "method", "slot", "candidates"),
        ("without_objects", "identify", "decision", "reason"),
        results=None, cost=4, checked=True, reads_class=True, adjoint=_RULE,
    )
)  # fmt: skip

# -------------------------------------------------------------------- control

#: Two regions; results are what the arm that was run yields.
declare(Kind("if", PURE, operands=1, results=None, regions=2, adjoint=_RULE))
#: As ``if``, by an integer: ``cases`` are the numbers of each region but the last, which is run for
#: all others.
declare(Kind("switch", PURE, ("cases",), operands=1, results=None, regions=None, adjoint=_RULE))
#: Operands: start, stop, step, then what the first round begins with. Regions: the body, with the
#: counter and what is carried from round to round, and what runs when no round is left, which has
#: what was carried and yields the results. Leaving by ``break`` gives the results instead.
declare(
    Kind(
        "for",
        PURE,
        (),
        ("copies", "shared", "written_out"),
        results=None,
        regions=2,
        is_loop=True,
        checked=True,
        adjoint=_RULE,
    )
)
#: Operands: what the first round begins with. Regions: the test, the body, and what runs when the
#: test fails; each has what is carried.
declare(Kind("while", Effects.LINGERS, results=None, regions=3, is_loop=True, adjoint=_RULE))


def _terminator(name: str, effects: Effects, operands: int | None = None) -> None:
    declare(
        Kind(name, effects, operands=operands, results=0, is_terminator=True, cost=0, adjoint=_RULE)
    )


#: Ends an arm, or the last region of a loop.
_terminator("yield", PURE)
#: Ends the test of a ``while``: whether a round comes, then what it is given.
_terminator("condition", PURE)
#: Ends a round of the innermost loop.
_terminator("continue", Effects.LEAVES_LOOP)
_terminator("break", Effects.LEAVES_LOOP)
_terminator("return", Effects.RETURNS)
#: Control does not come here.
_terminator("unreachable", PURE, 0)

# -------------------------------------------------------------------- signals

declare(
    Kind("assert", Effects.REPORTS | Effects.RAISES, ("message",), results=0, adjoint=_CONSTANT)
)
#: ``items``: strings, and None for the operands in turn.
#: Null is reported.
declare(
    Kind(
        "require",
        Effects.REPORTS | Effects.RAISES,
        operands=1,
        results=0,
        checked=True,
        adjoint=_CONSTANT,
    )
)
declare(Kind("print", Effects.REPORTS, ("items", "end"), results=0, adjoint=_CONSTANT))
declare(Kind("barrier", Effects.WAITS, operands=0, results=0))
#: What the thread does in memory before it comes before what it does after it, for other blocks.
declare(Kind("fence", Effects.WAITS, operands=0, results=0))

# ------------------------------------------------------------------ gradients

#: The place of the adjoint of what lies at an lvalue: so many bytes from it. Elements of lists stay
#: where they are.
_pure("shadow", operands=2, adjoint=None)
#: Words of the thread's own tape, where those of ``lanes`` threads lie by turns: the tape from its
#: first word on, the number of the first word, and for a write the value. No launch reads what it
#: writes there.
declare(Kind("frame_write", Effects.OWNS | Effects.REPORTS, ("lanes",), operands=3, results=0))
_pure("frame_read", "lanes", operands=2, adjoint=None)
