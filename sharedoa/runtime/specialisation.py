"""Which numbers among a launch's arguments are constants of its code.

The pass ``ir.passes.constant_arguments`` computes with them what can be computed when code is
compiled. Numbers that are given to a captured step never change, so its code knows them at once.
Those of other launches are *watched*: what was the same in some launches, and will be for longer
than compiling takes, as far as the past tells, becomes a constant of a *variant*, on which launches
with these very words go as long as they come (``Binding.fits`` compares all 64 bits of each).

A variant is *tried*: it and the code that knows nothing take turns, and it stays only if it saves
time. It is a bet, so its cost is bounded: a few variants a program, an argument that changed where
it was a constant is watched for longer and then never again, and a program whose numbers change
with every launch is not watched any more. Which code runs has no effect on results.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from dispatch.dataclass import dataclass, field

from ..backends.base import Backend, Slots
from ..ir.number_parts import slot_of
from . import background

if TYPE_CHECKING:
    from ..heap.heap import Heap
    from ..ir.job import Uses
    from .binding import Binding
    from .geometry import Pair
    from .launch import Program
    from .unit import Unit

Constants = tuple[tuple[int, int], ...]
"""Parameters, by number, and the word that each is given (``codegen.abi``)."""
Words = Mapping[int, int]
"""What the scalar parameters of a launch are given, by number."""
BLOCK = -1
"""In place of a parameter: the threads of a block along x and y, as one word."""
MOST_VARIANTS = 4
_MOST_CHANGES = 2
"""How often a constant may turn out not to be one, before its parameter is never one again."""
_GOLDEN = 0.6180339887498949
_MOST_COMPARED = 1024
"""Launches until a variant is dropped, as they are too different to compare."""
_LAUNCHES_BETWEEN_LOOKS = 64
"""While code is being compiled."""
_PAUSES = (64, 1024)
"""Launches until a program all of whose numbers change is watched again; then it is not."""


@dataclass
class Policy:
    """When launches get a variant; tests set these."""

    #: Launches that are looked at: an argument that is to be a constant was the same in all.
    looks: int = 8
    #: How long launches must have run beside what it takes to compile the variant.
    worth: float = 1.0
    #: How many launches of those on a device, which are not timed.
    launches_on_device: int = 64
    #: Pairs of launches that are compared; the first is not counted, as it fetches code.
    pairs: int = 9
    #: Which part of a launch's time, and how many seconds, a variant has to save.
    least_part: float = 0.02
    least_seconds: float = 0.2e-6


policy = Policy()


class Specialisation:
    """The variants of one program. All of it happens under the program's lock."""

    def __init__(self) -> None:
        self._variants: set[Constants] = set()
        #: What launches with these words have as constants.
        self._chosen: Constants = ()
        self._changes: Counter[int] = Counter()
        self._pauses = iter(_PAUSES)
        self._watch: _Watch | None = _Watch(policy.looks)
        self._trial: Trial | None = None
        #: How many times as fast launches are with a variant, by what it knows.
        self._speedups: dict[Constants, float] = {}
        self._refused: set[Constants] = set()

    # ---------------------------------------------------------------- what a launch may rest on

    def fixed(self, words: Words, block: Pair | None) -> Constants:
        """What code for a captured step with these words may rest on, which will never be others,
        and for blocks of so many threads, if that is of use."""
        if not words:
            return ()  # not for the block alone
        blocks = [] if block is None else [(BLOCK, word_of_block(block))]
        found = *words.items(), *blocks
        return found if self._admits(found) else ()

    def of_launch(self, words: Words) -> Constants:
        """What code for the next launch, with these words, may rest on."""
        changed = [place for place, word in self._chosen if words[place] != word]
        if changed:
            self._note_changes(changed)
        if self._trial is not None and not self._trial.is_turn_of_variant:
            return ()
        return self._chosen

    def _admits(self, constants: Constants) -> bool:
        if any(set(each).issubset(constants) for each in self._refused):
            return False
        if constants not in self._variants:
            if len(self._variants) >= MOST_VARIANTS:
                return False
            self._variants.add(constants)
        return True

    def verdict(self, words: Iterable[tuple[int, int]]) -> str:
        """Who runs the variant with these words, and what it brings, for ``explain()``."""
        constants = tuple(words)
        speedup = self._speedups.get(constants)
        times = "" if speedup is None else f", {speedup:.2f} times as fast"
        if constants in self._refused:
            return f"no launch runs it, as it saves too little{times}"
        if constants != self._chosen:
            return f"captured steps run it{times}"
        return f"launches {'are comparing' if self._trial else 'run'} it{times}"

    # ---------------------------------------------------------------- watching launches

    @property
    def is_compiling(self) -> bool:
        """Whether code is being made that launches are about to go on."""
        watch = self._watch
        return watch is not None and watch.task is not None and watch.task.is_pending

    def started(
        self,
        program: Program,
        binding: Binding,
        number: int,
        words: Callable[[], Words],
        start: Callable[[], None],
    ) -> Callable[[], None]:
        """``start``, which starts launches of ``number`` with ``binding``, and looks at them if
        anybody wants to know. ``words`` are those of the launch that was started last."""
        trial, watch = self._trial, self._watch
        if trial is not None:
            side = trial.enter(binding, int(bool(binding.constants)))
            return lambda: self._try(program, trial, side, number, start)
        if watch is None:
            return start
        if watch.left and not binding.is_settled:  # it is asked before every launch
            watch.left -= 1
            return start
        left = watch.left

        def watched() -> None:
            nonlocal left
            if left:
                left -= 1
                start()
                return
            begun = perf_counter()
            start()
            seconds = perf_counter() - begun
            if self._watch is watch:
                self._look(program, binding, watch, words(), seconds)
                left = watch.left

        return watched

    def _look(
        self, program: Program, binding: Binding, watch: _Watch, words: Words, seconds: float
    ) -> None:
        watch.note(words, seconds)
        same = watch.same(self._changes)
        if not same:
            pause = next(self._pauses, None)
            self._watch = None if pause is None else _Watch(policy.looks, pause)
        elif watch.is_enough and watch.pays(program, binding):
            if not self._admits(same):
                self._watch = None
            elif not self._is_made(program, binding, watch, same):
                return
            else:
                self._watch, self._chosen, self._trial = None, same, Trial(binding)
        else:
            return
        program.bind_next(None)  # what starts launches looks at them no more, or other code runs

    def _is_made(
        self, program: Program, binding: Binding, watch: _Watch, constants: Constants
    ) -> bool:
        """Whether there is the code that knows ``constants``, or the next launch is to compile it.
        Meanwhile launches go on as they are."""
        heap, unit = binding.heap(), binding.unit
        if heap is None or not background.is_on():
            return True
        known, beside = heap.weak, weakref.ref(unit)
        if watch.is_to_be_made(constants, beside):
            program.read_frozen(heap, constants)
            watch.wanted, watch.beside = constants, beside
            watch.tasks += 1
            watch.task = background.submit(
                lambda task: _make(program, unit, known, constants), background.Urgency.CONSTANTS
            )
        watch.left = min(watch.left, _LAUNCHES_BETWEEN_LOOKS)
        task = watch.task
        if task is not None and task.failure is not None:  # launches go on as they are
            self._refused.add(constants)
            self._watch = None
            return False
        return task is not None and task.is_done

    def _note_changes(self, places: Sequence[int]) -> None:
        """These were taken for constants, and have changed."""
        self._changes.update(places)
        self._chosen, self._trial = (), None
        self._watch = _Watch(policy.looks * 4 ** sum(self._changes.values()))

    # ---------------------------------------------------------------- comparing a variant

    def _try(
        self,
        program: Program,
        trial: Trial,
        side: int,
        number: int,
        start: Callable[[], None],
    ) -> None:
        begun = perf_counter()
        start()
        seconds = perf_counter() - begun
        if self._trial is not trial:
            return
        trial.note(side, number, seconds)
        verdict = trial.verdict(number)
        if verdict is None:
            program.bind_next(trial.next_binding())
            return
        self._trial = None
        self._conclude(verdict.is_better, verdict.speedup)
        program.bind_next(None)

    def admits(self, unit: Unit, backend: Backend) -> bool:
        """Whether launches may go on ``unit``, made for what was chosen. Of those on a device, who
        are under way when they return, the code itself has to tell: a variant must not need more
        memory of its own, nor leave room for fewer threads."""
        facts = unit.compilation.job.facts
        if not (facts.constants or any(each for _, each in facts.asked("frozen"))):
            # It is the same code.
            self._chosen, self._trial, self._watch = (), None, None
            return False
        self._chosen = tuple(facts.words)
        if self._trial is not None and unit.compilation.job.target.is_device:
            uses = [backend.attributes(each.handle) for each in (self._trial.generic.unit, unit)]
            self._trial = None
            spilled = [each.get("stack", 0) for each in uses]
            resident = [_resident_threads(each.get("registers", 0)) for each in uses]
            self._conclude(spilled[1] <= spilled[0] and resident[1] >= resident[0], None)
        return bool(self._chosen)

    def _conclude(self, is_better: bool, speedup: float | None) -> None:
        if speedup is not None:
            self._speedups[self._chosen] = speedup
        if not is_better:
            self._refused.add(self._chosen)
            self._chosen = ()


