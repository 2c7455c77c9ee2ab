"""The programs of gradients: what each launch in the block of a tape runs, and what runs it
backwards.

Both are made of the program in SSA form (``ir.adjoint``) and compiled as all are, on every backend,
also where CPython runs kernels. They are made once for a program as it is then; what is defined
anew afterwards makes no difference to launches that were recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from dispatch.dataclass import dataclass, field

from .. import ir
from ..frontend import Translation, tree
from ..heap.arrays import Array, ObjectArray
from ..heap.heap import Heap
from ..ir.adjoint import Differentiated, differentiate
from ..ir.adjoint.again import Again
from ..ir.adjoint.counting import counting
from ..ir.adjoint.ownership import own_roles
from ..ir.adjoint.races import RaceFacts, race_facts
from ..ir.roles import Role, describe
from ..model.classes import Signature
from ..model.scalars import i64, u64
from ..model.types import VOID, ArrayType, Type
from ..tracebacks import short_place
from .argument_facts import are_apart, is_free_of_races, own_arrays
from .geometry import Geometry
from .launch import Program
from .launch_code import Launch
from .program_source import Source
from .tape_words import new_words


class _Derived(Translation):
    """Of a program that was made of another one, and rests on nothing else."""

    def __init__(self, program: ir.Program) -> None:
        super().__init__(cast(tree.Program, None), [])
        self.__dict__["ir"] = program


@dataclass(frozen=True, eq=False)
class Gradient:
    """How launches of a program are recorded, and reversed. Without ``forward`` they have nothing
    to do with floats in memory, and are launched as ever."""

    original: ir.Program
    made: Differentiated
    forward: Program | None
    reverse: Program | None
    #: Says before a launch how many words its threads need, where that is not known and can be.
    count: Program | None
    races: RaceFacts
    #: So many threads have their words of a tape by turns.
    lanes: int
    #: How many words threads of the last launch needed of which that was not known before.
    needed: list[int] = field(default_factory=lambda: [_FIRST_ROOM])

    def size(self, room: int, threads: int) -> int:
        """Words of a tape with so many of each thread."""
        return room * -(-threads // self.lanes) * self.lanes

    def explain(self, name: str) -> Iterator[str]:
        """Lines about launches of the program of that name; none if nothing is reversed."""
        made = self.made
        if made.reverse is None:
            return
        kept = f"{'at least ' if made.grows else ''}{8 * made.words} bytes of each thread are kept"
        again = {describe(each) for each in made.again.roles}
        parameters = self.original.kernel.parameters
        again.update(f"elements of {parameters[number].name}" for number in made.again.arrays)
        loaded = f"; loaded again: {', '.join(sorted(again))}" if again else ""
        yield f"{name}: {kept}{loaded}"
        for location in sorted(made.branches):
            place = short_place(location.file, location.line)
            yield (
                f"{place}: which way a thread goes depends on floats that may have adjoints; the "
                "derivative is that of the way that was taken"
            )

    def most(self, arguments: Sequence[Any]) -> int | None:
        """How many words each thread of a launch has at most, where that is known."""
        if self.made.bounds is None:
            return self.made.words
        found = self.made.bounds.words([_count(each) for each in arguments])
        return None if found is None else found + self.made.waste


_FIRST_ROOM = 64


def _count(argument: Any) -> int | None:
    """What ``Bounds.words`` is given of an argument."""
    if isinstance(argument, Array):
        return len(argument)
    return int(argument) if isinstance(argument, (int, np.integer)) else None


def gradient_of(
    program: Program,
    heap: Heap,
    are_distinct: bool,
    debug: bool,
    loads_again: bool = False,
    own: frozenset[int] = frozenset(),
) -> Gradient:
    """``are_distinct``: no object is twice among the receivers. ``loads_again`` and ``own``: as
    ``ir.adjoint.differentiate`` says.

    Raises CompileError for what cannot be reversed, with its place.
    """
    uses, facts = program.uses(), _facts(program, are_distinct)
    # Debug mode would take plain additions for races, whatever the order of threads.
    atomic = heap.debug or heap.backend.target.is_device
    warp = heap.backend.target.warp
    key = are_distinct, atomic, debug, 1 if warp is None else warp.width, loads_again, own
    found: Gradient | None = uses.derived.get(key)
    if found is None:
        found = uses.derived[key] = _made(program, uses.program, facts, *key[1:])
    return found


@dataclass(frozen=True)
class _Facts:
    """What is known of a program before it is differentiated. ``is_own``: whether no other thread
    adds to adjoints in a role."""

    is_own: Callable[[Role], bool]
    races: RaceFacts


def _facts(program: Program, are_distinct: bool) -> _Facts:
    uses, receivers = program.uses(), program.source.receivers
    found: _Facts | None = uses.derived.get(are_distinct)
    if found is None:
        is_own = own_roles(uses.program, receivers if are_distinct else 0)
        found = _Facts(is_own, race_facts(uses.program, receivers, is_own))
        uses.derived[are_distinct] = found
    return found


def _made(
    program: Program,
    original: ir.Program,
    facts: _Facts,
    atomic: bool,
    debug: bool,
    lanes: int,
    loads_again: bool,
    own: frozenset[int],
) -> Gradient:
    receivers, races = program.source.receivers, facts.races
    made = differentiate(
        original, receivers, facts.is_own, atomic, debug, lanes, loads_again, own,
        are_exact=program.source.are_exact,
    )  # fmt: skip
    if made.forward is None or made.reverse is None:
        return Gradient(original, made, None, None, None, races, lanes)
    words: list[tuple[str, Type]] = [("_tape", ArrayType(u64)), ("_room", i64)]
    more: list[tuple[str, Type]] = [("_used", ArrayType(i64))]
    count = counting(original, made.forward) if made.grows and not debug else None
    return Gradient(
        original,
        made,
        _derived(program, made.forward, [*words, *(more if made.grows else [])], "_forward", False),
        _derived(program, made.reverse, [*words, ("_distance", u64)], "_reverse", made.shares),
        None if count is None else _derived(program, count, [*words, *more], "_count", False),
        races,
        lanes,
    )


def _derived(
    program: Program,
    made: ir.Program,
    more: Sequence[tuple[str, Type]],
    ending: str,
    in_order: bool,
) -> Program:
    source = program.source
    names = *source.signature.names, *(name for name, _ in more)
    types = *source.signature.types, *(type for _, type in more)
    return Program(
        Source(
            f"{source.name}{ending}",
            Signature(names, types, VOID),
            lambda: _Derived(made),
            source.function,
            uses_barrier=False,
            calls_all=source.calls_all,
            receivers=source.receivers,
            keeps_arrays=source.keeps_arrays,
            is_derived=True,
            # Words of a thread and the distance of adjoints are other numbers in the next process:
            # making code for them takes blocks of steps ten times as long meanwhile.
            is_general=True,
            in_order=in_order,
            origin=source.origin,
        )
    )


Leave = Callable[[Again, Sequence[Any], Geometry], bool]
"""Whether the way back of a launch that is about to run will find memory as it was."""
Words = Callable[[Type, int], Array]
"""Room on a tape for so many numbers of a type of 8 bytes, which may be anything."""


@dataclass(frozen=True, eq=False)
class Way:
    """How a launch is recorded and reversed. ``room``: words of each thread, None if nobody
    knows; ``forward`` and ``reverse`` launch so many threads, None where nothing is reversed."""

    gradient: Gradient
    room: int | None
    #: Whether no thread can touch a float that another one writes.
    is_safe: bool
    #: Whether what it loads again is no part of what it stores to.
    is_apart: bool
    geometry: Geometry
    threads: int
    forward: Launch | None
    reverse: Launch | None

    def record(
        self, arguments: tuple[Any, ...], kept: tuple[Any, ...], mode: Any, debug: Any, words: Words
    ) -> TapedLaunch:
        """Launch with so many words as are needed, which is known; ``kept`` are the arguments of
        the way back."""
        assert self.forward is not None and self.room is not None
        tape = words(u64, self.gradient.size(self.room, self.threads))
        used = (words(i64, self.threads),) if self.gradient.made.grows else ()
        self.forward(*arguments, tape, self.room, *used, mode=mode, debug=debug)
        return TapedLaunch(self, kept, mode, tape, self.room)


@dataclass(eq=False, slots=True)
class TapedLaunch:
    """A launch that can be reversed: what it was given, and what its threads have kept."""

    way: Way
    arguments: tuple[Any, ...]
    mode: Any
    tape: Array
    #: So many words of it are a thread's.
    room: int

    @property
    def gradient(self) -> Gradient:
        return self.way.gradient

    @property
    def bytes(self) -> int:
        return 8 * len(self.tape)

    def reverse(self, distance: int) -> None:
        """Add to adjoints, which are ``distance`` bytes from what they are of."""
        assert self.way.reverse is not None
        self.way.reverse(*self.reverse_arguments(distance), mode=self.mode)

    def reverse_arguments(self, distance: int) -> tuple[Any, ...]:
        """What is launched for that is given."""
        return *self.arguments, self.tape, self.room, distance % (1 << 64)


_WAYS_KEPT = 256


def way_of(
    program: Program,
    heap: Heap,
    geometry: Geometry,
    arguments: tuple[Any, ...],
    debug: Any,
    loads_again: bool,
) -> Way:
    """How a launch is recorded: as one before, of as many threads with the same arrays and
    integers. Raises CompileError if it cannot be reversed."""
    shape = program.plan.shape(arguments)
    is_debug = heap.debug if debug is None else bool(debug)
    if shape is None:
        return _way_of(program, heap, geometry, arguments, is_debug, loads_again)
    target, ways = heap.backend.target, program.uses().derived.setdefault("ways", {})
    lanes = 1 if target.warp is None else target.warp.width
    size = geometry.threads, geometry.block, geometry.is_usual
    key = shape, size, is_debug, heap.debug, target.is_device, lanes, loads_again
    found: Way | None = ways.get(key)
    if found is None:
        if len(ways) >= _WAYS_KEPT:
            ways.clear()
        found = _way_of(program, heap, geometry, arguments, is_debug, loads_again)
        ways[key] = found
    return found


def _way_of(
    program: Program,
    heap: Heap,
    geometry: Geometry,
    arguments: tuple[Any, ...],
    is_debug: bool,
    loads_again: bool,
) -> Way:
    gradient = _check(program, heap, geometry, arguments, is_debug, loads_again)
    forward, reverse = gradient.forward, gradient.reverse
    return Way(
        gradient,
        gradient.most(arguments),
        is_free_of_races(gradient.races, arguments, geometry),
        are_apart(gradient.made.again, arguments),
        geometry,
        math.prod(geometry.threads),
        None if forward is None else forward.launcher(geometry),
        None if reverse is None else reverse.launcher(geometry),
    )


def _check(
    program: Program,
    heap: Heap,
    geometry: Geometry,
    arguments: tuple[Any, ...],
    is_debug: bool,
    loads_again: bool,
) -> Gradient:
    receivers = arguments[: program.source.receivers]
    are_distinct = bool(receivers) and all(each._run is not None for each in receivers)
    races = _facts(program, are_distinct).races
    own = own_arrays(races, geometry, arguments)
    return gradient_of(program, heap, are_distinct, is_debug, loads_again=loads_again, own=own)


def launch_taped(
    program: Program,
    heap: Heap,
    geometry: Geometry,
    arguments: tuple[Any, ...],
    mode: Any,
    debug: Any,
    leave: Leave,
    words: Words | None = None,
    way: Way | None = None,
) -> TapedLaunch | None:
    """Launch, and keep what it takes to reverse that; None if nothing is to be reversed.
    ``words``: where to keep that; ``way``: how, if all that may be is loaded again."""
    way = way or way_of(program, heap, geometry, arguments, debug, loads_again=True)
    again = way.gradient.made.again
    if again and not (way.is_apart and leave(again, arguments, geometry)):
        way = way_of(program, heap, geometry, arguments, debug, loads_again=False)
    if way.forward is None:
        program.launcher(geometry)(*arguments, mode=mode, debug=debug)
        return None
    is_debug = heap.debug if debug is None else bool(debug)
    if not is_debug and not way.is_safe:
        # Debug mode finds those that there are.
        taped = launch_taped(program, heap, geometry, arguments, mode, True, leave)
        heap.synchronize()
        return taped
    # Somebody may change an array of objects before it is launched in reverse.
    kept = arguments
    for number, each in enumerate(arguments[: program.source.receivers]):
        if isinstance(each, ObjectArray) and each._run is None:
            own = heap.array_of(each.__sharedoa_element__, each._references())
            kept = *kept[:number], own, *kept[number + 1 :]
    if way.room is None:
        return _launch_growing(way, heap, geometry, arguments, kept, mode, debug)
    return way.record(arguments, kept, mode, debug, words or partial(new_words, heap))


def _launch_growing(
    way: Way,
    heap: Heap,
    geometry: Geometry,
    arguments: tuple[Any, ...],
    kept: tuple[Any, ...],
    mode: Any,
    debug: Any,
) -> TapedLaunch:
    """Launch a program of which nobody knows how much its threads keep. That is counted before, or
    if it cannot be and is more than there is room for, they are launched once more, on memory as it
    was."""
    from .heap_state import HeapState

    assert way.forward is not None
    gradient, threads = way.gradient, way.threads
    used = heap.blank(i64, threads, zeros=False)
    if gradient.count is not None:
        count = gradient.count.launcher(geometry)
        count(*arguments, heap.blank(u64, 1), 0, used, mode=mode, debug=debug)
        room = gradient.made.waste + (int(used.max()) if threads else 0)
        tape = new_words(heap, u64, gradient.size(room, threads))
        way.forward(*arguments, tape, room, used, mode=mode, debug=debug)
        return TapedLaunch(way, kept, mode, tape, room)
    room = max(gradient.made.words, gradient.needed[0])
    with HeapState(heap, gradient.original) as before:
        while True:
            tape = new_words(heap, u64, gradient.size(room, threads))
            way.forward(*arguments, tape, room, used, mode=mode, debug=debug)
            needed = gradient.made.waste + (int(used.max()) if threads else 0)
            gradient.needed[0] = needed
            if needed <= room:
                return TapedLaunch(way, kept, mode, tape, room)
            before.restore()
            room = needed
