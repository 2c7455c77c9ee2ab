"""Loops whose iterations several threads may share: those of a GPU's warp take each other's, so
that a warp is not busy as long as its longest loop while most of its threads wait.

That is possible where iterations know nothing of each other: an iteration may read what it likes,
add to sums, minima and maxima of integers, in which order makes no difference, and store what may
be stored in any order (``loop_effects``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..model.types import ScalarType
from . import tree
from .loop_effects import Known, stored_fields
from .stale_variables import reads_stale
from .walk import nodes_in

Operator = Literal["add", "and", "or", "xor", "min", "max"]
_COMMUTATIVE: Mapping[str, Operator] = {"add": "add", "and": "and", "or": "or", "xor": "xor"}
_WIDTHS = (32, 64)


@dataclass(frozen=True)
class Reduction:
    """A variable into which every iteration combines a value; ``type`` is an integer's."""

    variable: tree.Variable
    operator: Operator

    @property
    def type(self) -> ScalarType:
        assert isinstance(self.variable.type, ScalarType)
        return self.variable.type


@dataclass(frozen=True)
class SharedLoop:
    """What an iteration takes from the thread whose loop it is, and what it gives back."""

    captured: tuple[tree.Variable, ...]
    #: Arrays among ``captured`` of which an iteration reads elements without asking for the length.
    indexed: frozenset[tree.Variable]
    reductions: tuple[Reduction, ...]


def shared_loops(program: tree.Program) -> dict[tree.ForRange, SharedLoop]:
    """The loops of the program that can be shared, none of which lies in another one of them."""
    found: dict[tree.ForRange, SharedLoop] = {}
    for function in program.functions.values():
        for loop in _outermost(function.body):
            _look_at(program, function, loop, found)
    return found


def _look_at(
    program: tree.Program,
    function: tree.Function,
    loop: tree.ForRange,
    found: dict[tree.ForRange, SharedLoop],
) -> None:
    """Note the loop, or those in it that can be shared if it cannot."""
    shared = _shared(program, function, loop)
    if shared is not None:
        found[loop] = shared
        return
    for inner in _outermost([*loop.body, *loop.otherwise]):
        _look_at(program, function, inner, found)


def _outermost(statements: Sequence[tree.Statement]) -> Iterator[tree.ForRange]:
    """The ``for`` loops among the statements that lie in no other one."""
    for node in statements:
        if isinstance(node, tree.ForRange):
            yield node
        elif isinstance(node, tree.If):
            yield from _outermost([*node.then, *node.otherwise])
        elif isinstance(node, tree.While):
            yield from _outermost([*node.body, *node.otherwise])


def _shared(
    program: tree.Program, function: tree.Function, loop: tree.ForRange
) -> SharedLoop | None:
    if not _counts_by_one(loop) or _leaves(loop.body):
        return None
    inside = list(nodes_in(loop.body))
    written = (n.variable for n in inside if isinstance(n, (tree.Assign, tree.ForRange)))
    in_order = _by_name(written)
    changed = set(in_order)
    if loop.variable in changed:
        return None
    reductions = [_reduction(variable, inside) for variable in in_order]
    combined = tuple(reduction for reduction in reductions if reduction is not None)
    private = changed - {reduction.variable for reduction in combined}
    left = {*private, loop.variable}
    if reads_stale(loop.body, private) or reads_stale(function.body, frozenset(), loop, left):
        return None
    captured = _captured(inside, {*changed, loop.variable})
    stored = stored_fields(program, loop.body, _knowledge(inside, captured, private))
    if stored is None or bool(stored) == bool(combined):
        return None  # neither does anything, and what is combined may be what was stored
    return SharedLoop(captured, _indexed(inside, captured), combined)


def _counts_by_one(loop: tree.ForRange) -> bool:
    """Whether that is so, and threads may count to ends far apart. Bounds that are chosen by
    ``min`` or ``max`` are those of a few neighbours."""
    step, stop = loop.step, loop.stop
    by_one = isinstance(step, tree.Constant) and step.value == 1
    is_fixed = isinstance(stop, tree.Constant) or any(
        isinstance(part, tree.Conditional) for part in nodes_in([loop.start, stop])
    )
    return by_one and not is_fixed and not loop.otherwise


