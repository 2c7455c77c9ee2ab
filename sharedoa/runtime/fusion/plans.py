"""How launches that wait are launched: found out once for each sequence of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from dispatch.dataclass import dataclass

from ...heap.heap import Heap
from ..bound_names import BoundNames
from ..launch import Program
from ..population_plan import PopulationCall
from ..unit import Unit
from ..vectorised import call_method, planned_launches
from .grouping import Grouping, Launched, grouped
from .trial import Trial

_KEPT = 256
Records = Sequence[Launched | PopulationCall]
Key = tuple[Any, ...]


@dataclass
class _Plan:
    grouping: Grouping
    trial: Trial


class Plans:
    """Of one heap, which it does not keep."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap.weak
        self._plans: dict[tuple[Any, ...], _Plan] = {}
        self._trials: dict[tuple[Any, ...], Trial] = {}
        self._last: _Plan | None = None
        #: What it is of.
        self._last_key: tuple[Key, ...] = ()
        #: How many were made.
        self.made = 0

    def run(
        self, records: Records, keys: tuple[Key, ...], held: Collection[BoundNames] = ()
    ) -> None:
        """Launch ``records``, in their order as far as anybody can tell; ``keys``: of each
        ``key_of``; ``held``: names that have just been looked at, and mean what they did."""
        heap = self._heap()
        assert heap is not None
        if len(records) == 1:
            _launch(heap, records[0])
            return
        plan = self._plan(heap, records, keys, held)
        self._last, self._last_key = plan, keys
        if not plan.grouping.fuses:
            for record in records:
                _launch(heap, record)
            return
        one = [group.record(records) for group in plan.grouping.groups]
        if plan.trial.pays is not None:
            for record in one if plan.trial.pays else records:
                _launch(heap, record)
            return

        def launch() -> None:
            for each in chosen:
                _launch(heap, each)

        chosen = one if plan.trial.is_next_one else records
        plan.trial.run(launch, lambda as_one: [*_units(heap, one if as_one else records)])

    def explain(self) -> str:
        plan = self._last
        if plan is None:
            return "no launches were together"
        trial = plan.trial
        notes = {True: "they are launched so", False: "they are launched by themselves", None: ""}
        last = ": ".join(filter(None, [notes[trial.pays], trial.reason]))
        return "\n".join(
            filter(None, [plan.grouping.explain(), last if plan.grouping.fuses else ""])
        )

    def _plan(
        self, heap: Heap, records: Records, key: tuple[Key, ...], held: Collection[BoundNames]
    ) -> _Plan:
        # The same ones again as before are compared by identity, which takes less than hashing.
        found = self._last if key == self._last_key else self._plans.get(key)
        if found is not None and found.grouping.holds(heap, records, held):
            return found
        grouping = grouped(heap, records)
        self.made += 1
        if len(self._plans) >= _KEPT:
            self._plans.clear()
        spans = tuple(group.count for group in grouping.groups)
        what = (*spans, *map(_program_of, records))
        if len(self._trials) >= _KEPT:
            self._trials.clear()
        trial = self._trials.get(what)
        if trial is None:
            trial = self._trials[what] = Trial(heap)
        made = self._plans[key] = _Plan(grouping, trial)
        return made


def _launch(heap: Heap, record: Launched | PopulationCall) -> None:
    if isinstance(record, PopulationCall):
        call_method(record.objects, record.method, [*record.given])
    else:
        record.program.launcher(record.geometry)(*record.arguments)


def _program_of(record: Launched | PopulationCall) -> Any:
    if isinstance(record, PopulationCall):
        return record.objects._cls, record.method
    return record.program


def key_of(record: Launched | PopulationCall) -> Key:
    """Equal for launches of which the same becomes if those around them are equal, too."""
    if isinstance(record, PopulationCall):
        arrays = [_array(each) for each in record.given]
        return record.objects._cls, record.method, *arrays
    return record.program, record.geometry, *map(_array, record.arguments)


def _array(argument: Any) -> Any:
    """Where what an argument refers to lies; None for numbers."""
    address = getattr(argument, "_address", None)
    if address is not None:
        return address, len(argument)
    run = getattr(argument, "_run", None)
    if run is not None:
        return run.place.start, run.slot, len(argument)
    return getattr(argument, "_reference", None)


def _units(heap: Heap, records: Records) -> Iterator[Unit]:
    """The code of launches that have run."""
    for record in records:
        for program in _programs(record):
            if program.binding.heap() is heap:
                yield program.binding.unit


def _programs(record: Launched | PopulationCall) -> list[Program]:
    if isinstance(record, Launched):
        return [record.program]
    none_each = (False,) * len(record.given)
    launches = planned_launches(record.objects, record.method, none_each) or ()
    return [launch.program for launch in launches]
