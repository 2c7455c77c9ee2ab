"""What the compiler made of a workload: its classes and its virtual call sites, for table 2."""

from __future__ import annotations

from collections import Counter
from typing import Any

from apps.common.launches import PopulationCall
from sharedoa.heap.heap import current_heap
from sharedoa.model.classes import ClassType
from sharedoa.model.object import shared_type

from .population_calls import programs_of


class CallSites:
    """Called before every launch, as ``RunOptions.on_launch``; looks at each kernel, and
    at each method that is called for a population, once."""

    def __init__(self) -> None:
        #: For each kernel what was decided at its virtual call sites, and how often.
        self.decisions: dict[str, dict[str, int]] = {}
        self._classes: dict[ClassType, bool] = {}

    def __call__(self, kernel: Any) -> None:
        if kernel.name in self.decisions:
            return
        heap = current_heap()
        is_call = isinstance(kernel, PopulationCall)
        decisions: Counter[str] = Counter()
        for program in programs_of(kernel) if is_call else [kernel.program]:
            compiled = program.compilation(heap, heap.mode, heap.debug, heap.backend.target)
            decisions.update(site.decision for site in compiled.reports)
        self.decisions[kernel.name] = dict(decisions)
        for _, _, python_class in heap.ranges():
            self._add(shared_type(python_class))

    def _add(self, cls: ClassType) -> None:
        for each in cls.ancestry():
            self._classes[each] = each.is_abstract

    def row(self) -> dict[str, Any]:
        """Decisions by kernel; classes of the objects with their bases, as numbers of abstract and
        concrete ones. Objects placed one by one are in no range: of them no class is known."""
        found: dict[str, Any] = {"call_sites": self.decisions}
        if self._classes:
            abstract = sum(self._classes.values())
            found["types"] = {"abstract": abstract, "concrete": len(self._classes) - abstract}
        return found
