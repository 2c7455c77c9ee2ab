"""What the threads of a launch do to memory: each to what is its own, and to what others reach.

A thread's own is the element at its index of an array that the launch is given, and the object that
such an element refers to; whether two threads have the same object only the launch knows. All else
counts as reached by any thread: what a reference or an array leads to that is given as it is
(*uniform*), and what is found in memory (*other*). A virtual call does what any of its candidates
does. It is asked with ``summary``'s words, and goes through functions for what each is given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator
from typing import Literal, NamedTuple

from dispatch.dataclass import dataclass, field

from ..location import Location
from ..model.classes import ClassType
from ..model.scalars import ScalarType, boolean
from ..model.types import ArrayType, ReferenceType
from ..targets.mathematics import EXACT_FUNCTIONS
from .core import (
    Candidate,
    Function,
    LvalueType,
    Operation,
    Program,
    Value,
    behind,
    element_of,
    operations_in,
    root_of,
    unconverted,
)
from .operations import EVERYTHING as EVERY_EFFECT
from .operations import PURE, Effects, kind_of
from .passes.calls import is_known
from .roles import EVERYTHING, Role, role_of
from .summary import NOTICED, How, ways_of
from .tested_fields import NOTHING, Passed, Tested, Tests

Via = Literal["own element", "own object", "own reference", "uniform", "other"]
Field = tuple[ClassType, str]
"""The class that declares it, and its name."""


class Reach(NamedTuple):
    """What an access goes through; ``parameter``: that of the kernel from which it comes. An *own
    reference* is what the thread's own object refers to by ``field``, which is no other thread's if
    these are all different."""

    via: Via
    parameter: int | None = None
    field: Field | None = None

    @property
    def is_own(self) -> bool:
        return self.via in ("own element", "own object", "own reference")


OTHER = Reach("other")


class ThreadAccess(NamedTuple):
    """``is_exact``: that the order of several atomics of this kind makes no difference at all, as
    they are of integers. ``tested``: what the object has passed to which the thread comes so."""

    how: How
    role: Role
    reach: Reach
    is_exact: bool
    tested: frozenset[Tested] = NOTHING


@dataclass
class ThreadAccesses:
    """Of a program: its ``accesses``, each with a line that has it; ``effects`` among those that
    summaries tell, with a line. ``constants``: roles to which something may be stored that is known
    when code is compiled, ``tested`` those of which branches may tell compilers what is in them;
    ``inexact``: a line with a function of which LLVM computes another number
    then than the machine does. ``tells``: a line that tells the host something although nothing
    went wrong."""

    accesses: dict[ThreadAccess, Location] = field(default_factory=dict)
    effects: dict[Effects, Location] = field(default_factory=dict)
    constants: set[Role] = field(default_factory=set)
    tested: set[Role] = field(default_factory=set)
    inexact: Location | None = None
    uses_tiles: Location | None = None
    tells: Location | None = None


class _Given(NamedTuple):
    """What is known of a parameter or another value. ``is_constant``: it may be known when code is
    compiled; ``tested``: what an object has passed."""

    what: Literal["thread", "array", "own object", "own reference", "uniform", "number", "unknown"]
    parameter: int | None = None
    is_constant: bool = False
    field: Field | None = None
    tested: frozenset[Tested] = NOTHING


_NUMBER = _Given("number")
_UNKNOWN, _MAYBE_CONSTANT = _Given("unknown"), _Given("unknown", None, True)
_DECIDING = ("if", "switch", "condition", "select")
_ORDERS = ("lt", "le", "gt", "ge")
_MOST_TESTED = 8
"""How many different tests are told apart of what is otherwise the same: methods that test
something and call others meet as many as there are ways through them."""
_INDEX_BYTES = 4
"""Threads along an axis are numbered in 31 bits."""


def thread_accesses(
    program: Program, on_device: bool, populated: Collection[int] | None = None
) -> ThreadAccesses:
    """Of all threads of a launch along one axis. ``populated``: type indices of the classes that
    have objects; None: any may. ``on_device``: code is not for a processor."""
    found = ThreadAccesses()
    if not all(map(is_known, operations_in(program))):
        _everything(found, program.kernel.location)
        return found
    given = tuple(_of_type(value, number) for number, value in enumerate(program.kernel.parameters))
    _Walk(program, on_device, populated, found).function(program.kernel, given)
    return found


def _everything(found: ThreadAccesses, location: Location) -> None:
    for how in ("read", "write"):
        found.accesses[ThreadAccess(how, EVERYTHING, OTHER, False)] = location
    for effect in EVERY_EFFECT & NOTICED:
        found.effects[effect] = location
    found.tells = location


def _of_type(parameter: Value, number: int) -> _Given:
    if isinstance(parameter.type, ArrayType):
        return _Given("array", number)
    if isinstance(parameter.type, ReferenceType):
        return _Given("uniform", number)
    return _NUMBER


class _Walk:
    """Goes through a program from its kernel, once for each choice of what a function is given."""

    def __init__(
        self,
        program: Program,
        on_device: bool,
        populated: Collection[int] | None,
        found: ThreadAccesses,
    ) -> None:
        self._functions, self._on_device = program.functions, on_device
        self._populated, self._found = populated, found
        self._tests = Tests(program.functions, self.candidates)
        #: Whether what a function returns may be a constant, by what it is given.
        self._seen: dict[tuple[str, tuple[_Given, ...]], bool] = {}
        #: With which tests functions and accesses were met that are otherwise the same.
        self._met: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
        self._open: list[str] = []

    def function(self, function: Function, given: tuple[_Given, ...]) -> bool:
        """Note what it does; whether its result may be a constant."""
        if function.symbol in self._open:
            # A circle: what it is given the next time may be anything.
            given = tuple(_MAYBE_CONSTANT for _ in given)
            self._note_effect(Effects.LINGERS, function.location)
        plain = tuple(each._replace(tested=NOTHING) for each in given)
        if not self._tells_apart((function.symbol, plain), given):
            given = plain
        key = function.symbol, given
        if key in self._seen:
            return self._seen[key]
        self._seen[key] = True
        self._open.append(function.symbol)
        values = _Values(function, given)
        returns = False
        passed = dict(zip(function.parameters, (each.tested for each in given), strict=True))
        for operation, tested in self._tests.operations(function, passed):
            self._operation(operation, values, tested)
            if operation.kind == "return":
                returns |= any(values.may_be_constant(each) for each in operation.operands)
        self._open.pop()
        self._seen[key] = returns
        return returns

    def _tells_apart(self, plain: Hashable, tested: Hashable) -> bool:
        """Whether something that has been met with such tests is another one than without."""
        met = self._met[plain]
        if len(met) < _MOST_TESTED:
            met.add(tested)
        return tested in met

    def candidates(self, call: Operation) -> Iterator[str]:
        """The functions that a call may run."""
        if call.kind == "call":
            yield call["symbol"]
            return
        every: tuple[Candidate, ...] = call["candidates"]
        met = (c for c in every if self._populated is None or c.type_index in self._populated)
        yield from dict.fromkeys(each.symbol for each in met)

    def called(self, call: Operation, values: _Values, passed: Passed) -> bool:
        """Note what a call does; whether its result may be a constant."""
        given = tuple(
            values.given(operand)._replace(tested=passed.get(unconverted(operand), NOTHING))
            for operand in call.operands
        )
        symbols = [*self.candidates(call)]
        # All are looked at.
        constants = [self.function(self._functions[symbol], given) for symbol in symbols]
        return any(constants)

    def _operation(self, operation: Operation, values: _Values, passed: Passed) -> None:
        kind = kind_of(operation)
        assert kind is not None
        for effect in kind.effects & NOTICED & ~(Effects.ASKS_THREAD | Effects.OWNS):
            self._note_effect(effect, operation.location)
        if operation.kind == "tile" and self._found.uses_tiles is None:
            self._found.uses_tiles = operation.location
        if Effects.REPORTS in kind.effects and Effects.RAISES not in kind.effects:
            self._found.tells = self._found.tells or operation.location
        if kind.calls:
            values.called[operation] = self.called(operation, values, passed)
            return
        if operation.kind in _DECIDING:
            self._found.tested |= values.tested(operation.operands[0])
        if self._found.inexact is None and not self._is_exact(operation):
            self._found.inexact = operation.location
        ways = ways_of(operation, values.used)
        lvalues = [each for each in operation.operands if isinstance(each.type, LvalueType)]
        if ways and not lvalues:
            self._note(ways, EVERYTHING, OTHER, False, NOTHING, operation.location)
        for lvalue in lvalues if ways else ():
            role = role_of(lvalue)
            if role[:1] == ("list",):
                continue  # memory of the thread's own, which ends with it
            type = element_of(lvalue)
            is_exact = isinstance(type, ScalarType) and not type.is_float
            root = root_of(lvalue)
            tested = NOTHING
            if root is not None and root.kind == "field":
                tested = passed.get(unconverted(root.operands[0]), NOTHING)
            self._note(ways, role, values.reach(lvalue), is_exact, tested, operation.location)
            if operation.kind == "store" and values.may_be_constant(operation.operands[0]):
                self._found.constants.add(role)

    def _note(
        self,
        ways: list[How],
        role: Role,
        reach: Reach,
        is_exact: bool,
        tested: frozenset[Tested],
        at: Location,
    ) -> None:
        for how in ways:
            plain = how, role, reach, is_exact
            known = tested if self._tells_apart(plain, tested) else NOTHING
            self._found.accesses.setdefault(ThreadAccess(*plain, known), at)

    def _note_effect(self, effect: Effects, at: Location) -> None:
        self._found.effects.setdefault(effect, at)

    def _is_exact(self, operation: Operation) -> bool:
        """Whether LLVM and the machine make the same of constants."""
        if operation.kind == "binary":
            return operation["operator"] != "pow" or not _is_float(operation.result)
        if operation.kind != "math" or operation["name"] in EXACT_FUNCTIONS:
            return True
        return self._on_device and operation["name"] != "pow"


def _effects_of(operation: Operation) -> Effects:
    """The declared effects of an operation."""
    kind = kind_of(operation)
    assert kind is not None
    return kind.effects


def _is_float(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type.is_float


class _Values:
    """What is known of the values of a function."""

    def __init__(self, function: Function, given: tuple[_Given, ...]) -> None:
        self._of = dict(zip(function.parameters, given, strict=True))
        self._constant: dict[Value, bool] = {}
        #: Of calls that the walk has come by, whether what they return may be a constant.
        self.called: dict[Operation, bool] = {}
        self.used = {each for o in operations_in(function) for each in o.operands}

    def given(self, value: Value) -> _Given:
        """What a value is when it is passed on."""
        plain = unconverted(value)
        known = self._of.get(plain)
        if known is not None and known.what not in ("thread", "number", "unknown"):
            return known
        if self._is_thread(value):
            return _Given("thread")
        mine = self._own_object(plain)
        if mine is not None:
            return _Given("own object", mine)
        referred = self._own_reference(plain)
        if referred is not None:
            return referred
        if not self._loaded(value):
            return _Given("number", None, self.may_be_constant(value))
        return _MAYBE_CONSTANT if self.may_be_constant(value) else _UNKNOWN

    def reach(self, lvalue: Value) -> Reach:
        """What an access to it goes through."""
        root = root_of(lvalue)
        if root is None or not root.operands:
            return OTHER
        base = unconverted(root.operands[0])
        if root.kind == "element":
            known = self._of.get(base)
            if known is None or known.what != "array":
                return OTHER
            mine = "neighbour" not in root.attributes and self._is_thread(root.operands[1])
            return Reach("own element" if mine else "uniform", known.parameter)
        if root.kind == "field":
            known = self.given(base)
            if known.what == "own object":
                return Reach("own object", known.parameter)
            if known.what == "own reference":
                return Reach("own reference", known.parameter, known.field)
            if known.what == "uniform":
                return Reach("uniform", known.parameter)
        return OTHER

    def _own_object(self, value: Value) -> int | None:
        """The parameter of the kernel that has the thread's object at its index."""
        made = value.source
        if made is None or made.kind != "load":
            return None
        place = made.operands[0].source
        if place is None or place.kind != "element":
            return None
        reach = self.reach(made.operands[0])
        return reach.parameter if reach.via == "own element" else None

    def _own_reference(self, value: Value) -> _Given | None:
        """What the thread's own object refers to, if the value is that."""
        made = value.source
        if made is None or made.kind != "load" or not isinstance(value.type, ReferenceType):
            return None
        place = made.operands[0].source
        if place is None or place.kind != "field":
            return None
        reach = self.reach(made.operands[0])
        if reach.via != "own object":
            return None
        return _Given("own reference", reach.parameter, False, (place["owner"], place["name"]))

    def _is_thread(self, value: Value) -> bool:
        """Whether it is the thread's index, of which no two threads have the same."""
        while True:
            if self._of.get(value, _UNKNOWN).what == "thread":
                return True
            made, type = value.source, value.type
            if made is None or not isinstance(type, ScalarType):
                return False
            if made.kind == "thread_index":
                return bool(made["axis"] == 0)
            if made.kind != "convert" or not type.is_integer:
                return False
            if type.dtype.itemsize < _INDEX_BYTES:
                return False
            value = made.operands[0]

    def tested(self, value: Value) -> set[Role]:
        """What memory holds that a branch on ``value`` may tell compilers. That a float is less
        than another one does not say which it is."""
        found: set[Role] = set()
        pending, seen = [value], {value}
        while pending:
            each = pending.pop()
            made = each.source
            if made is None or made.kind != "compare":
                is_pure = made is not None and not made.regions and _effects_of(made) == PURE
                if made is not None and is_pure:
                    new = [operand for operand in made.operands if operand not in seen]
                    pending += new
                    seen.update(new)
                else:
                    found |= self._loaded(each)
            elif made["operator"] not in _ORDERS or not _is_float(made.operands[0]):
                for operand in made.operands:
                    found |= self._loaded(operand)
        return found

    def _loaded(self, value: Value) -> set[Role]:
        """The roles of memory that a value is computed from; everything, if that is not known."""
        found: set[Role] = set()
        for each in behind(value, lambda made: not made.regions and _effects_of(made) == PURE):
            made, known = each.source, self._of.get(each)
            if made is None or made.regions:
                if known is None or known.what in ("unknown", "own reference"):
                    found.add(EVERYTHING)
            elif made.kind == "load":
                found.add(role_of(made.operands[0]))
            elif _effects_of(made) not in (PURE, Effects.ASKS_THREAD):
                found.add(EVERYTHING)
        return found

    def may_be_constant(self, value: Value) -> bool:
        """Whether compilers may find out what it is, or that it is one of a few numbers."""
        found = self._constant.get(value)
        if found is None:
            self._constant[value] = True
            found = self._constant[value] = self._may_be_constant(value)
        return found

    def _may_be_constant(self, value: Value) -> bool:
        known = self._of.get(value)
        if known is not None:
            return known.is_constant
        made = value.source
        if made is None or made.regions:
            return True
        kind = kind_of(made)
        assert kind is not None
        if kind.calls:
            return self.called[made]
        if kind.effects or made.kind == "length":
            return False
        operands = [self.may_be_constant(each) for each in made.operands]
        type = value.type
        if type == boolean:
            return True
        if made.kind == "select" or made.kind.startswith("make_"):
            return any(operands[made.kind == "select" :])
        if isinstance(type, ScalarType) and not type.is_float and made.kind == "binary":
            return any(operands) or len({*made.operands}) < len(made.operands)
        return all(operands)
