"""Other clusters for a heap's objects, once there is code for them.

To rearrange objects takes little time; to compile anew all that uses them takes much. So kernels
for the clusters that are wanted are compiled beside those that run (``background``), and objects
stay as they are until then. When all of them are there the layout epoch is raised: whoever launches
next looks at everything, and launches of both are compared (``compared_clusters``). What nobody
foresaw is compiled then, as always; code that does not fit is never taken, as what it rests on is
asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from dispatch.dataclass import dataclass

from ..heap.heap import Heap
from ..model.classes import ClassType
from ..model.clusters import Clusters
from ..model.layout import Layout
from ..uninterrupted import BooksLock
from . import background, compared_clusters, trial_accounts
from .background import Task

if TYPE_CHECKING:
    from .launch import Program


_ROUNDS = 4
"""How often to look for code that was made meanwhile for what objects are still like."""


@dataclass(eq=False)
class _Plan:
    layout: Layout
    #: Programs that need no code for it, as nobody launches them any more.
    over: WeakSet[Program]
    #: Whether objects are to have them if launches cannot be compared.
    is_wanted: bool
    #: Whether they need not be compared.
    is_sure: bool
    is_ready: bool = False
    task: Task | None = None

    @property
    def is_coming(self) -> bool:
        return self.task is not None and (self.is_ready or self.task.is_pending)

    def goes_on(self, clusters: Clusters, now: Clusters) -> bool:
        """Whether it is no hindrance where ``clusters`` are wanted: all that it is to change of
        those there are ``now`` is, or nothing, if it is only to be compared."""
        if clusters == now:
            return self.is_coming and not self.is_wanted
        planned = self.layout.clusters
        changed = compared_clusters.differing(now, planned)
        return self.is_coming and all(planned.of(cls) == clusters.of(cls) for cls in changed)


_plans: WeakKeyDictionary[Heap, _Plan] = WeakKeyDictionary()
_programs: WeakKeyDictionary[Heap, WeakSet[Program]] = WeakKeyDictionary()
_lock = BooksLock()
"""Guards the sets of programs."""


def launches_on(program: Program, heap: Heap) -> None:
    """The program is one of those that launch on the heap."""
    with _lock:
        _programs.setdefault(heap, WeakSet()).add(program)


def coming(heap: Heap) -> Clusters:
    """The clusters that objects of the heap have, or will have soon."""
    plan = _plans.get(heap)
    return plan.layout.clusters if plan is not None and plan.is_coming else heap.layout.clusters


def is_trying(heap: Heap) -> bool:
    """Whether clusters are compared, or code is being made for such."""
    plan = _plans.get(heap)
    is_planned = plan is not None and plan.is_coming and not plan.is_sure
    return is_planned or compared_clusters.of(heap) is not None


def rearrange(
    heap: Heap,
    clusters: Clusters,
    first: ClassType | None,
    over: Collection[Program] = (),
    is_wanted: bool = True,
    sure: Collection[ClassType] = (),
    may_try: Callable[[ClassType], bool] = lambda cls: True,
) -> None:
    """Objects get these clusters: at once where no code there is rests on others, else once there
    is code for them, but for programs that are ``over``. Those of classes for which that is not
    ``sure``, nor known, to be quicker are compared, of one class at a time, ``first``; if there
    are only such, ``may_try`` says of that class whether to. ``is_wanted``: whether objects get
    them where nothing can be compared. The caller holds the heap's lock."""
    before, now = _plans.get(heap), heap.layout.clusters
    if clusters == coming(heap) or (before is not None and before.goes_on(clusters, now)):
        return
    changed = compared_clusters.differing(now, clusters)
    sure = [
        cls
        for cls in changed
        if cls in sure or compared_clusters.is_slower(heap, cls, now.of(cls), clusters.of(cls))
    ]
    is_beside = (
        bool(changed)
        and background.is_on()
        and any(each.code_to_change(heap, clusters) for each in _all(heap))
    )
    chosen = sure or ([first] if first in changed else changed[:1])
    if is_beside and not sure and not may_try(chosen[0]):
        return
    if before is not None and before.task is not None:
        before.task.drop()
    _plans.pop(heap, None)
    if is_beside:
        for cls in set(changed).difference(chosen):
            clusters = clusters.replace(cls, now.of(cls))
        layout, known = heap.layout.with_clusters(clusters), heap.weak
        plan = _plans[heap] = _Plan(layout, WeakSet(over), is_wanted, bool(sure))
        plan.task = background.submit(partial(_prepare, known, plan), background.Urgency.LAYOUT)
    elif is_wanted:
        heap.rearrange(clusters)