def _leaves(statements: Sequence[tree.Statement], inner: bool = False) -> bool:
    """Whether the statements of a loop may end it before its time."""
    for node in statements:
        if isinstance(node, tree.Return) or (isinstance(node, tree.Break) and not inner):
            return True
        if isinstance(node, tree.If) and _leaves([*node.then, *node.otherwise], inner):
            return True
        if isinstance(node, (tree.ForRange, tree.While)) and (
            _leaves(node.body, True) or _leaves(node.otherwise, inner)
        ):
            return True
    return False


def _captured(inside: Sequence[object], own: set[tree.Variable]) -> tuple[tree.Variable, ...]:
    """Variables of the loop's thread that an iteration reads, in order of their names."""
    not_read = own | {n.variable for n in inside if isinstance(n, tree.Let)}
    read = (n.variable for n in inside if isinstance(n, tree.Local))
    return tuple(variable for variable in _by_name(read) if variable not in not_read)


def _by_name(variables: Iterable[tree.Variable]) -> list[tree.Variable]:
    """Each once, in an order that is the same in every process: it shows in the code, and so in the
    keys of its cache."""
    return sorted(dict.fromkeys(variables), key=lambda variable: variable.name)


def _indexed(
    inside: Sequence[object], captured: Sequence[tree.Variable]
) -> frozenset[tree.Variable]:
    used = Counter(n.variable for n in inside if isinstance(n, tree.Local))
    indexed = Counter(
        n.array.variable
        for n in inside
        if isinstance(n, tree.ElementPlace)
        and isinstance(n.array, tree.Local)
        and not n.may_be_negative
    )
    return frozenset(v for v in captured if used[v] == indexed[v])


def _knowledge(
    inside: Sequence[object], captured: Sequence[tree.Variable], private: set[tree.Variable]
) -> dict[tree.Variable, Known]:
    known = {variable: Known(variable, True) for variable in captured}
    assigned = [n.variable for n in inside if isinstance(n, tree.Assign)]
    # It is assigned before it is read, so all that read it see one value.
    once = (variable for variable in private if assigned.count(variable) == 1)
    known.update((variable, Known(variable)) for variable in once)
    return known


# ---------------------------------------------------------------------- reductions


def _reduction(variable: tree.Variable, inside: Sequence[object]) -> Reduction | None:
    """The reduction that a variable is, if an iteration does nothing with it but combine a value
    into it once."""
    type = variable.type
    if not isinstance(type, ScalarType) or not type.is_integer or type.bits not in _WIDTHS:
        return None
    writes = [
        n for n in inside if isinstance(n, (tree.Assign, tree.ForRange)) and n.variable is variable
    ]
    reads = sum(1 for n in inside if _is(n, variable))
    if len(writes) != 1 or not isinstance(writes[0], tree.Assign) or reads != 1:
        return None
    operator = _combines(writes[0].value, variable)
    return None if operator is None else Reduction(variable, operator)


def _combines(value: tree.Expression, variable: tree.Variable) -> Operator | None:
    """How ``value`` combines another one into ``variable``, which it reads once."""
    if isinstance(value, tree.Binary):
        is_combined = _is(value.left, variable) or _is(value.right, variable)
        return _COMMUTATIVE.get(value.operator) if is_combined else None
    if isinstance(value, tree.Let) and isinstance(value.body, tree.Let):
        outer, inner = value, value.body
        if _is(outer.value, variable) or _is(inner.value, variable):
            return _extreme(inner.body, outer.variable, inner.variable)
    return None


def _extreme(
    choice: tree.Expression, first: tree.Variable, second: tree.Variable
) -> Operator | None:
    """``second if second < first else first``, which is what ``min(first, second)`` becomes."""
    if not isinstance(choice, tree.Conditional) or not isinstance(choice.test, tree.Compare):
        return None
    test = choice.test
    if not (_is(test.left, second) and _is(test.right, first)):
        return None
    if not (_is(choice.then, second) and _is(choice.otherwise, first)):
        return None
    extremes: Mapping[str, Operator] = {"lt": "min", "gt": "max"}
    return extremes.get(test.operator)


def _is(node: object, variable: tree.Variable) -> bool:
    return isinstance(node, tree.Local) and node.variable is variable
