"""The programs of gradients: what each launch in the block of a tape runs, and what runs it
backwards.

Both are made of the program in SSA form (``ir.adjoint``) and compiled as all are, on every backend,
also where CPython runs kernels. They are made once for a program as it is then; what is defined
anew afterwards makes no difference to launches that were recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from .. import ir
from ..frontend import Translation, tree
from ..heap.arrays import Array, ObjectArray
from ..heap.heap import Heap
from ..ir.adjoint import Differentiated, differentiate
from ..ir.adjoint.again import Again
from ..ir.adjoint.counting import counting
from ..ir.adjoint.ownership import own_roles
from ..ir.adjoint.races import RaceFacts, is_harmless, race_facts
from ..ir.roles import describe
from ..model.classes import Signature
from ..model.scalars import i64, u64
from ..model.types import VOID, ArrayType, Type
from ..tracebacks import short_place
from .geometry import Geometry
from .launch import Program, Source


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

    def tape(self, heap: Heap, room: int, threads: int) -> Array:
        """A tape of so many words for each thread."""
        # What the way back reads, its way there has written.
        return heap.blank(u64, room * -(-threads // self.lanes) * self.lanes, zeros=False)

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


_gradients: WeakKeyDictionary[ir.Program, dict[Any, Gradient]] = WeakKeyDictionary()


def gradient_of(
    program: Program,
    heap: Heap,
    are_distinct: bool,
    debug: bool,
    atomic: bool | None = None,
    loads_again: bool = False,
    own: frozenset[int] = frozenset(),
) -> Gradient:
    """``are_distinct``: no object is twice among the receivers. ``atomic``: as
    ``ir.adjoint.differentiate`` says, where it is not to follow from the heap's backend, as
    ``loads_again`` and ``own``.

    Raises CompileError for what cannot be reversed, with its place.
    """
    original = program.uses().program
    known = _gradients.setdefault(original, {})
    if atomic is None:
        # Debug mode would take plain additions for races, whatever the order of threads.
        atomic = heap.debug or heap.backend.target.is_device
    warp = heap.backend.target.warp
    key = are_distinct, atomic, debug, 1 if warp is None else warp.width, loads_again, own
    if key not in known:
        known[key] = _made(program, original, *key)
    return known[key]


def _made(
    program: Program,
    original: ir.Program,
    are_distinct: bool,
    atomic: bool,
    debug: bool,
    lanes: int,
    loads_again: bool,
    own: frozenset[int],
) -> Gradient:
    receivers = program.source.receivers
    is_own = own_roles(original, receivers if are_distinct else 0)
    made = differentiate(original, receivers, is_own, atomic, debug, lanes, loads_again, own)
    races = race_facts(original, receivers, is_own)
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
            in_order=in_order,
            origin=source.origin,
        )
    )


@dataclass(frozen=True, eq=False)
class TapedLaunch:
    """A launch that can be reversed: what it was given, and what its threads have kept."""

    gradient: Gradient
    geometry: Geometry
    arguments: tuple[Any, ...]
    mode: Any
    tape: Array
    #: So many words of it are a thread's.
    room: int

    @property
    def bytes(self) -> int:
        return 8 * len(self.tape)

    def reverse(self, distance: int) -> None:
        """Add to adjoints, which are ``distance`` bytes from what they are of."""
        assert self.gradient.reverse is not None
        launch = self.gradient.reverse.launcher(self.geometry)
        launch(*self.arguments, self.tape, self.room, distance % (1 << 64), mode=self.mode)


Leave = Callable[[Again, Sequence[Any], Geometry], bool]
"""Whether the way back of a launch that is about to run will find memory as it was."""


def check_taped(
    program: Program,
    heap: Heap,
    geometry: Geometry,
    arguments: tuple[Any, ...],
    debug: Any,
    loads_again: bool,
) -> Gradient:
    """How a launch is reversed. Raises CompileError if it cannot be."""
    is_debug = heap.debug if debug is None else bool(debug)
    receivers = arguments[: program.source.receivers]
    are_distinct = bool(receivers) and all(each._run is not None for each in receivers)
    found = gradient_of(program, heap, are_distinct, is_debug, loads_again=loads_again)
    own = _own_arrays(found.races, geometry, arguments) if found.races.named else None
    if not own or found.reverse is None:
        return found
    return gradient_of(program, heap, are_distinct, is_debug, loads_again=loads_again, own=own)


def launch_taped(
    program: Program,
    heap: Heap,
    geometry: Geometry,
    arguments: tuple[Any, ...],
    mode: Any,
    debug: Any,
    leave: Leave,
) -> TapedLaunch | None:
    """Launch, and keep what it takes to reverse that; None if nothing is to be reversed."""
    gradient = check_taped(program, heap, geometry, arguments, debug, loads_again=True)
    again = gradient.made.again
    if again and not (_are_apart(again, arguments) and leave(again, arguments, geometry)):
        gradient = check_taped(program, heap, geometry, arguments, debug, loads_again=False)
    receivers = arguments[: program.source.receivers]
    if gradient.forward is None:
        program.launcher(geometry)(*arguments, mode=mode, debug=debug)
        return None
    is_debug = heap.debug if debug is None else bool(debug)
    if not is_debug and not _is_free_of_races(gradient.races, arguments, geometry):
        # Debug mode finds those that there are.
        taped = launch_taped(program, heap, geometry, arguments, mode, True, leave)
        heap.synchronize()
        return taped
    threads = math.prod(geometry.threads)
    launch = gradient.forward.launcher(geometry)
    # Somebody may change an array of objects before it is launched in reverse.
    kept = tuple(
        heap.array_of(each.__sharedoa_element__, each._references())
        if number < len(receivers) and isinstance(each, ObjectArray) and each._run is None
        else each
        for number, each in enumerate(arguments)
    )
    room = gradient.most(arguments)
    if room is None:
        return _launch_growing(gradient, heap, geometry, arguments, kept, mode, debug)
    tape = gradient.tape(heap, room, threads)
    used = [heap.blank(i64, threads, zeros=False)] if gradient.made.grows else []
    launch(*arguments, tape, room, *used, mode=mode, debug=debug)
    return TapedLaunch(gradient, geometry, kept, mode, tape, room)


def _is_free_of_races(races: RaceFacts, arguments: tuple[Any, ...], geometry: Geometry) -> bool:
    """Whether no thread of a launch can touch a float that another one writes."""
    if math.prod(geometry.threads) <= 1:
        return True
    if races.raced:
        return False
    for group in races.arrays:
        for number in group:
            same = [n for n in group if _overlap(arguments[number], arguments[n])]
            if is_harmless({how for each in same for how in races.ways[each]}):
                continue
            places = {(arguments[n]._address, arguments[n].shape) for n in same}
            ways = {races.index.get(n) for n in same}
            way = ways.pop()
            if len(places) > 1 or ways or way is None:
                return False
            if not way.is_own(geometry.threads, arguments):
                return False
    return True


def _own_arrays(races: RaceFacts, geometry: Geometry, arguments: Sequence[Any]) -> frozenset[int]:
    """The parameters of whose elements each is touched by one thread of a launch alone."""
    own: set[int] = set()
    for named in races.named:
        for number, way in named.items():
            array = arguments[number]
            others = [n for n in named if n != number and _overlap(array, arguments[n])]
            is_same = all(
                named[n] == way
                and (arguments[n]._address, arguments[n].shape) == (array._address, array.shape)
                for n in others
            )
            if is_same and way.is_own(geometry.threads, arguments):
                own.add(number)
    return frozenset(own)


def _are_apart(again: Again, arguments: Sequence[Any]) -> bool:
    """Whether what a launch loads again is no part of what it stores to."""
    return not any(_overlap(arguments[one], arguments[other]) for one, other in again.apart)


def _overlap(one: Array, other: Array) -> bool:
    return one._address < _end(other) and other._address < _end(one)


def _end(array: Array) -> int:
    return array._address + max(array.size * array._dtype.base.itemsize, 1)


def _launch_growing(
    gradient: Gradient,
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

    assert gradient.forward is not None
    threads = math.prod(geometry.threads)
    launch = gradient.forward.launcher(geometry)
    used = heap.blank(i64, threads, zeros=False)
    if gradient.count is not None:
        count = gradient.count.launcher(geometry)
        count(*arguments, heap.blank(u64, 1), 0, used, mode=mode, debug=debug)
        room = gradient.made.waste + (int(used.max()) if threads else 0)
        tape = gradient.tape(heap, room, threads)
        launch(*arguments, tape, room, used, mode=mode, debug=debug)
        return TapedLaunch(gradient, geometry, kept, mode, tape, room)
    room = max(gradient.made.words, gradient.needed[0])
    with HeapState(heap, gradient.original) as before:
        while True:
            tape = gradient.tape(heap, room, threads)
            launch(*arguments, tape, room, used, mode=mode, debug=debug)
            needed = gradient.made.waste + (int(used.max()) if threads else 0)
            gradient.needed[0] = needed
            if needed <= room:
                return TapedLaunch(gradient, geometry, kept, mode, tape, room)
            before.restore()
            room = needed
