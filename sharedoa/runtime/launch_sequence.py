"""Launches in a row that are bound once and replayed: parts of what ``oa.capture()`` records.

A launch binds as any launch does, outside of what the backend records; only the packed launches go
into that. Before a run every launch is asked whether its binding still holds (``binding``). If one
does not all are bound again, and recorded again where that changed them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dispatch.dataclass import dataclass

from ..backends.base import Recordable, Slots
from ..errors import HeapError
from ..heap.arrays import ObjectArray
from ..heap.distinct_fields import Field
from ..heap.heap import Heap
from ..heap.recording import taping
from ..heap.run import Run
from . import clustering, cpython_launches
from .geometry import Geometry
from .packed_steps import PackedSteps

if TYPE_CHECKING:
    from dispatch.mode import Mode

    from ..ir.births import Births
    from .binding import Binding
    from .clustering import Launched
    from .compared_clusters import Comparison
    from .launch import Program
    from .unit import Unit


@dataclass(eq=False)
class RecordedLaunch:
    """One launch of the block; its arguments are kept, packed in slots of its own."""

    program: Program
    geometry: Geometry
    arguments: tuple[Any, ...]
    mode: Mode
    debug: bool
    slots: Slots
    #: Whether numbers among the arguments become constants of the code, but for those of the
    #: parameters ``varying``.
    is_specialised: bool
    binding: Binding | None = None
    #: What it does to populations, for which the backend launches something else around it.
    births: Births | None = None
    before: Sequence[Recordable] = ()
    after: Sequence[Recordable] = ()
    #: Of one for several: the arrays on all of whose objects methods are called, and their names.
    called_all: tuple[tuple[ObjectArray, str], ...] = ()
    varying: Collection[int] = ()
    #: Whether its code packs threads (``packed_steps``).
    packs: bool = False
    #: Of one for several: these. And as which launch of the step it was asked for.
    several: tuple[RecordedLaunch, ...] = ()
    number: int = 0

    def launch(self) -> None:
        """Launch as if nothing was recorded."""
        start = self.program.launcher(self.geometry)
        start(*self.arguments, mode=self.mode.name, debug=self.debug)

    @property
    def calls_on_all(self) -> tuple[tuple[ObjectArray, str], ...]:
        """The arrays on all of whose objects a method is called, and its name."""
        source, first = self.program.source, self.arguments[:1]
        if source.calls_all and isinstance(first[0], ObjectArray):
            return ((first[0], source.name),)
        return self.called_all

    @property
    def stores_references(self) -> bool:
        """Whether it may change elements of arrays of references."""
        return self.program.uses().stores_references and not self.program.source.keeps_arrays

    def bind(
        self, heap: Heap, looked: Sequence[Launched | None] = (), packs: bool | None = None
    ) -> Binding:
        if (self.program.uses().births or None) != self.births:
            others = "objects" if self.births is None else "other objects"
            raise HeapError(
                f"kernel {self.program.source.name} has come to make or delete {others}, as "
                "something that it calls was redefined",
                "capture the step again",
            )
        self.binding = self.program.bind(
            heap,
            self.mode,
            self.debug,
            self.slots,
            self.arguments,
            self.geometry,
            self.varying if self.is_specialised else None,
            looked=looked,
            packs=self.packs if packs is None else packs,
        )
        return self.binding

    def prepared(self, heap: Heap) -> list[Recordable]:
        assert self.binding is not None
        own = self.program.prepared(heap, self.binding.unit, self.geometry, self.slots)
        return [*self.before, own, *self.after]


class _NoLongerOneError(Exception):
    """Launches are not to be one by now, of so many runs."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class LaunchSequence:
    """Launches on ``heap`` that run in their order."""

    #: Whether launches are looked at in a run, each before it begins.
    _looks_amid = False

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self._launches: list[RecordedLaunch] = []
        self._programs: list[Program] = []
        #: What the launches were bound to last.
        self._bound: list[Binding] = []
        #: The same, once a unit; empty where they are to be bound again.
        self._bindings: list[Binding] = []
        #: Those that are looked at again after some launches.
        self._counted: list[Binding] = []
        self._are_arrays_settled = False
        #: Arguments that may be runs, each once, and the run that it was.
        self._runs: list[tuple[ObjectArray, Run | None]] = []
        self._is_settled = False
        self._stores_references = False
        self._stores_fields: frozenset[Field] = frozenset()
        self._key: list[Any] = []
        #: Where a run is cut in two, of which the backend records each; 0 for nowhere.
        self._cut = 0
        #: Where some launches are several: whether these may be one.
        self.may_be_one: Callable[[], bool] | None = None
        self._ready: list[Any] = []
        self._packed = PackedSteps(heap)
        #: For which comparison of clusters runs are timed, and the threads of their launches.
        self._compared: Comparison | None = None
        self._form: Hashable = ()

    def add(self, launch: RecordedLaunch) -> None:
        self._launches.append(launch)

    def end(self) -> None:
        """There are no more launches: bind them, and have the backend record them."""
        # By id: any order will do, as long as it is everybody's.
        self._programs = sorted({each.program for each in self._launches}, key=id)
        self._locked(self._programs, self._prepare)

    @property
    def has_several(self) -> bool:
        return any(each.several for each in self._launches)

    @property
    def units(self) -> list[Unit]:
        """The code that they were bound to last."""
        return [binding.unit for binding in self._bound]

    def run(self, count: int) -> None:
        """Run all launches ``count`` times."""
        if taping:
            self.heap.note_launcher()
        try:
            self._locked(self._programs, self._run, count)
        except _NoLongerOneError as left:
            self._run_apart(left.count)

    def _run_apart(self, count: int) -> None:
        """Run them one by one, as they were asked for; without the locks, as theirs are others."""
        every = [own for each in self._launches for own in each.several or (each,)]
        for each in sorted(every, key=lambda each: each.number) * count:
            each.launch()

    def _run(self, count: int) -> None:
        if self.heap.backend.name == "python":
            launches = [(e.program, e.arguments, e.geometry) for e in self._launches]
            # Elsewhere nothing moves by itself, either.
            with self.heap.upkeep.still():
                cpython_launches.run_noted(self.heap, launches, self._run_in_cpython, count)
            return
        packed = self._packed
        while count:
            times = self._run_ready(min(count, packed.until_due))
            count -= times
            if packed.is_due(times) and self._bindings and self._is_settled and not self._cut:
                self._bindings += packed.begin(self._launches)

    def _run_ready(self, count: int) -> int:
        """Run the launches up to ``count`` times, as long as they need not be looked at; how often
        they were."""
        heap = self.heap
        if self._called_all:
            self._refuse_receivers()
        launching = heap.memory.launching
        this, is_part = object(), self._programs[0].is_launching
        launching[this] = is_part
        is_new = False
        try:
            while not self._is_current():
                # It looks at everything again, and goes on to use nothing else.
                del launching[this]
                for program in self._programs:
                    program.look_at_names()
                self._prepare()
                is_new = True
                launching[this] = is_part
            # Others may have changed what that rests on since the run began.
            may_be_one = self.may_be_one if is_new or heap.upkeep.is_shared else None
            if may_be_one is not None and not may_be_one():
                raise _NoLongerOneError(count)
            may_store_null = self._stores_references and self._called_all
            is_timed = self._packed.is_comparing or self._compared is not None
            is_one = may_store_null or is_timed
            times = count if self._is_settled and not is_one else 1
            if not self._is_settled:
                self._look_again(counts=not is_new)
            heap.before_launch()
            heap.note_launch(self._stores_references, self._stores_fields)
            self._replay(times)
            heap.memory.last_launch = object()
            return times
        finally:
            launching.pop(this, None)

    def _replay(self, times: int) -> None:
        packed, backend = self._packed, self.heap.backend
        if packed.is_comparing:
            if packed.run():
                self._bindings = []
            return
        if self._compared is not None:
            self._timed(self._replay_parts)
            return
        for part in self._ready:
            backend.replay(part, times)

    def _replay_parts(self) -> None:
        for part in self._ready:
            self.heap.backend.replay(part, 1)

    def _timed(self, start: Callable[[], None]) -> None:
        """Start a run, which is timed."""
        assert self._compared is not None
        if self._compared.run(id(self), self._form, start):
            self._bindings = []

    def _look_again(self, counts: bool) -> None:
        """A run goes the way that was found: bind again before the next one, if that is to be
        looked at. ``counts``: whether it has not been looked at itself."""
        for binding in self._counted if counts else ():
            binding.count()
        if not self._are_arrays_settled or any(each.left <= 0 for each in self._counted):
            self._bindings = []

    @cached_property
    def _called_all(self) -> list[tuple[ObjectArray, str]]:
        return [pair for each in self._launches for pair in each.calls_on_all]

    def _refuse_receivers(self) -> None:
        """Raises ArgumentError if a method would be called on None, by what arrays hold now (a
        launch of the step itself may still store one), HeapError if on a deleted object."""
        for array, name in self._called_all:
            array._refuse_receivers(name)

    def _run_in_cpython(self) -> None:
        self._refuse_receivers()
        for each in self._launches:
            cpython_launches.run_threads(each.program, self.heap, each.arguments, each.geometry)

    def _locked(self, programs: Sequence[Program], work: Callable[..., None], *given: int) -> None:
        """Nobody else may bind a program between its being bound here and its being run. No signal
        comes between taking a lock and the block of its ``with``."""
        if not programs:
            work(*given)
            return
        with programs[0].lock:
            if len(programs) == 1:
                work(*given)
            else:
                self._locked(programs[1:], work, *given)

    def _is_current(self) -> bool:
        heap = self.heap
        for binding in self._bindings:
            if not binding.holds(heap):
                return False
        for array, run in self._runs:
            if array._run is not run:
                return False
        return bool(self._bindings)

    def _bind_all(self) -> list[Binding]:
        """What the launches are bound to. All are looked at (``clustering``) before any is
        compiled; one that stands in several places is bound once, and counts as often."""
        often = Counter(self._launches)
        for each in often:
            each.program.plan.pack(each.slots, each.arguments)  # raises for what is no more
        asked = [(e.program, e.geometry, e.arguments, e.mode, e.debug) for e in often]
        looked = clustering.consider(self.heap, asked, self._looks_amid)
        for counted, times in zip(looked, often.values(), strict=True):
            if counted is not None:
                counted.launches += times - 1
        found = {e: e.bind(self.heap, [by]) for e, by in zip(often, looked, strict=True)}
        return [found[each] for each in self._launches]

    def _prepare(self) -> None:
        """Bind all launches, and have the backend record them if that changed any."""
        heap, launches = self.heap, self._launches
        if not launches or heap.backend.name == "python":
            return
        self._bindings = []  # until all of the following is done
        self._packed.drop()
        self._stores_references = any(each.stores_references for each in launches)
        if self._stores_references:
            # After its first run no array is known to be a run, so let it be so in the first, too.
            heap.note_launch(stores_fields=())
        bound = self._bind_all()
        self._stores_fields = frozenset().union(*(each.stores_fields for each in bound))
        parts = [launches[: self._cut], launches[self._cut :]] if self._cut else [launches]
        prepared = [[one for each in part for one in each.prepared(heap)] for part in parts]
        key = [[each.key for each in part] for part in prepared]
        if key != self._key:
            self._ready = [heap.backend.record(part) for part in prepared]
            self._key = key
        self._bound = bound
        self._compared = next((each.compared for each in bound if each.compared), None)
        self._form = tuple([each.geometry.threads for each in launches])
        self._is_settled = all(each.is_settled and each.counted is None for each in bound)
        self._counted = [each for each in bound if each.counted is not None]
        self._are_arrays_settled = all(each.are_arrays_settled for each in bound)
        found = {
            (id(array), id(run)): (array, run)
            for each, launch in zip(bound, launches, strict=True)
            for place, _, run in each.run_places
            for array in (launch.arguments[place],)
        }
        self._runs = [*found.values()]
        # What the others of a unit were bound to was the same, or is no more.
        self._bindings = [*{each.unit: each for each in bound}.values()]
        if len({each.epoch for each in bound}) > 1:
            self._bindings = []
