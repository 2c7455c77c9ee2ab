"""From a function to a running launch: translation, units, and the path that every launch takes.

A launch asks whether its binding still holds (``binding``), which costs a few comparisons
(``launch_code``). Only where it does not is what the code rests on asked again, and only where the
answers are others is anything compiled.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, cast

from dispatch.dataclass import replace
from dispatch.mode import Mode
from ptxpass.ir import Ranges

from ..backends import Backend
from ..backends.base import KernelLaunch, Slots
from ..collection import nothing_collected
from ..errors import ArgumentError
from ..forks import renew_in_child
from ..frontend import Translation
from ..heap.foreign import let_go
from ..heap.heap import Heap, current_heap
from ..heap.recording import recorder, refuse_others, taping
from ..ir.certain_receivers import certain_receivers
from ..ir.job import Facts, Job, Question, Uses
from ..ir.number_parts import slot_of
from ..model.clusters import Clusters
from ..model.layout import Layout
from ..model.world import World
from ..targets.base import Target
from . import clustering, compared_clusters, cpython_launches, knobs, known_ranges, planned_clusters
from .arguments import ArgumentPlan, refuse_nulls
from .binding import Binding
from .bound_names import NO_NAMES, BoundNames
from .clustering import Launched
from .facts import NOTHING, Given, Now
from .foreign_arguments import adopted, foreign_places
from .geometry import Geometry, Pair
from .launch_code import Launch, quick_launcher
from .launch_settings import own_settings
from .packing import Packing
from .pipeline import Compilation, compile
from .populations import changing, look_after, turns_in
from .program_source import Source
from .specialisation import Constants, FixedWords, Specialisation, number_slots, words_of
from .unit import Unit, release, release_left

_LAUNCHERS_KEPT = 256
_UNBOUND = Binding(lambda: None, cast(Unit, None), -1, [])


class Program:
    """A program that can be launched, with its compiled units."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.plan = ArgumentPlan(source.name, source.signature)
        #: Held while a launch is made ready and given to the backend.
        self.lock = renew_in_child(threading.RLock())
        #: Whether the calling thread holds it.
        self.is_launching: Callable[[], bool] = self.lock._is_owned
        #: The leaves of the arguments of the launch that has the lock.
        self.slots = self.plan.new_slots()
        #: Of the last launch with the settings of its heap.
        self.binding = _UNBOUND
        self._uses: Uses | None = None
        self._names = NO_NAMES
        #: What was asked for code that there is, and the code, by what was asked for and answered.
        self._asked: dict[tuple[Question, ...], None] = {}
        self._compilations: dict[Job, Compilation] = {}
        self.specialisation = Specialisation()
        self.packing = Packing()
        self._units: weakref.WeakKeyDictionary[Backend, dict[Job, Unit]]
        self._units = weakref.WeakKeyDictionary()
        self._numbers = itertools.count()
        self._launchers: dict[Geometry, Launch] = {}
        self._new_launcher = quick_launcher(
            self, source.signature.types, self.plan.formats, self.plan.elements
        )

    # ---------------------------------------------------------------- launching

    def launcher(self, geometry: Geometry) -> Launch:
        """A function that launches with the arguments that it is given, and the options ``mode``
        and ``debug``. It returns at once where the backend can."""
        found = self._launchers.get(geometry)
        if found is None:
            if len(self._launchers) >= _LAUNCHERS_KEPT:
                self._launchers.clear()
            found = self._new_launcher(next(self._numbers), geometry)
            self._launchers[geometry] = found
        return found

    def launch_carefully(
        self,
        number: int,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        named: Mapping[str, Any],
        mode: Any,
        debug: Any,
    ) -> None:
        """Launch with any arguments, whatever has changed. ``number`` is that of the launcher,
        ``mode`` and ``debug`` are settings of this launch's own or None.

        Raises ArgumentError for a wrong number or type of arguments.
        """
        recording = recorder()
        if named or len(arguments) != self.plan.count:
            arguments = self.plan.in_order(arguments, named)
        foreign = foreign_places(self, arguments)
        if foreign:
            arguments = adopted(self, arguments, foreign)
        if not geometry.is_empty and any(each is None for each in arguments):
            with self.lock:
                needed = certain_receivers(self.translation().ir)
            refuse_nulls(self.source.name, self.source.signature.names, needed, arguments)
        if recording is not None:
            recording.record(self, geometry, arguments, mode, debug)
            return
        before = self.slots[:] if self.is_launching() else None
        try:
            self._launch_now(number, geometry, arguments, mode, debug)
        finally:
            if before is not None:  # a signal's handler launches amid a launch of this thread
                self.slots[:] = before
        for place in foreign:
            let_go(arguments[place])

    def _launch_now(
        self, number: int, geometry: Geometry, arguments: tuple[Any, ...], mode: Any, debug: Any
    ) -> None:
        with self.lock:
            heap: Heap = self.plan.pack(self.slots, arguments) or current_heap()
            if taping:
                heap.note_launcher()
            deferred = heap.memory.deferred
            if deferred is None or deferred.is_launching_here():
                self._launch_packed(number, heap, geometry, arguments, mode, debug)
                return
        deferred.launch()  # without the lock: it may launch this program in another thread
        with self.lock:
            self.plan.pack(self.slots, arguments)
            self._launch_packed(number, heap, geometry, arguments, mode, debug)

    def _launch_packed(
        self,
        number: int,
        heap: Heap,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        mode: Any,
        debug: Any,
    ) -> None:
        """Launch, before or after which populations are looked at, with arguments that are in
        ``slots``; the caller has the lock."""
        slots = self.slots
        if heap.backend.name == "python" and not self.source.is_derived:
            own_settings(heap, mode, debug)
            if not geometry.is_empty:
                cpython_launches.launch(self, heap, arguments, geometry)
            return
        self.look_at_names()
        births = self.uses().births
        if births and not geometry.is_empty:
            turns = turns_in(self.uses(), geometry, arguments)
            given = number, heap, slots, arguments, geometry, mode, debug
            changing(heap, births, geometry, turns, partial(self._launch, *given))
            heap.synchronize()
            if births.changes:
                look_after(heap, births, geometry, turns)
        else:
            self._launch(number, heap, slots, arguments, geometry, mode, debug)

    def _launch(
        self,
        number: int,
        heap: Heap,
        slots: Slots,
        arguments: tuple[Any, ...],
        geometry: Geometry,
        mode: Any,
        debug: Any,
    ) -> None:
        """Launch with arguments that are packed in ``slots``."""
        is_usual = mode is debug is None
        binding = self.binding if is_usual and self.binding.suits(geometry) else _UNBOUND
        launching = heap.memory.launching
        this = object()
        launching[this] = self.is_launching
        is_new = False
        try:
            while not (binding.holds(heap) and binding.takes(slots, arguments)):
                # It looks at everything again, and goes on to use nothing else.
                del launching[this]
                settings = own_settings(heap, mode, debug)
                binding = self.bind(
                    heap, *settings, slots, arguments, geometry, is_watched=is_usual
                )
                launching[this] = self.is_launching
                is_new = True
                if is_usual:
                    self.binding = binding
            refuse_others(heap)
            if heap.memory.alone is not None:
                heap.memory.alone.launch()  # raises, where it is another thread's
            self._look_at_arrays(binding.stores_references, arguments, heap)
            if geometry.is_empty:
                return
            start = binding.starts.get(number)
            if start is None:
                start = heap.backend.prepare(self.prepared(heap, binding.unit, geometry, slots))
                if binding.watched:
                    words = partial(words_of, slots, binding.watched)
                    start = self.specialisation.started(self, binding, number, words, start)
                if binding.is_compared:
                    start = self.packing.started(self, binding, number, geometry, start)
                if binding.compared is not None:
                    start = binding.compared.started(self, number, start)
                if binding.is_settled:
                    binding.keep(number, geometry, start)
                if not is_new and not clustering.is_small(geometry):
                    binding.count()
            heap.before_launch()
            heap.note_launch(binding.stores_references, binding.stores_fields)
            start()
            heap.memory.last_launch = object()
        finally:
            launching.pop(this, None)

    def prepared(self, heap: Heap, unit: Unit, geometry: Geometry, slots: Slots) -> KernelLaunch:
        """What a launch of ``geometry`` with the arguments in ``slots`` is to the backend."""
        block = self.block(heap.backend, geometry)
        return KernelLaunch(
            unit.handle, geometry.threads, block, slots, self.plan.leaf_count,
            in_order=self.source.in_order, at_once=unit.compilation.outline.at_once,
        )  # fmt: skip

    def block(self, backend: Backend, geometry: Geometry) -> Pair:
        """The block that a launch asks for, else what the backend thinks best."""
        if geometry.is_usual and not self.source.uses_barrier:
            return backend.usual_block(geometry.threads, geometry.block)
        return geometry.block

    @nothing_collected()  # between translating and compiling, either
    def bind(
        self,
        heap: Heap,
        mode: Mode,
        debug: bool,
        slots: Slots,
        arguments: tuple[Any, ...],
        geometry: Geometry,
        fixed_but: Collection[int] | None = None,
        is_watched: bool = False,
        looked: Sequence[Launched | None] = (),
        packs: bool = False,
    ) -> Binding:
        """Make code ready for ``arguments``, and pack them in ``slots``: it is compiled if there is
        none that still holds, its state block filled, and where runs begin written to ``slots``.
        ``fixed_but``: numbers among them are constants of this launch, but for these parameters;
        ``is_watched``: those that stay the same may become constants (``specialisation``);
        ``looked``: what ``clustering.consider`` said; ``packs``: whether a launch of a captured
        step packs threads (``packed_steps``).
        """
        # Where an array was a run when it was bound before, its address has gone from the slots.
        self.plan.pack(slots, arguments)
        planned_clusters.launches_on(self, heap)
        (counted,) = looked or clustering.consider(heap, [(self, geometry, arguments, mode, debug)])
        looks = clustering.looks(self, mode, debug) and heap.layout.is_open
        epoch = World.epoch + heap.layout_epoch
        places = self.uses().indexed_parameters if mode.by_population else ()
        runs = {place: arguments[place]._run for place in places}
        forms = tuple((place, run.form) for place, run in runs.items() if run is not None)
        first = self.plan.first_slots
        uses = self.uses()
        scalars = number_slots(uses, first)
        constants: Constants = ()
        if fixed_but is not None and not self.source.is_general:
            block = self.block(heap.backend, geometry) if heap.backend.target.is_device else None
            words = words_of(slots, [each for each in scalars if each[0] not in fixed_but])
            constants = self.specialisation.fixed(words, block)
        is_compared = is_watched and self.may_specialise(heap, debug)
        if not is_compared:
            scalars = []
        if scalars:
            constants = self.specialisation.of_launch(words_of(slots, scalars))
        nones = frozenset(place for place in uses.references if arguments[place] is None)
        packs = packs or (is_compared and self.packing.of_launch(heap, geometry))
        given = Given(forms, constants, nones, packs)
        unit = self._bound_unit(heap, mode, debug, given)
        if scalars and constants and not self.specialisation.admits(unit, heap.backend):
            constants = ()
            unit = self._bound_unit(heap, mode, debug, replace(given, constants=()))
        known_ranges.prepare(self, heap, unit, Now(uses, heap, NOTHING).where)
        known = () if fixed_but is not None else unit.compilation.job.facts.words
        fixed = FixedWords(slots, [(slot_of(place, first), word) for place, word in known])
        facts = unit.compilation.job.facts
        asked = [place for (place,), _ in facts.asked("run")]
        for place in asked:
            if (run := runs.get(place)) is not None:  # none, if it was redefined meanwhile
                slots[first[place]] = run.first
        stores = self.uses().stores_references and not self.source.keeps_arrays
        fields, watched = self.uses().stored_fields, heap.distinct.watched
        compared = compared_clusters.of(heap)
        are_settled = self._look_at_arrays(stores, arguments, heap)
        return Binding(
            heap.weak,
            unit,
            epoch,
            unit.state,
            tuple([(place, first[place], runs.get(place)) for place in asked]),
            stores,
            watched if fields is None else fields & watched,
            self._names,
            are_settled,
            # Launches that change populations are made ready one by one.
            are_settled and not self.uses().births,
            counted,
            looks and clustering.is_small(geometry),
            fixed.slots_view,
            fixed.known,
            constants,
            tuple([(place, is_object) for (place,), is_object in facts.asked("is_object")]),
            tuple(scalars),
            is_compared,
            any(is_packed for _, is_packed in facts.asked("packs")),
            compared if compared is not None and compared.concerns(unit) else None,
        )

    def may_specialise(self, heap: Heap, debug: bool) -> bool:
        """Whether numbers that stay the same may become constants, and launches be compared. Fast
        arithmetic of constants is not that of variables, and results are not to depend on when code
        is replaced."""
        is_asked = not debug and not self.source.is_general and knobs.specialise.value()
        return is_asked and not heap.fastmath

    def read_frozen(self, heap: Heap, constants: Constants) -> None:
        """Read what code is going to know of frozen objects, while nobody else may."""
        now = Now(self.uses(), heap, Given((), constants))
        for place in self.uses().frozen:
            now.frozen(place)

    def bind_next(self, binding: Binding | None) -> None:
        """The next launch goes by ``binding`` if that still holds, else is bound."""
        self.binding = _UNBOUND if binding is None else binding

    def _look_at_arrays(self, stores: bool, arguments: tuple[Any, ...], heap: Heap) -> bool:
        try:
            found = self.uses().element_stores if stores else None
            return self.plan.look_at_arrays(found, arguments, heap)
        except ArgumentError:
            self.binding = _UNBOUND  # or the same arguments would be taken for usual ones
            raise

    def _bound_unit(self, heap: Heap, mode: Mode, debug: bool, given: Given) -> Unit:
        """Other threads may make objects, or change clusters, while code is compiled; it must be
        that for the heap whose words fill its state block."""
        while True:
            unit = self.unit(heap, mode, debug, given)
            facts = unit.compilation.job.facts
            with heap.lock:
                # First, as making room for them may change the facts.
                words = heap.launch_state(debug)
                now = Now(self.uses(), heap, given)
                if facts.still_hold(now.answer):
                    bounds = now.bounds if any(facts.asked("ranges")) else []
                    table = heap.memory.births.table if self.uses().births.made else 0
                    unit.bind(heap, words, bounds, table)
                    return unit

    # ---------------------------------------------------------------- compiling

    def last_given(self, heap: Heap, mode: Mode) -> Given:
        """What the last launch was given, if it was on ``heap`` in ``mode``; a captured step has a
        binding of its own."""
        usual = self.binding
        same = usual.heap() is heap and usual.unit.compilation.job.mode == mode
        return Given(usual.runs) if same else NOTHING

    def unit(self, heap: Heap, mode: Mode, debug: bool, given: Given = NOTHING) -> Unit:
        """Loaded code for launches on ``heap``, compiled if there is none that still holds."""
        with self.lock:
            made = self.compilation(heap, mode, debug, heap.backend.target, given)
            loaded = self._units.setdefault(heap.backend, {})
            if made.job not in loaded:
                release_left(heap.backend)
                loaded[made.job] = Unit(made, heap.backend)
            return loaded[made.job]

    def compilation(
        self, heap: Heap, mode: Mode, debug: bool, target: Target, given: Given = NOTHING
    ) -> Compilation:
        """Compiled for ``target`` and for ``heap``'s layout and references."""
        with self.lock:
            job = self.job(heap, mode, debug, target, given)
            found = self._known(job)
            if found is not None:
                return found
            made = _compiled(job, lambda: self._general_job(heap, mode, debug, target, given))
            if made.job is not job and any(made.job.facts.asked("ranges")):
                known_ranges.begin_general(heap, self.uses())
            return self._keep(made)

    def _general_job(
        self, heap: Heap, mode: Mode, debug: bool, target: Target, given: Given
    ) -> Job | None:
        """What would do for launches wherever objects lie, unless there is code for fields that lie
        as they do now, which they would leave."""
        uses, loaded = self.uses(), self._units.get(heap.backend, {}).values()
        stale = len(self.code_to_change(heap, heap.layout.clusters))
        if stale < sum(unit.heap() is heap for unit in loaded):
            return None
        if not known_ranges.may_begin_general(heap, uses, Now(uses, heap, given).where):
            return None
        return self.job(heap, mode, debug, target, given, known_ranges.GENERAL)

    def _known(self, job: Job) -> Compilation | None:
        """What was made of a job of which nothing was asked yet."""
        for questions in self._asked:
            found = self._compilations.get(replace(job, facts=job.facts.again(questions)))
            if found is not None:
                return found
        return None

    def _keep(self, made: Compilation) -> Compilation:
        self._asked[made.job.facts.questions] = None
        return self._compilations.setdefault(made.job, made)

    def code_to_change(self, heap: Heap, clusters: Clusters) -> list[Unit]:
        """The loaded code for launches on ``heap`` that rests on other clusters than these. Takes
        no lock."""
        return [
            unit
            for job, unit in list(self._units.get(heap.backend, {}).items())
            if unit.heap() is heap
            and any(clusters.within([f]) != known for (f,), known in job.facts.asked("clusters"))
        ]

    def make_ready(
        self,
        unit: Unit,
        heap: Heap,
        layout: Layout | None = None,
        constants: Constants = (),
        ranges: Ranges | None = None,
        packs: bool | None = None,
    ) -> bool:
        """Have what ``unit`` would be if objects of ``heap`` lay as ``layout`` says, with these
        ``constants``, if it knew these ``ranges`` or packed threads, compiled while launches go on;
        False if it is there, or nothing is launched that way any more."""
        old = unit.compilation.job
        given = Given.of(old.facts)
        layout = layout or old.layout
        with self.lock:
            # Not ``uses()``: where units are dropped, errors are raised that are for who launches.
            uses = self._uses
            if uses is None or uses.program is not old.program:
                return False
            if not old.facts.still_hold(Now(uses, heap, given, reads=False).answer):
                return False
            packs = given.packs if packs is None else packs
            given = replace(given, constants=constants or given.constants, packs=packs)
            now = Now(uses, heap, given, layout, reads=False, ranges=ranges)
            facts = Facts(uses, now.answer, old.mode.by_population, old.debug)
            job = replace(old, layout=layout, facts=facts)
            found = self._known(job)
            if found is not None and found.job in self._units.get(heap.backend, {}):
                return False
        made = found or _compiled(job)
        loaded = Unit(made, heap.backend)
        with self.lock:
            units = self._units.get(heap.backend, {})
            is_used = self._uses is uses and units.setdefault(made.job, loaded) is loaded
            if is_used:
                self._keep(made)
        if not is_used:  # something was redefined, or launched that way
            loaded.forget(heap.backend)
        return is_used

    def variants(self, heap: Heap, mode: Mode, debug: bool) -> list[Compilation]:
        """What there is for launches on ``heap`` in which some arguments are constants."""
        with self.lock:
            *settings, _ = self.job(heap, mode, debug, heap.backend.target).key
            return [
                made
                for job, made in self._compilations.items()
                if [*job.key[:-1]] == settings and job.facts.words
            ]

    def job(
        self,
        heap: Heap,
        mode: Mode,
        debug: bool,
        target: Target,
        given: Given = NOTHING,
        ranges: Ranges | None = None,
    ) -> Job:
        """What is to be compiled for this; nothing was asked yet."""
        uses = self.uses()
        now = Now(uses, heap, given, ranges=ranges)
        facts = Facts(uses, now.answer, mode.by_population, debug)
        return Job(
            self.source.name, uses.program, target, now.layout, heap.encoding, mode, debug,
            heap.fastmath, knobs.lines.value(), facts,
        )  # fmt: skip

    def translation(self) -> Translation:
        """The typed tree, made again when a fact that it rests on no longer holds."""
        found = self.uses().translation
        assert isinstance(found, Translation)
        return found

    def uses(self) -> Uses:
        """What the program uses, as the world is now."""
        with self.lock:
            self.look_at_names()
            known = self._uses
            if known is not None and not known.translation.current():
                self._drop_units()
                known = None
            if known is None:
                with nothing_collected():
                    made = self.source.translate()
                    known = self._uses = Uses(made, self.source.receivers)
                self._names = BoundNames(made.dependencies)
            return known

    @property
    def names(self) -> BoundNames:
        """What it was made from, as it was then."""
        return self._names

    def look_at_names(self) -> None:
        """If a name that the program was made from means something else, all who rest on what names
        mean look again."""
        names = self._names
        if not (names.hold() or names.are_equal()):
            World.advance()

    def _drop_units(self) -> None:
        self._uses, self.binding, self._names = None, _UNBOUND, NO_NAMES
        self.specialisation, self.packing = Specialisation(), Packing()
        self._asked.clear()
        self._compilations.clear()
        stale = [(backend, list(units.values())) for backend, units in self._units.items()]
        self._units.clear()
        for backend, units in stale:
            release(backend, units)


def _compiled(job: Job, instead: Callable[[], Job | None] = lambda: None) -> Compilation:
    with nothing_collected():
        return compile(job, instead)
