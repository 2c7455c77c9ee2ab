"""Stores that wait until the loads of the statements that follow are under way.

On a GPU a load that stands behind a store waits for whatever the store waits for, as ptxas knows
nothing of what cannot be the same place: copying an object field by field takes as many times as
long as memory answers as it has fields. So in a sequence of plain stores values are read first, as
many as a few registers hold, and then written, in the same order. A statement that may read or
write what a store before it changed (``roles`` tells; elements of an inline array with different
constant indices are different places), calls, and every other kind of statement end the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from ..frontend import tree
from ..frontend.walk import nodes_in
from .emitter import FunctionEmitter, PendingStore, integer, lets_stores_wait
from .roles import element_role, field_role

#: A role, then the constant index of an element of an inline array, then members.
Path = tuple[Hashable, ...]

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
    path = path_of(place, emitter.numbers)
    emitter.pending.append(PendingStore(path, _bytes(emitter, place), write))


def _bytes(emitter: FunctionEmitter, place: tree.Place) -> int:
    return emitter.program.layout.dtype(place.type).itemsize


def path_of(place: tree.Place, numbers: dict[tree.Variable, int]) -> Path:
    """Where a place lies. ``numbers`` are variables whose values are known."""
    if isinstance(place, tree.FieldPlace):
        return field_role(place)
    if isinstance(place, tree.ElementPlace):
        return element_role(place.type)
    if isinstance(place, tree.MemberPlace):
        return (*path_of(place.base, numbers), place.name)
    base, index = path_of(place.base, numbers), _number(place.index, numbers)
    # An element that is not known may be any, whatever is part of it.
    return base if index is None or index < 0 else (*base, index)


def _numbers_of(node: tree.ForRange) -> range | None:
    """What the loop counts, if that is known and little."""
    bounds = [_number(bound, {}) for bound in (node.start, node.stop, node.step)]
    if None in bounds or bounds[2] == 0:
        return None
    found = range(*(bound for bound in bounds if bound is not None))
    return found if 0 < len(found) <= _MOST_ROUNDS else None


def _touched(node: Any, numbers: dict[tree.Variable, int]) -> set[Path] | None:
    """Everything that a statement reads or writes; None if it does more than that."""
    parts = [part for part in nodes_in(node) if part is not node]
    if not all(isinstance(part, _PLAIN) for part in parts):
        return None
    return set(_paths(parts, numbers))


def _paths(parts: list[Any], numbers: dict[tree.Variable, int]) -> Iterator[Path]:
    inner = {id(p.base) for p in parts if isinstance(p, (tree.InlinePlace, tree.MemberPlace))}
    for part in parts:
        if isinstance(part, _PLACES) and id(part) not in inner:
            yield path_of(part, numbers)


def _meet(paths: set[Path], pending: Sequence[PendingStore]) -> bool:
    """Whether one of the paths may be one that waits, or part of it, or the other way round."""
    return any(
        all(a == b for a, b in zip(path, each.path, strict=False))
        for path in paths
        for each in pending
    )


def _number(index: tree.Expression, numbers: dict[tree.Variable, int]) -> int | None:
    if isinstance(index, tree.Constant) and isinstance(index.value, int):
        return index.value
    if isinstance(index, tree.Local):
        return numbers.get(index.variable)
    return None