def _make(
    program: Program, unit: Unit, known: Callable[[], Heap | None], constants: Constants
) -> None:
    heap = known()
    if heap is not None:
        program.make_ready(unit, heap, constants=constants)


@dataclass
class _Watch:
    """What the numbers of launches were. ``looks``: how many launches to look at, ``left``: after
    how many others."""

    looks: int
    left: int = 0
    _launches: int = 0
    _seconds: list[float] = field(default_factory=list)
    _last: Words | None = None
    _changed: set[int] = field(default_factory=set)
    #: What is being compiled, for which constants, and beside which code; and how often there was
    #: something to compile.
    task: background.Task | None = None
    wanted: Constants = ()
    beside: weakref.ref[Unit] | None = None
    tasks: int = 0

    def note(self, words: Words, seconds: float) -> None:
        if self._last is not None:
            last = self._last
            self._changed.update(place for place in words if words[place] != last[place])
        self._last = words
        self._seconds.append(seconds)
        self._launches += 1
        if len(self._seconds) >= self.looks:
            # Twice as many until the next look: what looks cost is soon nothing.
            self.left = self._launches
            self._launches += self.left

    @property
    def is_enough(self) -> bool:
        return len(self._seconds) >= self.looks

    def is_to_be_made(self, constants: Constants, beside: weakref.ref[Unit]) -> bool:
        """Whether code that knows ``constants`` is to be compiled: it was not yet, or for code that
        launches have left since, as objects lie otherwise."""
        task = self.task
        if task is None or task.is_dropped or self.wanted != constants:
            return True
        return task.is_done and self.beside != beside and self.tasks < MOST_VARIANTS

    def same(self, changes: Mapping[int, int]) -> Constants:
        """Those that were the same in all, and have not changed too often before."""
        assert self._last is not None
        return tuple(
            (place, word)
            for place, word in self._last.items()
            if place not in self._changed and changes.get(place, 0) < _MOST_CHANGES
        )

    def pays(self, program: Program, binding: Binding) -> bool:
        """Whether launches have run for as long as it takes to compile the variant."""
        if binding.unit.compilation.job.target.is_device:
            return self._launches >= policy.launches_on_device
        run = median(self._seconds) * self._launches
        return run >= policy.worth * binding.unit.compilation.seconds


