"""What is so now of a heap's objects and of a launch's arguments: the answers to what code
generation asks (``ir.job.Facts``).

A class without a region has no objects, so no call can meet it; and while regions stay, so does the
order in which they lie. Both change only when a region is added, merged or dropped, and that raises
the heap's layout epoch, as do other clusters and other pieces. So while the world and the layout
have their epochs and the arguments are the same runs, all answers are what they were:
``binding.Binding.holds`` compares no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from dispatch import state
from dispatch.dataclass import dataclass
from dispatch.windows import Range, Windows
from ptxpass.ir import Ranges

from ..heap.heap import Heap
from ..ir.frozen import FrozenObject
from ..ir.job import Facts, Question, Uses
from ..model.classes import ClassType, Family
from ..model.clusters import Clusters
from ..model.layout import Layout
from ..model.run_form import RunForm
from . import known_ranges
from .binding import Runs
from .frozen_contents import frozen_contents
from .geometry import Pair
from .specialisation import BLOCK, Constants, word_of_block

T = TypeVar("T")
_MOST_RANGES_A_CLASS = 2
"""With more of them classes still grow: another range would mean another compilation."""
_MOST_SEARCHED = 4
"""Among so many ranges a search is as quick as telling windows (docs/performance/auto.md)."""


@dataclass(frozen=True)
class Given:
    """What code may know of a launch. Parameters, by number: those that are runs, and those that
    are constants (``specialisation``), among which the threads of a block count; and those that are
    None. ``packs``: whether it had better pack threads (``packing``)."""

    runs: Runs = ()
    constants: Constants = ()
    nones: frozenset[int] = frozenset()
    packs: bool = False

    @classmethod
    def of(cls, facts: Facts) -> Given:
        """What code knows that rests on ``facts``."""
        runs = tuple([(place, form) for (place,), form in facts.asked("run") if form is not None])
        words = [*facts.words]
        blocks = [block for _, block in facts.asked("block") if block is not None]
        words += [(BLOCK, word_of_block(block)) for block in blocks]
        nones = [place for (place,), is_object in facts.asked("is_object") if not is_object]
        packs = any(each for _, each in facts.asked("packs"))
        return cls(runs, tuple(words), frozenset(nones), packs)


NOTHING = Given()


class _once(Generic[T]):
    """``functools.cached_property`` without the lock that Python 3.11 keeps meanwhile, one for all
    objects: who looks at a heap needs the heap's lock, and who has that looks, too."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find, self._name = find, find.__name__

    def __get__(self, instance: Any, owner: Any) -> T:
        found: T = self._find(instance)
        instance.__dict__[self._name] = found
        return found


class Now:
    """Answers to the questions of ``Facts``, by methods of their names, for a program that uses
    ``uses`` in a launch with what is given. Each is found once, so that they agree. ``layout``:
    one that the heap is going to have, in place of its own; ``reads``: whether objects may be
    read; ``ranges``: those that code is to know, in place of what ``known_ranges`` says."""

    def __init__(
        self,
        uses: Uses,
        heap: Heap,
        given: Given,
        layout: Layout | None = None,
        reads: bool = True,
        ranges: Ranges | None = None,
    ) -> None:
        self._uses, self._heap = uses, heap
        self._runs, self._constants = dict(given.runs), dict(given.constants)
        self._nones, self._packs = given.nones, given.packs
        self.layout = layout or heap.layout
        self._reads = reads
        self._wanted = ranges

    def answer(self, question: Question) -> Any:
        what, *about = question
        return getattr(self, what)(*about)

    def clusters(self, family: Family) -> Clusters:
        return self.layout.clusters.within([family])

    def populated(self) -> frozenset[int] | None:
        return frozenset(type_index for _, _, type_index in self._stretches) or None

    def ranges(self) -> Ranges:
        return self._code_knows

    @_once
    def _code_knows(self) -> Ranges:
        if self._wanted is not None:
            return self._wanted
        return known_ranges.for_code(self._heap, self._uses, self.where)

    @property
    def where(self) -> Ranges:
        """Where the objects lie, whatever code knows."""
        return self._ranges[0]

    @property
    def bounds(self) -> list[int]:
        """Where the ranges or windows begin that code knows."""
        return self._ranges[1] if self._code_knows == self.where else []

    def run(self, parameter: int) -> RunForm | None:
        return self._runs.get(parameter)

    def constant(self, parameter: int) -> int | None:
        return self._constants.get(parameter)

    def frozen(self, parameter: int) -> FrozenObject | None:
        word, cls = self._constants.get(parameter), self._uses.frozen[parameter]
        return None if word is None else frozen_contents(self._heap, cls, word, self._reads)

    def is_object(self, parameter: int) -> bool:
        return parameter not in self._nones

    def packs(self) -> bool:
        return self._packs

    def block(self) -> Pair | None:
        word = self._constants.get(BLOCK)
        return None if word is None else (word & 0xFFFFFFFF, word >> 32)

    def pieces(self, owner: ClassType, name: str) -> RunForm | None:
        return self._pieces.get((owner, name))

    @_once
    def _pieces(self) -> dict[tuple[ClassType, str], RunForm]:
        with self._heap.lock.plain:
            return self._heap.pieces.known()

    @_once
    def _stretches(self) -> list[Range]:
        """Each stretch of regions of one class that the program may meet; places are what
        ``heap.encoding.order`` says of addresses."""
        order = self._heap.encoding.order
        found: list[Range] = []
        with self._heap.lock.plain:
            every = list(self._heap.placement.ranges())
        for start, end, cls in every:
            type_index = cls.type_index
            if type_index not in self._uses.classes_met:
                continue
            first = order(start)
            if found and found[-1][2] == type_index:
                first, _, _ = found.pop()
            found.append((first, order(end - 1), type_index))
        return found

    @_once
    def _ranges(self) -> tuple[Ranges, list[int]]:
        types = tuple([type_index for _, _, type_index in self._stretches])
        if len(types) > _MOST_RANGES_A_CLASS * len(set(types)):
            return Ranges(), []
        windows = self._windows()
        if windows is not None:
            return Ranges(windows=windows[0]), [windows[1] % (1 << 64)]
        if len(types) > state.MOST_BOUNDS:
            return Ranges(), []
        return Ranges(types), [first for first, _, _ in self._stretches]

    def _windows(self) -> tuple[Windows, int] | None:
        if len(self._stretches) <= _MOST_SEARCHED:
            return None
        return Windows.of(self._stretches, 8 * self._heap.encoding.dtype.itemsize)
