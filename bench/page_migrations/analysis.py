"""What records say: counts of each part of a run, sweeps through memory, faults by kernel."""

from __future__ import annotations

import bisect
import itertools
import mmap
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from bench.cupti.kernel_records import KernelRun
from sharedoa.heap.residency import BULK

from .phases import PARTS, Boundaries
from .records import DIRECTIONS, GpuFault, Migration, Records

#: The host may touch this many pages without asking for them first: an access of less than BULK.
FEW_PAGES = BULK // mmap.PAGESIZE + 1


def rows_of_parts(records: Records, boundaries: Boundaries) -> list[dict[str, Any]]:
    """For each part of the run what faulted and what moved. Bytes; a migration, a sweep and the
    faults of the host count one each, those of the GPU by groups, as its driver has them."""
    rows = []
    for part in PARTS:
        moved = [m for m in records.migrations if boundaries.part(m.start) == part]
        gpu_faults = [f for f in records.gpu_faults if boundaries.part(f.start) == part]
        cpu_faults = [f for f in records.cpu_faults if boundaries.part(f.start) == part]
        others = Counter(o.what for o in records.others if boundaries.part(o.start) == part)
        sweep = longest_sweep(moved)
        rows.append(
            {
                "part": part,
                "gpu_fault_groups": sum(fault.groups for fault in gpu_faults),
                "gpu_faulted_pages": len({fault.address for fault in gpu_faults}),
                "gpu_fault_accesses": dict(Counter(fault.access for fault in gpu_faults)),
                "cpu_faults": len(cpu_faults),
                "cpu_faulted_pages": len({fault.address for fault in cpu_faults}),
                "migrations": _by_cause(moved),
                "others": dict(others),
                "longest_sweep": sweep,
                "page_by_page": sweep > FEW_PAGES,
            }
        )
    return rows


def _by_cause(moved: Iterable[Migration]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for migration in moved:
        groups[migration.direction, migration.cause].append(migration.bytes)
    return [
        {
            "direction": direction,
            "cause": cause,
            "count": len(sizes),
            "bytes": sum(sizes),
            "sizes": dict(sorted(Counter(sizes).items())),
        }
        for (direction, cause), sizes in sorted(groups.items())
    ]


def longest_sweep(moved: Sequence[Migration]) -> int:
    """The most migrations that nobody asked for, all to one side, of which each continues the one
    before in memory; one that happens again and again counts once.

    That is how a walk through memory looks that faults page by page, however slow it is. What
    small accesses here and there bring over does not continue.
    """
    longest = 0
    for direction in DIRECTIONS.values():
        pieces = {
            (m.address, m.address + m.bytes)
            for m in moved
            if m.direction == direction and not m.asked_for
        }
        length, reached = 0, -1
        for start, end in sorted(pieces):
            length = length + 1 if start <= reached else 1
            reached = max(reached, end)
            longest = max(longest, length)
    return longest


class Attribution:
    """Which kernel was under way when something happened."""

    def __init__(self, kernels: Iterable[KernelRun]) -> None:
        self.runs = sorted(kernels, key=lambda run: run.start)
        self._starts = [run.start for run in self.runs]
        #: The latest end so far, since launches of a recorded step may overlap.
        self._ends = list(itertools.accumulate((run.end for run in self.runs), max))

    def index(self, start: int, end: int) -> int | None:
        """The launch that ran for most of the time from ``start`` to ``end``, by its place in
        ``runs``; None if there was none."""
        low = bisect.bisect_left(self._ends, start)
        high = bisect.bisect_right(self._starts, end)
        found = [
            (min(end, run.end) - max(start, run.start), -place)
            for place, run in enumerate(self.runs[low:high], low)
            if run.end >= start
        ]
        return -max(found)[1] if found else None


def rows_of_kernels(records: Records, boundaries: Boundaries) -> list[dict[str, Any]]:
    """For each kernel the seconds of its launches, and the faults and migrations under them. The
    last row, without a name, has those that fell under none, if there are any."""
    attribution = Attribution(records.kernels)
    faults: dict[int | None, list[GpuFault]] = defaultdict(list)
    moved: dict[int | None, list[Migration]] = defaultdict(list)
    for fault in records.gpu_faults:
        faults[attribution.index(fault.start, fault.end)].append(fault)
    for migration in records.migrations:
        if not migration.asked_for:
            moved[attribution.index(migration.start, migration.end)].append(migration)
    launches: dict[str, list[int]] = defaultdict(list)
    for place, run in enumerate(attribution.runs):
        launches[run.name].append(place)
    rows = []
    for name, places in launches.items():
        seconds = [attribution.runs[place].seconds for place in places]
        disturbed = [place in faults or place in moved for place in places]
        rows.append(
            {
                "kernel": name,
                "launches": dict(
                    Counter(boundaries.part(attribution.runs[place].start) for place in places)
                ),
                "first": seconds[0],
                "later_median": median(seconds[1:]) if len(seconds) > 1 else None,
                "max": max(seconds),
                "total": sum(seconds),
                "launches_with_faults": sum(disturbed),
                "median_with_faults": _median(seconds, disturbed, True),
                "median_without_faults": _median(seconds, disturbed, False),
                **_disturbances(places, faults, moved),
            }
        )
    if faults[None] or moved[None]:
        rows.append({"kernel": None, **_disturbances([None], faults, moved)})
    return rows


def _disturbances(
    places: Sequence[int | None],
    faults: dict[int | None, list[GpuFault]],
    moved: dict[int | None, list[Migration]],
) -> dict[str, int]:
    met = [place for place in places if place in faults or place in moved]
    return {
        "gpu_fault_groups": sum(f.groups for place in met for f in faults.get(place, ())),
        "unasked_migrations": sum(len(moved.get(place, ())) for place in met),
        "unasked_bytes": sum(m.bytes for place in met for m in moved.get(place, ())),
    }


def _median(seconds: Sequence[float], disturbed: Sequence[bool], wanted: bool) -> float | None:
    chosen = [each for each, was in zip(seconds, disturbed, strict=True) if was is wanted]
    return median(chosen) if chosen else None
