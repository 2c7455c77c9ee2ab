"""Whether a launch is given what one before was given: its arguments, bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from ..heap.arrays import Array, ObjectArray
from ..heap.heap import Heap, current_heap
from ..heap.run import RunOfObjects
from .geometry import Geometry

if TYPE_CHECKING:
    from .courses import Step
    from .launch import Program

Words = tuple[bytes, tuple[Any, ...]]
"""What the arguments of a launch are: what kernels take for them, and where runs begin."""

PLAIN, _ARRAYS = frozenset({int, float, bool}), frozenset({Array, ObjectArray})


def is_known_by_itself(argument: Any) -> bool:
    """Whether the very argument is what it was, as no value struct that somebody may change is."""
    cls = argument.__class__
    return cls in PLAIN or cls in _ARRAYS or cls is RunOfObjects


def are_same(known: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    """Whether numbers of Python and arrays, which ``known`` are or refers to, are the very same."""
    if len(known) != len(given):
        return False
    for a, b in zip(known, given, strict=True):
        if a is b:
            continue
        if a.__class__ is ref:
            if a() is not b:
                return False
        elif a.__class__ is not b.__class__ or not a == b != 0:
            return False
    return True


def _seen(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What ``are_same`` takes as known; nothing if there are other arguments."""
    if not all(each.__class__ in PLAIN or each.__class__ in _ARRAYS for each in arguments):
        return ()
    return tuple([ref(each) if each.__class__ in _ARRAYS else each for each in arguments])


def _runs(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    runs = [each._run for each in arguments if isinstance(each, (RunOfObjects, ObjectArray))]
    return tuple([run if run is None else (run.first, run.form) for run in runs])


def words_of(program: Program, arguments: tuple[Any, ...]) -> tuple[Words, Heap | None]:
    """What the arguments are, and the heap that they lie in."""
    slots = program.plan.new_slots()
    with program.lock:
        heap = program.plan.pack(slots, arguments)
    return (bytes(slots), _runs(arguments)), heap


def is_seen(step: Step, program: Program, geometry: Geometry, arguments: tuple[Any, ...]) -> bool:
    """Whether a launch is the step, whose arguments are known."""
    if step.program is not program or not arguments or not are_same(step.seen, arguments):
        return False
    # Arrays of objects may have come to be runs, or are none any more.
    for place, known in zip(step.lists, step.words[1], strict=True):
        run = arguments[place]._run
        if (run if run is None else (run.first, run.form)) != known:
            return False
    return step.geometry is geometry or step.geometry == geometry


def is_same(
    heap: Heap, step: Step, program: Program, geometry: Geometry, arguments: tuple[Any, ...]
) -> bool:
    """Whether a launch is the step."""
    if step.program is not program or step.geometry != geometry:
        return False
    if is_seen(step, program, geometry, arguments):
        return True
    words, found = words_of(program, arguments)
    if words != step.words or (found or current_heap()) is not heap:
        return False
    step.seen = _seen(arguments) if found is heap else ()
    if step.seen:
        step.lists = tuple([n for n, e in enumerate(arguments) if e.__class__ is ObjectArray])
    return True