@dataclass(frozen=True)
class Verdict:
    is_better: bool
    speedup: float


class Trial:
    """Launches with the variant (side 1) and without (side 0), in turns that follow no period, as
    launches of several kinds may."""

    def __init__(self, generic: Binding) -> None:
        self.generic = generic
        self.is_turn_of_variant = True
        self._launches = 0
        self._bindings: list[Binding | None] = [None, None]
        self._seconds: dict[int, tuple[list[float], list[float]]] = {}

    def enter(self, binding: Binding, side: int) -> int:
        """Launches with ``binding`` are on that side."""
        self._bindings[side] = binding if binding.is_settled else None
        return side

    def note(self, side: int, number: int, seconds: float) -> None:
        self._seconds.setdefault(number, ([], []))[side].append(seconds)

    def next_binding(self) -> Binding | None:
        """What the side whose turn is next was bound to."""
        self._launches += 1
        self.is_turn_of_variant = self._launches * _GOLDEN % 1.0 < 0.5
        return self._bindings[self.is_turn_of_variant]

    def verdict(self, number: int) -> Verdict | None:
        """By launches of one ``number``, as others have other threads. Pairs are compared: what
        launches have to do changes in the course of a program."""
        generic, variant = self._seconds[number]
        pairs = [*zip(generic, variant, strict=False)][1:]
        if len(pairs) < policy.pairs:
            return Verdict(False, 1.0) if self._launches >= _MOST_COMPARED else None
        saved = median(without - with_ for without, with_ in pairs)
        usual = median(without for without, _ in pairs)
        least = max(policy.least_part * usual, policy.least_seconds)
        return Verdict(saved >= least, median(a / b for a, b in pairs if b) if usual else 1.0)


