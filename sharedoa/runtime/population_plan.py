"""The launches of a captured step whose populations grow and shrink while nobody looks.

Before a launch over a population the device lists who lives, and the launch has a thread for each
who may: the first ones have objects. Before one that makes objects it lists free slots, after one
that makes or ends some it notes what lives. How many objects of a class there may be at most in a
run, and so how much room there must be, follows from how many there were some runs ago and from how
many each thread makes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from dispatch.dataclass import dataclass, field

from ..heap.births import NO_TURNS, AllTurns
from ..heap.living import births_by_class
from ..heap.population import Population
from ..ir.births import Births
from ..model.classes import ClassType, Method
from .launch import Program
from .populations import classes_below, turns_in
from .slot_calls import may_go_by_slot
from .vectorised import planned_launches, receiver_programs
from .vectorised_code import CallForm, as_now, call_program

if TYPE_CHECKING:
    from dispatch.mode import Mode

    from ..heap.heap import Heap
    from .geometry import Geometry

Together = tuple[ClassType, ...]
"""Classes whose objects stand in one list."""
Counts = dict[ClassType, int]
Most = dict[ClassType | Together, int]
"""How many objects there may be, of each class, and of several together."""


class CannotPlanError(Exception):
    """Each run has to look at the heap."""


@dataclass(frozen=True)
class ChangingLaunch:
    """A launch that makes or ends objects, or asks which live."""

    program: Program
    geometry: Geometry
    arguments: tuple[Any, ...]
    mode: Mode | None
    debug: bool | None


class PopulationCall(NamedTuple):
    """``oa.all(C).method(...)`` without results."""

    objects: Population
    method: Method
    given: tuple[Any, ...]


@dataclass(frozen=True)
class Planned:
    """One launch. ``receivers``: the classes whose objects have a thread each, in that order; where
    there are any, the arguments begin with a list of them and with how many they are. ``threads``:
    otherwise."""

    program: Program
    births: Births
    arguments: tuple[Any, ...]
    receivers: tuple[ClassType, ...] = ()
    threads: int = 0
    settings: tuple[Any, Any] = (None, None)
    geometry: Geometry | None = None
    #: Of which classes they make objects in turn.
    turns: AllTurns = NO_TURNS
    #: Which method is called on the receivers, where the numbers of threads mean nothing.
    by_slot: tuple[ClassType, Method] | None = None

    def most_threads(self, most: Most) -> int:
        together = most.get(self.receivers)
        if together is None:
            together = sum(most[cls] for cls in self.receivers)
        return together or self.threads

    @cached_property
    def made(self) -> dict[ClassType, int]:
        """How many objects each thread makes at most."""
        return {cls: each for cls, each in self.births.made.items() if each is not None}

    def most_made(self, cls: ClassType, threads: int) -> int:
        """How many objects of a class that it makes so many threads make at most."""
        turns = self.turns.get(cls)
        return threads * self.made[cls] if turns is None else turns.count(threads)

    def made_together(self, classes: Together, threads: int) -> int:
        """How many objects of these classes so many threads make at most."""
        every = sum(self.most_made(cls, threads) for cls in classes if cls in self.made)
        each = self.births.together
        return every if each is None else min(every, threads * each)


#: See ``spans_of``.
Spans = Sequence[tuple[set[ClassType | Together], Planned | None]]


@dataclass
class Plan:
    """``changing``: the classes of which launches make or end objects; ``watched``: of which
    somebody else does, again and again; ``counted``: these, and those that stand in one list with
    them; ``settled``: the version of each other class whose objects would be called."""

    changing: set[ClassType]
    watched: set[ClassType]
    launches: list[Planned] = field(default_factory=list)
    counted: list[ClassType] = field(default_factory=list)
    settled: dict[ClassType, tuple[int, int]] = field(default_factory=dict)

    @property
    def made(self) -> set[ClassType]:
        return {cls for each in self.launches for cls in each.made}

    def most(self, counts: Mapping[ClassType, int], runs: int, rest: Spans = ()) -> Most:
        """How many objects of each counted class, and of those in each list, there may be at most
        when a launch of the next ``runs`` runs begins, if there are so many of each class now,
        before the ``rest`` of another one."""
        lists = {each.receivers for each in self.launches if len(each.receivers) > 1}
        now: Most = {cls: counts[cls] for cls in self.counted}
        now |= {each: sum(counts[cls] for cls in each) for each in lists}
        most = dict(now)
        for spans in (rest, *repeat(self._spans, runs)):
            for classes, launch in spans:
                for cls in classes:
                    most[cls] = max(most[cls], now[cls])
                if launch is not None:
                    threads = launch.most_threads(now)
                    for cls in launch.made:
                        now[cls] += launch.most_made(cls, threads)
                    for several in lists:
                        now[several] += launch.made_together(several, threads)
        return most

    @cached_property
    def _spans(self) -> Spans:
        return spans_of(self.launches)

    def room(self, most: Most) -> Counts:
        """How many free slots of each class its launches list, with so many objects at most."""
        room = dict.fromkeys(self.counted, 0)
        for launch in self.launches:
            for cls in launch.made:
                room[cls] = max(room[cls], launch.most_made(cls, launch.most_threads(most)))
        return room

    def list_bytes(self, most: Most, reference: int) -> list[int]:
        """Of each list of who lives in a run, of references of so many bytes."""
        called = {each.receivers: each.most_threads(most) for each in self.launches}
        return [reference * count for receivers, count in called.items() if receivers]

    def table_bytes(self, most: Most) -> int:
        """Of the longest list of places for new objects of one launch."""
        threads = [(each, each.most_threads(most)) for each in self.launches]
        places = (sum(each.most_made(cls, n) for cls in each.made) for each, n in threads)
        return 4 * max(places, default=0)

    def needed(self, most: Most) -> int:
        """Threads and free slots of a run, with so many objects at most."""
        threads = sum(launch.most_threads(most) for launch in self.launches)
        return threads + sum(self.room(most).values())


def spans_of(launches: Iterable[Planned]) -> Spans:
    """The launches up to each that makes objects, and those after the last: of which classes they
    are in need, and that one."""
    found: list[tuple[set[ClassType | Together], Planned | None]] = []
    classes: set[ClassType | Together] = set()
    for launch in launches:
        classes |= {*launch.receivers, *launch.made}
        if len(launch.receivers) > 1:
            classes.add(launch.receivers)
        if launch.made:
            found.append((classes, launch))
            classes = set()
    return [*found, (classes, None)]


def plan_of(
    heap: Heap,
    records: Sequence[ChangingLaunch | PopulationCall | Planned],
    watched: Iterable[ClassType] = (),
) -> Plan:
    """The launches of ``records`` as the world is now; whatever captured steps did is settled. Of
    ``watched`` others may live in each run, as of classes that the launches change.

    Raises CannotPlanError.
    """
    births = [_births(each) for each in records]
    made = {cls for each in births for cls in each.made}
    if any(count is None for each in births for count in each.made.values()):
        raise CannotPlanError
    changing = made | {cls for each in births for cls in classes_below(each)}
    plan = Plan(changing, {*watched} - changing)
    calls: dict[tuple[Any, ...], list[Planned]] = {}
    for record in records:
        if isinstance(record, Planned):
            plan.launches.append(record)
        elif isinstance(record, ChangingLaunch):
            plan.launches.append(_of_launch(record))
        else:
            # What is done again and again is the same launches.
            key = record.objects._cls, record.method, *map(id, record.given)
            if key not in calls:
                calls[key] = _of_call(heap, record, made, plan)
            plan.launches += calls[key]
    plan.counted = sorted(changing.union(*(each.receivers for each in plan.launches)), key=_number)
    return plan


def _number(cls: ClassType) -> int:
    return cls.type_index


def _births(record: ChangingLaunch | PopulationCall | Planned) -> Births:
    if isinstance(record, Planned):
        return record.births
    if isinstance(record, ChangingLaunch):
        return record.program.uses().births
    concrete = record.objects._cls.concrete()
    if len(concrete) == 1:  # as for fusion, which has asked: to translate a method takes 4 ms
        (program,) = receiver_programs(record.objects, record.method, concrete)
        return program.uses().births
    return _call_of_all(record, CallForm(_none_each(record), exact=False)).uses().births


def _none_each(call: PopulationCall) -> tuple[bool, ...]:
    return (False,) * len(call.given)


def _call_of_all(call: PopulationCall, form: CallForm) -> Program:
    cls = call.objects._cls
    return call_program(cls, ((cls, call.method),), form)


def _of_launch(record: ChangingLaunch) -> Planned:
    uses = record.program.uses()
    return Planned(
        record.program,
        uses.births,
        record.arguments,
        threads=math.prod(record.geometry.threads),
        settings=(record.mode, record.debug),
        geometry=record.geometry,
        turns=turns_in(uses, record.geometry, record.arguments),
    )


def _of_call(
    heap: Heap, call: PopulationCall, made: Iterable[ClassType], plan: Plan
) -> list[Planned]:
    cls, method = call.objects._cls, call.method
    placement = births_by_class(heap).placement
    every = sorted(cls.concrete(), key=_number)
    growing = plan.watched.union(made)
    concrete = [each for each in every if each in growing or placement.count(each)]
    is_settled = (plan.changing | plan.watched).isdisjoint(concrete)
    # Of a class without objects there may be some when the step runs again.
    settled = every if is_settled else set(every).difference(concrete)
    plan.settled |= {each: placement.class_version(each) for each in settled}
    if not concrete:
        return []
    if is_settled:
        return _of_settled(heap, call, concrete)
    counted = CallForm(_none_each(call), exact=True, counted=True)
    if len(concrete) > 1 and _births(call).changes:
        # All see who lived before any of them was called.
        program = _call_of_all(call, counted._replace(exact=False))
        return [_planned(program, call, tuple(concrete))]
    found = []
    for each in concrete:
        program = call_program(each, ((each, as_now(each, method)),), counted)
        found.append(_planned(program, call, (each,)))
    return found


def _planned(program: Program, call: PopulationCall, receivers: tuple[ClassType, ...]) -> Planned:
    called = call.objects._cls, call.method
    uses = program.uses()
    by_slot = called if may_go_by_slot(uses) else None
    return Planned(program, uses.births, call.given, receivers, by_slot=by_slot)


def _of_settled(heap: Heap, call: PopulationCall, concrete: Sequence[ClassType]) -> list[Planned]:
    """On objects that no launch of the step makes or ends."""
    launches = planned_launches(call.objects, call.method, _none_each(call))
    if launches is not None:
        return [
            Planned(
                each.program,
                each.program.uses().births,
                (*each.arrays(heap), *each.first_threads, *call.given),
                threads=each.threads,
            )
            for each in launches
        ]
    if len(concrete) > 1 and _births(call).changes:
        raise CannotPlanError  # all are to see who lived before any of them was called
    found = []
    for cls in concrete:
        own = as_now(cls, call.method)
        program = call_program(cls, ((cls, own),), CallForm(_none_each(call), exact=True))
        objects = heap.objects_of(cls)
        arguments = objects, *call.given
        found.append(Planned(program, program.uses().births, arguments, threads=len(objects)))
    return found
