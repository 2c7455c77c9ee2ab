"""How the objects of a vectorised call are shared out: to launches, and to their threads.

On a GPU one launch takes stretches of many classes, each with whole warps of its own, so that a
warp runs one method; where it pays, a thread takes several neighbours of a tile. On a CPU, where a
launch costs little and a loop over one stretch becomes vector code, each stretch is a launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest

from dispatch.dataclass import dataclass

from ..heap.arrays import Array, ObjectArray
from ..heap.heap import Heap
from ..heap.recording import recorder
from ..heap.run import RunOfObjects
from ..ir.core import NEIGHBOURS
from ..model.classes import ClassType, Method
from ..model.field_address import LANES
from .geometry import AXIS_LIMIT, DEFAULT_BLOCK
from .vectorised_code import cost_of

MOST_STRETCHES = 16
"""Of one launch: its parameters and its code grow with them."""
_MOST_SPECIALISED = 256
"""Stretches that have code of their own, whatever their size: compiling more takes seconds."""
_SMALL, _SMALL_ON_CPU = 1 << 15, 1 << 12
"""Objects of a stretch, in the mean of many, for which a launch of its own or a part of one does
not pay."""
_GROUP_BYTES = 16
"""What the device loads or stores at once; elementwise arrays must begin at a multiple of it."""


@dataclass(eq=False, slots=True)
class Stretch:
    """Objects of exactly one class. The first is object ``position`` of all."""

    objects: ObjectArray | RunOfObjects
    position: int
    method: Method

    @property
    def cls(self) -> ClassType:
        return self.objects._cls


@dataclass(eq=False, slots=True)
class SharedOut:
    """One launch: its stretches, the objects of a group, and of how many threads the threads of a
    stretch are a multiple, if there are several."""

    stretches: Sequence[Stretch]
    each: int
    warp: int = 1

    def first_threads(self) -> list[int]:
        """Where the threads of each stretch begin, and after the last one how many there are."""
        counts = [sum(divmod(len(stretch.objects), self.each)) for stretch in self.stretches]
        if len(counts) > 1:
            counts = [-(-count // self.warp) * self.warp for count in counts]
        return [0, *accumulate(counts)]


def share_out(
    heap: Heap, stretches: Sequence[Stretch], elementwise: Sequence[Array]
) -> Iterator[SharedOut]:
    """The launches for all of ``stretches``, which are few if they must be one (``is_one_launch``);
    ``elementwise`` are the arrays that have one element an object, arguments and results."""
    count = sum(len(stretch.objects) for stretch in stretches)
    # Whole tiles, too.
    warp = max(heap.backend.target.lanes, LANES)
    if len(stretches) <= MOST_STRETCHES and is_one_launch(heap, stretches):
        yield SharedOut(stretches, 1)
    elif not heap.backend.prefers_few_launches:
        for stretch in stretches:
            yield SharedOut([stretch], 1)
    elif heap.debug or not _is_large(heap, count):
        yield from _together(stretches, 1, 1 if heap.debug else warp)
    else:
        # Of a large launch with long methods, the one that needs most registers slows all down.
        aligned = all(array._address % _GROUP_BYTES == 0 for array in elementwise)
        wide: list[Stretch] = []
        short: list[Stretch] = []
        for stretch in stretches:
            cost = cost_of(stretch.cls, stretch.method)
            if cost.is_streaming and aligned and _in_groups(heap, stretch, bool(elementwise)):
                wide.append(stretch)
            elif cost.is_short:
                short.append(stretch)
            else:
                yield SharedOut([stretch], 1)
        yield from _together(wide, NEIGHBOURS, warp)
        yield from _together(short, 1, warp)


def is_one_launch(heap: Heap, stretches: Sequence[Stretch]) -> bool:
    """Whether all objects must go into one launch, thread by thread in their order: those that
    methods make and end are the same ones until it ends. CPython runs what it is given."""
    if len(stretches) < 2:
        return False
    if heap.backend.name == "python":
        return True
    return any(cost_of(stretch.cls, stretch.method).changes for stretch in stretches)


def has_many_small(heap: Heap, stretches: Sequence[Stretch]) -> bool:
    """Whether one launch over references to all objects costs less than those of the stretches."""
    many = len(stretches)
    if many <= MOST_STRETCHES:
        return False
    small = _SMALL if heap.backend.prefers_few_launches else _SMALL_ON_CPU
    return many > _MOST_SPECIALISED or sum(len(s.objects) for s in stretches) < small * many


def takes_groups(heap: Heap, count: int) -> bool:
    """Whether threads may take groups of so many objects, if they are a run."""
    may: bool = heap.backend.prefers_few_launches and heap.uses_runs
    return may and not heap.debug and _is_large(heap, count) and recorder() is None


def _is_large(heap: Heap, count: int) -> bool:
    """Whether the device is busy also if a thread takes several of so many objects."""
    busy: bool = heap.backend.keeps_busy((count // NEIGHBOURS, 1), DEFAULT_BLOCK[1])
    return busy


def _in_groups(heap: Heap, stretch: Stretch, is_located: bool) -> bool:
    """Whether a thread may take whole groups of neighbours."""
    run = stretch.objects._run
    return (
        run is not None
        and run.form.near
        and heap.uses_runs
        and heap.layout.is_tiled(run.form.cls)
        and not (is_located and stretch.position % NEIGHBOURS)
    )


def _together(stretches: Sequence[Stretch], each: int, warp: int) -> Iterator[SharedOut]:
    """Launches with a stretch of every class, as long as every class has one left. Those that
    remain are launched by themselves: code for another choice of classes would be compiled each
    time that a class grows."""
    of_class: dict[ClassType, list[Stretch]] = {}
    for stretch in stretches:
        of_class.setdefault(stretch.cls, []).append(stretch)
    for many in of_class.values():
        if len(many) > 1:
            many.sort(key=lambda stretch: -len(stretch.objects))
    for row in zip_longest(*of_class.values()):
        found = [stretch for stretch in row if stretch is not None]
        # With fewer objects than half of what a launch takes, whole warps of threads fit as well.
        fit = sum(len(stretch.objects) for stretch in found) <= AXIS_LIMIT // 2
        most = MOST_STRETCHES if fit and len(found) == len(row) else 1
        for first in range(0, len(found), most):
            yield SharedOut(found[first : first + most], each, warp)
