"""Which launches of a sequence become one: each joins those before it as long as that is legal.

What is found rests on classes and methods as they are, on which classes have objects, and on what
the arguments are known to be; ``Grouping.holds`` asks whether that is so still.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import Any

from dispatch.dataclass import dataclass, field

from ...heap.heap import Heap
from ...ir.job import Facts, Question
from ...ir.thread_accesses import Field
from ...model.classes import ClassType, Method
from ...model.world import World
from ..bound_names import BoundNames
from ..chained_methods import chained
from ..geometry import Geometry
from ..launch import Program
from ..population_plan import PopulationCall
from ..vectorised import receiver_programs
from .beside import beside, share_of
from .legality import Refusal, refusal
from .part import Part, part_of_call, part_of_launch
from .program import Picked, together

MOST_PARTS = 64
"""Launches that become one: code grows with them."""
_MOST_ARGUMENTS = 256
"""Of one kernel; devices take 4 KiB of them."""


@dataclass(frozen=True)
class Launched:
    """A launch of a kernel, as it was asked for."""

    program: Program
    geometry: Geometry
    arguments: tuple[Any, ...]


Record = Launched | PopulationCall | None
"""None: something that runs by itself."""


@dataclass
class Group:
    """Launches ``first`` and those after it, ``count`` in all. Of kernels the ``program`` that is
    launched for several, with arguments ``picked`` from theirs; of methods the one that is all."""

    first: int
    count: int
    program: Program | None = None
    picked: tuple[Picked, ...] = ()
    method: Method | None = None

    @property
    def span(self) -> range:
        return range(self.first, self.first + self.count)

    def record(self, records: Sequence[Record]) -> Launched | PopulationCall:
        """The one launch of those that ``records`` has of this group."""
        own = records[self.first : self.first + self.count]
        first = own[0]
        assert first is not None
        if len(own) == 1:
            return first
        if isinstance(first, PopulationCall):
            calls = [each for each in own if isinstance(each, PopulationCall)]
            given = tuple([value for each in calls for value in each.given])
            if self.method is None:
                self.method = chained([each.method for each in calls])
            return PopulationCall(first.objects, self.method, given)
        assert isinstance(first, Launched) and self.program is not None
        launches = [each for each in own if isinstance(each, Launched)]
        arguments = tuple(launches[number].arguments[place] for number, place in self.picked)
        return Launched(self.program, first.geometry, arguments)


@dataclass
class Row:
    """``groups`` of launches, by number, that share the ``threads`` of a launch of ``program``,
    with arguments ``picked`` from theirs; one group has launches as it says."""

    groups: list[int]
    program: Program | None = None
    picked: tuple[Picked, ...] = ()
    threads: int = 0


@dataclass
class Grouping:
    """The ``groups`` of a sequence; ``verdicts`` say of each launch but the first why it is not one
    with that before it, None where it is."""

    groups: list[Group]
    labels: list[str]
    verdicts: list[Refusal | None]
    programs: tuple[Program, ...]
    facts: tuple[Any, ...]
    #: Whether it holds for as long as nobody but these launches changes anything.
    stays: bool
    #: Arrays of objects, by launch and argument, and what run each was.
    runs: list[tuple[int, int, Any]] = field(default_factory=list)
    #: What else of the heap it rests on.
    asked: Facts = field(default_factory=Facts)
    #: The groups in the order of their launches.
    rows: list[Row] = field(default_factory=list)

    @cached_property
    def fuses(self) -> bool:
        return any(group.count > 1 for group in self.groups)

    @cached_property
    def changes_anything(self) -> bool:
        """Whether launches are to run in another way than one by one."""
        return self.fuses or len(self.rows) < len(self.groups)

    def holds(
        self, heap: Heap, records: Sequence[Record], held: Collection[BoundNames] = ()
    ) -> bool:
        """Whether the same launches would be found again; ``held``: names that mean what they
        did."""
        for program in self.programs:
            if program.names not in held:
                program.look_at_names()
        if self.facts != _facts(heap):
            return False
        for number, place, known in self.runs:
            record = records[number]
            assert isinstance(record, Launched)
            if _place(record.arguments[place]) != known:
                return False
        return self.asked.still_hold(partial(_answer, heap))

    def explain(self) -> str:
        """A line for each launch: whether it is one with that before it, and if not why."""
        lines = self.labels[:1]
        for label, verdict in zip(self.labels[1:], self.verdicts, strict=True):
            is_one = verdict is None
            lines.append(f"{label}: {'one with the launch before it' if is_one else verdict}")
        for row in self.rows:
            first, *others = (self.groups[number].first for number in row.groups)
            for number in others:
                lines[number] += f"; beside {self.labels[first]}, in threads of their own"
        return "\n".join(lines)


def _facts(heap: Heap) -> tuple[Any, ...]:
    return World.epoch, heap.books.population_epoch


def _answer(heap: Heap, question: Question) -> Any:
    what, cls, owner, name = question
    assert what == "distinct"
    return heap.distinct.are_distinct(heap, cls, (owner, name))


def _place(array: Any) -> Any:
    """Which objects an array is known to refer to."""
    run = getattr(array, "_run", None)
    return None if run is None else (run.place.start, run.slot)


def grouped(
    heap: Heap,
    records: Sequence[Record],
    may_change: bool = False,
    is_small: Callable[[int], bool] = lambda threads: False,
) -> Grouping:
    """The groups of launches on ``heap`` in this order. ``may_change``: their populations may have
    gained and lost classes when they run; ``is_small``: whether launches of so many threads may
    share one (``beside``)."""
    maker = _Maker(heap, may_change, knows_objects=not any(map(_may_store, records)))
    parts = maker.parts = [maker.part(record) for record in records]
    # Asking may have changed it, as other classes and names are looked at.
    facts = _facts(heap)
    groups: list[Group] = []
    verdicts: list[Refusal | None] = []
    for number, part in enumerate(parts):
        if groups:
            found = _verdict(parts, groups[-1], part, records)
            verdicts.append(found)
            if found is None:
                groups[-1].count += 1
                continue
        groups.append(Group(number, 1))
    for group in groups:
        own = [records[number] for number in group.span]
        if group.count > 1 and isinstance(own[0], Launched):
            launches = [(e.program, e.arguments) for e in own if isinstance(e, Launched)]
            group.program, group.picked = together(launches)
    labels = ["(by the host)" if part is None else part.label for part in parts]
    programs = dict.fromkeys(p for part in parts if part is not None for p in part.programs)
    runs = [
        (number, place, _place(argument))
        for number, record in enumerate(records)
        if isinstance(record, Launched)
        for place, argument in enumerate(record.arguments)
        if hasattr(argument, "_run")
    ]
    stays = maker.knows_objects and all(isinstance(record, Launched) for record in records)
    rows = _rows(groups, parts, records, is_small)
    maker.asked.close()
    known = tuple(programs), facts, stays, runs, maker.asked
    return Grouping(groups, labels, verdicts, *known, rows)


def _rows(
    groups: Sequence[Group],
    parts: Sequence[Part | None],
    records: Sequence[Record],
    is_small: Callable[[int], bool],
) -> list[Row]:
    every = [[parts[number] for number in group.span] for group in groups]
    # What several launches became is no function that another program could have.
    shares = [share_of(own[0], is_small) if len(own) == 1 else None for own in every]
    rows = [Row(numbers) for numbers in beside(every, shares)]
    for row in rows:
        if len(row.groups) > 1:
            launched = [records[groups[number].first] for number in row.groups]
            pairs = [(e.program, e.arguments) for e in launched if isinstance(e, Launched)]
            own = tuple([share for n in row.groups if (share := shares[n]) is not None])
            row.program, row.picked = together(pairs, own)
            row.threads = sum(share.threads for share in own)
    return rows


def _verdict(
    parts: Sequence[Part | None], group: Group, new: Part | None, records: Sequence[Record]
) -> Refusal | None:
    before = [parts[number] for number in group.span]
    known = [part for part in before if part is not None]
    if new is None or len(known) < len(before):
        return Refusal("the host has to look at the heap")
    if group.count >= MOST_PARTS:
        return Refusal(f"there are {MOST_PARTS} launches in one already")
    every = [records[number] for number in [*group.span, group.first + group.count]]
    if sum(map(_argument_count, every)) > _MOST_ARGUMENTS:
        return Refusal(f"they have more than {_MOST_ARGUMENTS} arguments together")
    return refusal(known, new)


def _may_store(record: Record) -> bool:
    """Whether it may change what arrays of objects refer to."""
    if isinstance(record, Launched):
        source = record.program.source
        return record.program.uses().stores_references and not source.keeps_arrays
    if record is None:
        return True
    programs = receiver_programs(record.objects, record.method, record.objects._cls.concrete())
    return any(program.uses().stores_references for program in programs)


def _argument_count(record: Record) -> int:
    if isinstance(record, Launched):
        return record.program.plan.leaf_count
    return 0 if record is None else len(record.given)


class _Maker:
    """Makes parts of launches, by what lives now."""

    def __init__(self, heap: Heap, may_change: bool, knows_objects: bool) -> None:
        self._may_change, self.knows_objects = may_change, knows_objects
        self._on_device = heap.backend.target.is_device
        self._living = [] if may_change else heap.placement.classes()
        self.asked = Facts(answer=partial(_answer, heap))
        self.parts: list[Part | None] = []

    def part(self, record: Record) -> Part | None:
        if record is None:
            return None
        living = None if self._may_change else frozenset(c.type_index for c in self._living)
        if isinstance(record, Launched):
            launch = record.program, record.geometry, record.arguments
            known = living, self.knows_objects, self._is_distinct
            return part_of_launch(*launch, self._on_device, *known)
        cls = record.objects._cls
        classes = [c for c in cls.concrete() if living is None or c.type_index in living]
        return part_of_call(record, classes, self._on_device, living, self._is_distinct)

    def _is_distinct(self, cls: ClassType, field: Field) -> bool:
        """Whether no two objects refer to the same one whenever one of the launches begins."""
        stored = self._stored
        if self._may_change or stored is None or field in stored:
            return False
        return self.asked.distinct(cls, *field)

    @cached_property
    def _stored(self) -> frozenset[Field] | None:
        """The fields of references that a launch among all may change; None: any."""
        found: frozenset[Field] = frozenset()
        for part in self.parts:
            for program in part.programs if part is not None else ():
                stored = program.uses().stored_fields
                if stored is None:
                    return None
                found |= stored
        return None if None in self.parts else found
