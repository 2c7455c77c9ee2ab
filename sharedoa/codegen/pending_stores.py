"""Stores that wait until the loads of the statements that follow are under way.

On a GPU a load that stands behind a store waits for whatever the store waits for, as ptxas knows
nothing of what cannot be the same place: copying an object field by field takes as many times as
long as memory answers as it has fields. So in a sequence of plain stores values are read first, as
many as a few registers hold, and then written, in the same order. A statement that may read or
write what a store before it changed (``roles`` tells; elements of an inline array with different
constant indices are different places), calls, and every other kind of statement end the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..frontend import tree
from ..frontend.walk import nodes_in
from .emitter import FunctionEmitter, PendingStore, integer, lets_stores_wait
from .roles import Role, may_meet, role_of

_MOST_ROUNDS = 16
"""Of a loop that does nothing but copy."""
_MOST_BYTES = 96
"""Of values that wait; a thread has registers for about twice as many."""
_PLAIN = (
    tree.Constant, tree.Null, tree.Local, tree.Convert, tree.Truth, tree.Unary, tree.Binary,
    tree.Compare, tree.Load, tree.ArrayLength, tree.MakeValue, tree.ValueField, tree.MakeTuple,
    tree.TupleItem, tree.FieldPlace, tree.ElementPlace, tree.InlinePlace, tree.MemberPlace,
)  # fmt: skip
_PLACES = (tree.FieldPlace, tree.ElementPlace, tree.InlinePlace, tree.MemberPlace)


@lets_stores_wait(tree.Store)
@lets_stores_wait(tree.AugmentedStore)
def _is_for_device(emitter: FunctionEmitter, node: tree.Statement) -> bool:
    # Processors look far enough ahead by themselves; checks write one by one.
    return emitter.program.target.is_device and not emitter.program.debug


@lets_stores_wait(tree.ForRange)
def is_copied(emitter: FunctionEmitter, node: tree.ForRange) -> bool:
    """Whether the loop is written out: it stores a few times to elements that its counter names,
    and does nothing else."""
    if node.otherwise or not _is_for_device(emitter, node) or _numbers_of(node) is None:
        return False
    stores = all(isinstance(each, tree.Store) for each in node.body)
    return stores and all(isinstance(part, (*_PLAIN, tree.Store)) for part in nodes_in(node.body))


def emit_copies(emitter: FunctionEmitter, node: tree.ForRange) -> None:
    """Such a loop, round by round; its stores wait like others."""
    numbers = _numbers_of(node)
    assert numbers is not None
    for number in numbers:
        emitter.numbers[node.variable] = number
        with emitter.standing_in({node.variable: integer(number)}, []):
            for each in node.body:
                emitter.run_one(each)
    del emitter.numbers[node.variable]
    emitter.assign(node.variable, integer(numbers[-1]))


def settle_before(emitter: FunctionEmitter, node: tree.Store | tree.AugmentedStore) -> None:
    """Make the stores that wait if ``node`` may read or change what they do, or all together take
    too many registers."""
    if not emitter.pending:
        return
    size = _bytes(emitter, node.place) + sum(each.bytes for each in emitter.pending)
    touched = _touched(node, emitter.numbers)
    if size > _MOST_BYTES or touched is None or _meet(touched, emitter.pending):
        emitter.settle()


def write_soon(emitter: FunctionEmitter, place: tree.Place, write: Callable[[], None]) -> None:
    """Let ``write``, which stores to ``place``, wait."""
    path = _path_of(place, emitter.numbers)
    emitter.pending.append(PendingStore(path, _bytes(emitter, place), write))


def _bytes(emitter: FunctionEmitter, place: tree.Place) -> int:
    return emitter.program.layout.dtype(place.type).itemsize


def _path_of(place: tree.Place, numbers: dict[tree.Variable, int]) -> Role:
    """Where a place lies. ``numbers`` are variables whose values are known."""
    return role_of(place, lambda index: _number(index, numbers))


def _numbers_of(node: tree.ForRange) -> range | None:
    """What the loop counts, if that is known and little."""
    bounds = [_number(bound, {}) for bound in (node.start, node.stop, node.step)]
    if None in bounds or bounds[2] == 0:
        return None
    found = range(*(bound for bound in bounds if bound is not None))
    return found if 0 < len(found) <= _MOST_ROUNDS else None


def _touched(node: Any, numbers: dict[tree.Variable, int]) -> set[Role] | None:
    """Everything that a statement reads or writes; None if it does more than that."""
    parts = [part for part in nodes_in(node) if part is not node]
    if not all(isinstance(part, _PLAIN) for part in parts):
        return None
    return set(_paths(parts, numbers))


def _paths(parts: list[Any], numbers: dict[tree.Variable, int]) -> Iterator[Role]:
    inner = {id(p.base) for p in parts if isinstance(p, (tree.InlinePlace, tree.MemberPlace))}
    for part in parts:
        if isinstance(part, _PLACES) and id(part) not in inner:
            yield _path_of(part, numbers)


def _meet(paths: set[Role], pending: Sequence[PendingStore]) -> bool:
    """Whether one of the paths may be one that waits, or part of it, or the other way round."""
    return any(may_meet(path, each.path) for path in paths for each in pending)


def _number(index: tree.Expression, numbers: dict[tree.Variable, int]) -> int | None:
    if isinstance(index, tree.Constant) and isinstance(index.value, int):
        return index.value
    if isinstance(index, tree.Local):
        return numbers.get(index.variable)
    return None
