"""From a function to a running launch: translation, units, and the path that every launch takes.

A launch compares one integer, the sum of the world's and the heap's layout epochs (both only grow),
with the one its unit was last bound at (``launch_code``). Only when it differs are the facts that
the code was made from looked at again, and only when one no longer holds is anything compiled.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dispatch.mode import Mode, parse_mode

from ..backends import Backend
from ..backends.base import KernelLaunch, Slots
from ..errors import ArgumentError, ConfigurationError
from ..forks import renew_in_child
from ..frontend import Translation
from ..frontend.array_use import (
    ElementStores,
    array_fields,
    element_stores,
    indexed_parameters,
    stores_references,
)
from ..frontend.certain_receivers import certain_receivers
from ..frontend.field_use import families_used
from ..heap.heap import Heap, current_heap
from ..heap.recording import recorder
from ..model.classes import ClassType, Family, Signature
from ..model.run_form import PieceField, RunForm
from ..model.world import World
from ..targets.base import Target
from . import clustering, cpython, knobs
from .arguments import ArgumentPlan
from .bound_names import NO_NAMES, BoundNames
from .geometry import Geometry, Pair
from .launch_code import Launch, quick_launcher
from .pipeline import Compilation, Facts, compile
from .population import Population, classes_met
from .unit import Unit, release


@dataclass(frozen=True)
class Source:
    """A program before compilation: its launch parameters, its typed tree as the world is now, and
    the function that CPython runs for it."""

    name: str
    signature: Signature
    translate: Callable[[], Translation]
    function: Callable[..., None]
    uses_barrier: bool
    #: Whether a method is called on every element of its first argument, so that none may be null.
    calls_all: bool = False
    #: How many of the first parameters are receivers of a method that is called on all of them.
    receivers: int = 0


Runs = tuple[tuple[int, RunForm], ...]
_LAUNCHERS_KEPT = 256


@dataclass(eq=False)
class Binding:
    """Where a launch goes: a heap, the unit made ready for it (None: CPython runs the function),
    and the epoch up to which it is."""

    heap: Callable[[], Heap | None]
    unit: Unit | None
    epoch: int
    #: Parameters that may be runs: the place of each, its first slot, and what the code knows of
    #: the run that it was (None: it was none).
    run_places: tuple[tuple[int, int, RunForm | None], ...] = ()
    #: Whether a launch may change elements of arrays of references.
    stores_references: bool = False
    #: Names that the program was made from.
    names: BoundNames = NO_NAMES
    #: Whether the next launch may go the same way without being looked at (``clustering``).
    is_settled: bool = True
    #: Whether that holds for small launches only, as none of others was looked at.
    is_for_small: bool = False
    #: What starts the launches of each number, by ``Backend.prepare``.
    starts: dict[int, Callable[[], None]] = field(default_factory=dict)

    @property
    def runs(self) -> Runs:
        return tuple((place, form) for place, _, form in self.run_places if form is not None)

    def suits(self, geometry: Geometry) -> bool:
        """Whether a launch of so many threads may go the same way without being looked at."""
        return self.is_settled and not (self.is_for_small and not clustering.is_small(geometry))

    def write_runs(self, slots: Slots, arguments: tuple[Any, ...]) -> bool:
        """Write where the runs among ``arguments`` begin; False if other arguments are runs, or of
        another form, than this was made for."""
        for place, slot, form in self.run_places:
            run = arguments[place]._run
            if run is None:
                if form is not None:
                    return False
            elif run.form is form or run.form == form:
                slots[slot] = run.first
            else:
                return False
        return True


_UNBOUND = Binding(lambda: None, None, -1)


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
        self._translation: Translation | None = None
        self._classes_met: frozenset[int] | None = None
        self._array_fields: frozenset[tuple[ClassType, str]] | None = None
        self._families: frozenset[Family] | None = None
        self._element_stores: ElementStores | None = None
        self._checked_at = -1
        self._names = NO_NAMES
        self._compilations: dict[tuple[Any, ...], Compilation] = {}
        self._units: weakref.WeakKeyDictionary[Backend, dict[Compilation, Unit]]
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
        if named or len(arguments) != self.plan.count:
            arguments = self.plan.in_order(arguments, named)
        if not geometry.is_empty and any(each is None for each in arguments):
            self._refuse_nulls(arguments)
        recording = recorder()
        if recording is not None:
            recording.record(self, geometry, arguments, mode, debug)
            return
        with self.lock:
            slots = self.slots
            heap: Heap = self.plan.pack(slots, arguments) or current_heap()
            self.look_at_names()
            is_usual = mode is None and debug is None
            binding = self.binding if is_usual and self.binding.suits(geometry) else _UNBOUND
            launching = heap.memory.launching
            this = object()
            launching[this] = self.is_launching
            try:
                while (
                    binding.epoch != World.epoch + heap.placement.layout_epoch
                    or binding.heap() is not heap
                    or not binding.write_runs(slots, arguments)
                ):
                    # It looks at everything again, and goes on to use nothing else.
                    del launching[this]
                    settings = own_settings(heap, mode, debug)
                    binding = self.bind(heap, *settings, slots, arguments, geometry)
                    launching[this] = self.is_launching
                    if is_usual:
                        self.binding = binding
                if binding.unit is not None:
                    self._look_at_arrays(binding.stores_references, arguments, heap)
                if geometry.is_empty:
                    return
                if binding.unit is None:
                    launching[this] = cpython.part_of_launch()
                    heap.synchronize()
                    cpython.launch(self.source, self.plan.host_values(arguments), geometry)
                    return
                start = binding.starts.get(number)
                if start is None:
                    start = heap.backend.prepare(self.prepared(heap, binding.unit, geometry, slots))
                    if len(binding.starts) >= _LAUNCHERS_KEPT:
                        binding.starts.clear()
                    if binding.is_settled:
                        binding.starts[number] = start
                heap.before_launch()
                heap.note_launch(binding.stores_references)
                start()
                heap.memory.last_launch = object()
            finally:
                launching.pop(this, None)

    def _refuse_nulls(self, arguments: tuple[Any, ...]) -> None:
        """Raise ArgumentError for None where the program is certain to use it as an object."""
        with self.lock:
            needed = certain_receivers(self.translation().program)
        for place, arrays in needed.items():
            if arguments[place] is None and all(len(arguments[each]) for each in arrays):
                name = self.source.signature.names[place]
                raise ArgumentError(
                    f"kernel {self.source.name}, argument {name}: this is None, and the kernel "
                    "uses it as an object",
                    f"pass an object, or test it in the kernel first: if {name} is not None",
                )

    def prepared(self, heap: Heap, unit: Unit, geometry: Geometry, slots: Slots) -> KernelLaunch:
        """What a launch of ``geometry`` with the arguments in ``slots`` is to the backend."""
        block = self._block(heap.backend, geometry)
        return KernelLaunch(unit.handle, geometry.threads, block, slots, self.plan.leaf_count)

    def _block(self, backend: Backend, geometry: Geometry) -> Pair:
        """The block that a launch asks for, else what the backend thinks best."""
        if geometry.is_usual and not self.source.uses_barrier:
            return backend.usual_block(geometry.threads, geometry.block)
        return geometry.block

    def bind(
        self,
        heap: Heap,
        mode: Mode,
        debug: bool,
        slots: Slots,
        arguments: tuple[Any, ...],
        geometry: Geometry,
    ) -> Binding:
        """Make code ready for ``arguments``, which are packed in ``slots``: it is compiled if there
        is none that still holds, its state block filled, and where runs begin written to ``slots``.

        Until somebody else binds the program or the epoch changes, the result stays good for
        arguments with the same runs.
        """
        self.binding = _UNBOUND  # the unit's state may be filled anew
        looks = mode.by_population and not debug
        is_settled = not (looks and clustering.consider(self, heap, geometry, arguments))
        is_for_small = looks and heap.layout.is_open and clustering.is_small(geometry)
        epoch = World.epoch + heap.layout_epoch
        if heap.backend.name == "python":
            return Binding(weakref.ref(heap), None, epoch)
        program, receivers = self.translation().program, self.source.receivers
        places = indexed_parameters(program, receivers) if mode.by_population else ()
        found = [(place, arguments[place]._run) for place in places]
        forms = [(place, None if run is None else run.form) for place, run in found]
        unit = self._bound_unit(heap, mode, debug, tuple((p, form) for p, form in forms if form))
        first = self.plan.first_slots
        run_places = tuple((place, first[place], form) for place, form in forms)
        for place, run in found:
            if run is not None:
                slots[first[place]] = run.first
        stores, names = unit.stores_references, self._names
        is_settled = self._look_at_arrays(stores, arguments, heap) and is_settled
        return Binding(
            weakref.ref(heap), unit, epoch, run_places, stores, names, is_settled, is_for_small
        )

    def _look_at_arrays(self, stores: bool, arguments: tuple[Any, ...], heap: Heap) -> bool:
        if stores and self._element_stores is None:
            self._element_stores = element_stores(self.translation().program)
        try:
            return self.plan.look_at_arrays(self._element_stores, arguments, heap)
        except ArgumentError:
            self.binding = _UNBOUND  # or the same arguments would be taken for usual ones
            raise

    def _bound_unit(self, heap: Heap, mode: Mode, debug: bool, runs: Runs) -> Unit:
        """Other threads may make objects, or change clusters, while code is compiled; it must be
        that for the heap whose words fill its state block."""
        while True:
            unit = self.unit(heap, mode, debug, runs)
            with heap.lock:
                # First, as making room for them may change the facts.
                words = heap.launch_state(debug)
                facts, bounds = self._facts(heap, mode, debug)
                made, families = unit.compilation, self.families()
                is_same = made.layout.key(families) == heap.layout.key(families)
                if is_same and made.facts == facts:
                    unit.bind(heap, words, [] if debug else bounds)
                    return unit

    # ---------------------------------------------------------------- compiling

    def last_runs(self, heap: Heap, mode: Mode) -> Runs:
        """The runs that the last launch had, if it was on ``heap`` in ``mode``."""
        usual = self.binding
        same = usual.unit is not None and usual.unit.compilation.mode == mode
        return usual.runs if same and usual.heap() is heap else ()

    def unit(self, heap: Heap, mode: Mode, debug: bool, runs: Runs = ()) -> Unit:
        """Loaded code for launches on ``heap``, compiled if there is none that still holds."""
        with self.lock:
            compilation = self.compilation(heap, mode, debug, heap.backend.target, runs)
            loaded = self._units.setdefault(heap.backend, {})
            if compilation not in loaded:
                loaded[compilation] = Unit(compilation, heap.backend)
            return loaded[compilation]

    def compilation(
        self, heap: Heap, mode: Mode, debug: bool, target: Target, runs: Runs = ()
    ) -> Compilation:
        """Compiled for ``target`` and for ``heap``'s layout and references."""
        with self.lock:
            program = self.translation().program
            layout, encoding = heap.layout, heap.encoding
            (population, pieces), _ = self._facts(heap, mode, debug)
            key = (
                target.fingerprint, mode, layout.key(self.families()), encoding.name, debug,
                heap.fastmath, population, runs, pieces,
            )  # fmt: skip
            found = self._compilations.get(key)
            if found is None:
                found = Compilation(
                    self.source.name, program, target, layout, encoding, mode, debug,
                    heap.fastmath, population, runs, pieces,
                )  # fmt: skip
                compile(found)
                self._compilations[key] = found
            return found

    def _facts(self, heap: Heap, mode: Mode, debug: bool) -> tuple[Facts, list[int]]:
        """What the code rests on besides the program, as it is now, and the population's bounds."""
        if not mode.by_population:
            return (None, ()), []
        with heap.lock:
            population, bounds = self._population(heap)
            return (population, () if debug else self._pieces(heap)), bounds

    def _population(self, heap: Heap) -> tuple[Population | None, list[int]]:
        """What the code may rest on; None for a program that calls nothing through a class."""
        if self._classes_met is None:
            self._classes_met = classes_met(self.translation().program)
        return Population.of(heap, self._classes_met) if self._classes_met else (None, [])

    def _pieces(self, heap: Heap) -> tuple[PieceField, ...]:
        """The fields whose arrays' elements the code may compute."""
        known = heap.pieces.known()
        if known and self._array_fields is None:
            program = self.translation().program
            changes = stores_references(program)
            self._array_fields = frozenset() if changes else array_fields(program)
        return tuple(
            each for each in known if (each.owner, each.name) in (self._array_fields or ())
        )

    def translation(self) -> Translation:
        """The typed tree, made again when a fact that it rests on no longer holds."""
        with self.lock:
            self.look_at_names()
            epoch = World.epoch
            known = self._translation
            if known is not None and self._checked_at != epoch and not known.current():
                self._drop_units()
                known = None
            if known is None:
                known = self._translation = self.source.translate()
                self._names = BoundNames(known.dependencies)
            self._checked_at = epoch
            return known

    def families(self) -> frozenset[Family]:
        """The families whose fields the program uses."""
        program = self.translation().program
        if self._families is None:
            self._families = families_used(program)
        return self._families

    def look_at_names(self) -> None:
        """If a name that the program was made from means something else, all who rest on what names
        mean look again."""
        names = self._names
        if not (names.hold() or names.are_equal()):
            World.advance()

    def _drop_units(self) -> None:
        self._translation, self.binding, self._names = None, _UNBOUND, NO_NAMES
        self._classes_met, self._array_fields, self._families = None, None, None
        self._element_stores = None
        self._compilations.clear()
        stale = [(backend, list(units.values())) for backend, units in self._units.items()]
        self._units.clear()
        for backend, units in stale:
            release(backend, units)