def _prepare(known: Callable[[], Heap | None], plan: _Plan, task: Task) -> None:
    """Have code for what launches on the heap will need."""
    heap = known()
    if heap is None:
        return
    _make_ready(heap, plan.layout, plan.over, task)
    with heap.lock:
        plan.is_ready = not task.is_dropped
        if plan.is_ready:
            heap.books.change_code()


def _make_ready(heap: Heap, layout: Layout, over: Collection[Program], task: Task) -> None:
    for _ in range(_ROUNDS):
        needed = [
            (program, unit)
            for program in _all(heap)
            if program not in over
            for unit in program.code_to_change(heap, layout.clusters)
        ]
        made = 0
        for program, unit in needed:
            background.let_first()
            if task.is_dropped:
                return
            made += program.make_ready(unit, heap, layout)
            trial_accounts.goes_on(heap)
        if not made:
            break


def _submit(known: Callable[[], Heap | None], over: WeakSet[Program], layout: Layout) -> Task:
    """Have code made that there is not yet for objects that lie so, as others' code came meanwhile:
    what is compared with them."""

    def work(task: Task) -> None:
        heap = known()
        if heap is not None:
            _make_ready(heap, layout, over, task)

    return background.submit(work, background.Urgency.LAYOUT)


def take_over(heap: Heap) -> None:
    """If there is code for the clusters that are wanted, they are compared with those that there
    are; if they were, objects get the quicker ones."""
    plan = _plans.get(heap)
    is_ready = plan is not None and plan.is_ready
    if not is_ready and compared_clusters.of(heap) is None:
        return
    with heap.lock:
        compared_clusters.go_on(heap)
        if plan is None or not is_ready or _plans.get(heap) is not plan:
            return
        if not heap.upkeep.keeps_clusters and compared_clusters.of(heap) is None:
            clusters = plan.layout.clusters
            if not compared_clusters.are_possible(heap, clusters):
                pass
            elif plan.is_sure or compared_clusters.are_quicker(heap, clusters):
                heap.rearrange(clusters)
                compared_clusters.choose_again(heap)
            else:
                submit = partial(_submit, heap.weak, plan.over)
                compared_clusters.begin(heap, clusters, plan.is_wanted, submit)
            # Last: whoever is interrupted while launches are waited for leaves it to the next one.
            _plans.pop(heap, None)


def remind(heap: Heap) -> None:
    """Objects no longer have to keep their clusters: the next launch looks whether others wait."""
    plan = _plans.get(heap)
    if plan is not None and plan.is_ready and not heap.upkeep.keeps_clusters:
        heap.books.change_code()


def remark(heap: Heap) -> str:
    """What is to be said of clusters that the heap does not have."""
    plan = _plans.get(heap)
    if plan is None or plan.task is None:
        return ""
    failure = plan.task.failure
    if failure is None:
        return "other clusters are wanted, for which code is being compiled"
    return (
        "other clusters are wanted, but code for them could not be made, so objects stay as they "
        f"are: {type(failure).__name__}: {failure}"
    )


def _all(heap: Heap) -> list[Program]:
    with _lock:
        return list(_programs.get(heap, ()))
