"""From a function to a running launch: translation, units, and the path that every launch takes.

A launch compares one integer, the sum of the world's and the heap's layout epochs (both only grow),
with the one its unit was last bound at. Only when it differs are the facts that the code was made
from looked at again, and only when one no longer holds is anything compiled.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dispatch.mode import Mode, parse_mode

from ..backends import Backend
from ..errors import ConfigurationError
from ..frontend import Translation
from ..frontend.array_use import indexed_parameters
from ..heap.heap import Heap, current_heap
from ..model.classes import Signature
from ..model.run_form import RunForm
from ..model.world import World
from ..targets.base import Target
from . import cpython, knobs
from .arguments import ArgumentPlan
from .geometry import Geometry
from .pipeline import Compilation, compile
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


Runs = tuple[tuple[int, RunForm], ...]


@dataclass(eq=False)
class Binding:
    """Where a launch goes: a heap, the unit made ready for it (None: CPython runs the function),
    and the epoch up to which it is."""

    heap: Callable[[], Heap | None]
    unit: Unit | None
    epoch: int
    #: The parameters that are runs, with what is known of them; ``run_places`` may be runs.
    runs: Runs = ()
    run_places: tuple[int, ...] = ()


_UNBOUND = Binding(lambda: None, None, -1)


class Program:
    """A program that can be launched, with its compiled units."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.plan = ArgumentPlan(source.name, source.signature)
        self._slots = self.plan.new_slots()
        self._lock = threading.RLock()
        self._translation: Translation | None = None
        self._classes_met: frozenset[int] | None = None
        self._checked_at = -1
        self._compilations: dict[tuple[Any, ...], Compilation] = {}
        self._units: weakref.WeakKeyDictionary[Backend, dict[Compilation, Unit]]
        self._units = weakref.WeakKeyDictionary()
        self._usual = _UNBOUND

    # ---------------------------------------------------------------- launching

    def launch(self, geometry: Geometry, arguments: tuple[Any, ...]) -> None:
        """Pack, compare one integer, launch; returns at once where the backend can."""
        with self._lock:
            heap = self._pack(arguments)
            usual = self._usual
            if usual.heap() is not heap or usual.epoch != World.epoch + heap.layout_epoch:
                self._usual = _UNBOUND
                usual = self._usual = self._bind(heap, heap.mode, heap.debug, arguments)
            elif usual.run_places and self._runs(usual.run_places, arguments) != usual.runs:
                usual = self._usual = self._bind(heap, heap.mode, heap.debug, arguments)
            self._start(usual, heap, geometry, arguments)

    def launch_with(
        self, geometry: Geometry, arguments: tuple[Any, ...], mode: Any, debug: Any
    ) -> None:
        """A launch with a mode or debug setting of its own."""
        with self._lock:
            heap = self._pack(arguments)
            chosen, checked = launch_settings(heap, mode, debug)
            _require_registry(heap, checked)
            self._usual = _UNBOUND
            self._start(self._bind(heap, chosen, checked, arguments), heap, geometry, arguments)

    def _pack(self, arguments: tuple[Any, ...]) -> Heap:
        heap: Heap | None = self.plan.pack(self._slots, arguments)
        return current_heap() if heap is None else heap

    def _runs(self, places: tuple[int, ...], arguments: tuple[Any, ...]) -> Runs:
        """Which of the arguments at ``places`` are runs now."""
        found = ((place, arguments[place].run) for place in places)
        return tuple((place, run.form) for place, run in found if run is not None)

    def _start(
        self, binding: Binding, heap: Heap, geometry: Geometry, arguments: tuple[Any, ...]
    ) -> None:
        if geometry.is_empty:
            return
        unit = binding.unit
        if unit is None:
            heap.synchronize()
            cpython.launch(self.source, self.plan.host_values(arguments), geometry)
            return
        for place, _ in binding.runs:
            self._slots[self.plan.first_slots[place]] = arguments[place].run.first
        heap.before_launch()
        block = geometry.block
        if geometry.is_usual and not self.source.uses_barrier:
            block = heap.backend.usual_block(geometry.threads, block)
        heap.backend.launch(unit.handle, geometry.threads, block, self._slots, self.plan.leaf_count)
        heap.note_launch(unit.compilation.stores_references)

    def _bind(self, heap: Heap, mode: Mode, debug: bool, arguments: tuple[Any, ...]) -> Binding:
        epoch = World.epoch + heap.layout_epoch
        if heap.backend.name == "python":
            return Binding(weakref.ref(heap), None, epoch)
        places = indexed_parameters(self.translation().program) if mode.by_population else ()
        runs = self._runs(places, arguments)
        unit = self.unit(heap, mode, debug, runs)
        unit.bind(heap)
        return Binding(weakref.ref(heap), unit, epoch, runs, places)

    # ---------------------------------------------------------------- compiling

    def last_runs(self, heap: Heap, mode: Mode) -> Runs:
        """The runs that the last launch had, if it was on ``heap`` in ``mode``."""
        usual = self._usual
        same = usual.unit is not None and usual.unit.compilation.mode == mode
        return usual.runs if same and usual.heap() is heap else ()

    def unit(self, heap: Heap, mode: Mode, debug: bool, runs: Runs = ()) -> Unit:
        """Loaded code for launches on ``heap``, compiled if there is none that still holds."""
        with self._lock:
            compilation = self.compilation(heap, mode, debug, heap.backend.target, runs)
            loaded = self._units.setdefault(heap.backend, {})
            if compilation not in loaded:
                loaded[compilation] = Unit(compilation, heap.backend)
            return loaded[compilation]

    def compilation(
        self, heap: Heap, mode: Mode, debug: bool, target: Target, runs: Runs = ()
    ) -> Compilation:
        """Compiled for ``target`` and for ``heap``'s layout and references."""
        with self._lock:
            program = self.translation().program
            layout, encoding = heap.layout, heap.encoding
            population = self._population(heap) if mode.by_population else None
            key = (
                target.fingerprint, mode, layout.key, encoding.name, debug,
                population, runs,
            )  # fmt: skip
            found = self._compilations.get(key)
            if found is None:
                found = Compilation(
                    self.source.name, program, target, layout, encoding, mode, debug, population,
                    runs,
                )  # fmt: skip
                compile(found)
                self._compilations[key] = found
            return found

    def _population(self, heap: Heap) -> Population | None:
        """What the code may rest on; None for a program that calls nothing through a class."""
        if self._classes_met is None:
            self._classes_met = classes_met(self.translation().program)
        return Population.of(heap, self._classes_met) if self._classes_met else None

    def translation(self) -> Translation:
        """The typed tree, made again when a fact that it rests on no longer holds."""
        with self._lock:
            epoch = World.epoch
            known = self._translation
            if known is not None and self._checked_at != epoch and not known.current():
                self._drop_units()
                known = None
            if known is None:
                known = self._translation = self.source.translate()
            self._checked_at = epoch
            return known

    def _drop_units(self) -> None:
        self._translation, self._classes_met, self._usual = None, None, _UNBOUND
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


def _require_registry(heap: Heap, debug: bool) -> None:
    """Debug mode looks addresses up; of objects placed one by one only debug heaps keep a list."""
    if debug and not heap.debug and heap.mode.placement == "scattered":
        raise ConfigurationError(
            f"a heap of mode {heap.mode.name} knows its objects only in debug mode",
            f"create it with oa.Heap(mode={heap.mode.name!r}, debug=True) or SHAREDOA_DEBUG=1",
        )


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