def launch_settings(heap: Heap, mode: Any, debug: Any) -> tuple[Mode, bool]:
    """The mode and debug setting of one launch: its own where given, else the heap's.

    Raises ConfigurationError for a mode that cannot find types in the objects of ``heap``.
    """
    chosen = heap.mode if mode is None else parse_mode(knobs.mode.resolve(mode))
    lacks = _lacks(heap.mode, chosen)
    if lacks:
        raise ConfigurationError(
            f"mode {chosen.name} cannot run on a heap of mode {heap.mode.name}: {lacks}",
            f"create the objects in a heap of that mode: with oa.Heap(mode={chosen.name!r}): ...",
        )
    return chosen, heap.debug if debug is None else knobs.debug.resolve(debug)


def own_settings(heap: Heap, mode: Any, debug: Any) -> tuple[Mode, bool]:
    """``launch_settings`` of a launch that is going to run.

    Raises ConfigurationError also for a debug launch on a heap that does not keep the list of
    addresses which it would look them up in.
    """
    chosen, debug = launch_settings(heap, mode, debug)
    if debug and not heap.debug and heap.mode.placement == "scattered":
        raise ConfigurationError(
            f"a heap of mode {heap.mode.name} knows its objects only in debug mode",
            f"create it with oa.Heap(mode={heap.mode.name!r}, debug=True) or SHAREDOA_DEBUG=1",
        )
    return chosen, debug


def _lacks(held: Mode, wanted: Mode) -> str:
    """What objects placed for ``held`` lack of what ``wanted`` reads; empty if nothing."""
    match wanted.identify:
        case "range" if held.placement != "by_type":
            return "its objects are not placed by type"
        case "bits" if not held.tagged_references:
            return "its references carry no type"
        case "header" | "tag" if held.header != wanted.header:
            return "its objects have no such header"
    if wanted.spare_uniform and held.header != wanted.header:
        return "calls with one receiver for a whole warp read a header that its objects lack"
    return ""