def _resident_threads(registers: int) -> int:
    """How many threads of NVIDIA's GPUs find room beside each other, by their registers."""
    return min(2048, 65536 // max(8, registers))


def word_of_block(block: Pair) -> int:
    return block[0] | block[1] << 32


def words_of(slots: Slots, places: Iterable[tuple[int, int]]) -> Words:
    """What parameters are given, by number; ``places``: each with its slot."""
    return {place: slots[slot] for place, slot in places}


def number_slots(uses: Uses, first: Sequence[int]) -> list[tuple[int, int]]:
    """The parameters of a program that are numbers which its code may know, or frozen objects, each
    with its slot; ``first``: that of each parameter."""
    return [(place, slot_of(place, first)) for place in (*uses.scalars, *uses.frozen)]


def differing(launches: Sequence[Words]) -> frozenset[int]:
    """Parameters that had better be none of the constants of a program that a captured step
    launches with these words: those that are not the same in all, if there are more of them than
    there may be variants."""
    if len({tuple(each.items()) for each in launches}) <= MOST_VARIANTS:
        return frozenset()
    first = launches[0]
    return frozenset(p for p in first if any(each[p] != first[p] for each in launches))


class FixedWords:
    """The words among a launch's slots that code has as constants: ``slots_view``, which compares
    equal to ``known`` as long as they are these. Both are None where there are none, which takes no
    time to compare."""

    def __init__(self, slots: Slots, constants: Sequence[tuple[int, int]]) -> None:
        """``constants``: by slot."""
        self.slots_view: Any = None
        self.known: Any = None
        if constants:
            words = memoryview(slots).cast("B").cast("Q")
            views, known = [], []
            for first, values in _neighbours(sorted(constants)):
                views.append(words[first : first + len(values)])
                copy = b"".join(value.to_bytes(8, "little") for value in values)
                known.append(memoryview(copy).cast("Q"))
            one = len(views) == 1
            self.slots_view, self.known = (
                (views[0], known[0]) if one else (tuple(views), tuple(known))
            )


def _neighbours(constants: Sequence[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """Words of slots in a row, with the first slot of each row."""
    rows: list[tuple[int, list[int]]] = []
    for slot, word in constants:
        if rows and slot == rows[-1][0] + len(rows[-1][1]):
            rows[-1][1].append(word)
        else:
            rows.append((slot, [word]))
    return rows
