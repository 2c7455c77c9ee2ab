"""Which launches of a captured step are one, and whether that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ...heap.arrays import ObjectArray
from ...heap.heap import Heap
from .. import knobs
from ..geometry import DEFAULT_BLOCK, parse_geometry
from ..launch_sequence import LaunchSequence, RecordedLaunch
from ..population_plan import ChangingLaunch, PopulationCall
from ..unit import Unit
from .grouping import Group, Grouping, Launched, Record, Row, grouped
from .trial import Trial

_ROOM = 4
"""Of how many launches that each keep the device busy it holds the threads."""
Recorded = RecordedLaunch | ChangingLaunch | PopulationCall | Callable[[], Any]
Parts = list[LaunchSequence | Callable[[], Any]]


class StepFusion:
    """Of the launches ``recorded`` on ``heap``. ``arranged`` makes of such what a run does, part
    after part; the launches by themselves are arranged at once."""

    def __init__(
        self,
        heap: Heap,
        recorded: Sequence[Recorded],
        arranged: Callable[[Sequence[Recorded]], Parts],
    ) -> None:
        self._heap, self._recorded, self._arranged = heap, recorded, arranged
        for number, each in enumerate(recorded):
            if isinstance(each, RecordedLaunch):
                each.number = number
        self._apart = arranged(recorded)
        #: With what it was made of, as another thread may group anew meanwhile.
        self._as_one: tuple[Grouping, Parts] | None = None
        self._grouping: Grouping | None = None
        self._trial: Trial | None = None
        is_compiled = heap.backend.name != "python" and not (heap.debug or heap.fastmath)
        self._records: list[Record] = []
        if is_compiled and knobs.fuse.value() != "0" and len(recorded) > 1:
            self._records = [self._record(each) for each in recorded]
            self._group()

    def _record(self, recorded: Recorded) -> Record:
        if isinstance(recorded, RecordedLaunch):
            is_usual = recorded.mode is self._heap.mode and not recorded.debug
            launch = recorded.program, recorded.geometry, recorded.arguments
            return Launched(*launch) if is_usual else None
        return recorded if isinstance(recorded, PopulationCall) else None

    def _group(self) -> None:
        """Find out which launches are one, as things are now."""
        heap = self._heap
        lists = heap.memory.population_lists is not None
        # In a run other classes may come to have objects before a launch than have some now.
        may_change = lists or any(record is None for record in self._records)
        grouping = grouped(heap, self._records, may_change, self._is_small)
        before = self._grouping
        self._grouping, self._as_one = grouping, None
        if not grouping.changes_anything:
            return
        same = before is not None and (before.groups, before.rows) == (
            grouping.groups,
            grouping.rows,
        )
        if self._trial is None or not same:
            self._trial = Trial(heap, needs_room=grouping.fuses)

    def _is_small(self, threads: int) -> bool:
        """Whether a launch of so many threads leaves room for others: on a device, which else runs
        them one after the other. On a processor each launch has all cores."""
        if knobs.fuse.value() == "always":
            return True
        backend = self._heap.backend
        is_busy = backend.keeps_busy((threads // _ROOM, 1), DEFAULT_BLOCK[1])
        return backend.target.is_device and not is_busy

    def run(self, count: int, run: Callable[[Parts, int], None]) -> None:
        """Run the step ``count`` times; ``run`` runs what was arranged so often."""
        while count:
            grouping = self._grouping
            if grouping is not None and grouping.changes_anything:
                if not grouping.holds(self._heap, self._records):
                    self._group()
                    continue
                count -= self._run_grouped(grouping, count, run)
            else:
                run(self._apart, count)
                return

    def _run_grouped(
        self, grouping: Grouping, count: int, run: Callable[[Parts, int], None]
    ) -> int:
        trial = self._trial
        assert trial is not None
        parts = self._parts_as_one(grouping) if trial.is_next_one else self._apart
        # What launches store may be what it rests on.
        times = count if trial.pays is not None and grouping.stays else 1
        trial.run(lambda: run(parts, times), self._units)
        return times

    def _parts_as_one(self, grouping: Grouping) -> Parts:
        known = self._as_one
        if known is None or known[0] is not grouping:
            known = self._as_one = grouping, self._arranged([*self._grouped(grouping)])
            may_be = partial(grouping.holds, self._heap, self._records)
            for part in known[1]:
                if isinstance(part, LaunchSequence) and part.has_several:
                    part.may_be_one = may_be
        return known[1]

    def _grouped(self, grouping: Grouping) -> Iterator[Recorded]:
        """The launches with those that are one in the place of theirs."""
        for row in grouping.rows:
            groups = [grouping.groups[number] for number in row.groups]
            own = [self._recorded[number] for group in groups for number in group.span]
            if len(own) == 1:
                yield own[0]
                continue
            record, first = self._record_of(row, groups), own[0]
            if isinstance(record, PopulationCall):
                yield record
                continue
            assert isinstance(first, RecordedLaunch)
            yield RecordedLaunch(
                record.program,
                record.geometry,
                record.arguments,
                first.mode,
                first.debug,
                record.program.plan.new_slots(),
                first.is_specialised,
                called_all=tuple(pair for each in own for pair in _called_all(each)),
                several=tuple(each for each in own if isinstance(each, RecordedLaunch)),
            )

    def _record_of(self, row: Row, groups: Sequence[Group]) -> Launched | PopulationCall:
        """The launch that those of a row are."""
        if row.program is None:
            return groups[0].record(self._records)
        first = [self._records[group.first] for group in groups]
        given = [each.arguments for each in first if isinstance(each, Launched)]
        arguments = tuple([given[number][place] for number, place in row.picked])
        return Launched(row.program, parse_geometry(row.threads, 1), arguments)

    def _units(self, as_one: bool) -> list[Unit]:
        known = self._as_one
        parts = (known[1] if known is not None else []) if as_one else self._apart
        return [u for part in parts if isinstance(part, LaunchSequence) for u in part.units]

    def explain(self) -> str:
        """A line for each launch."""
        grouping = self._grouping
        if grouping is None:
            return "the launches run one by one"
        text = grouping.explain()
        trial = self._trial
        if not grouping.changes_anything or trial is None:
            return text
        said = {True: "runs are so", False: "runs are by themselves", None: ""}[trial.pays]
        return "\n".join(filter(None, [text, ": ".join(filter(None, [said, trial.reason]))]))


def _called_all(recorded: Recorded) -> Iterator[tuple[ObjectArray, str]]:
    if isinstance(recorded, RecordedLaunch):
        yield from recorded.calls_on_all
