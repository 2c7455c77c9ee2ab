"""What must hold of a heap's books at any time, and interruptions at chosen moments."""

from __future__ import annotations

import dis
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType
from typing import Any

import numpy as np

import sharedoa as oa
from dispatch.births import LIVED
from sharedoa.heap.extents import Extent
from sharedoa.heap.scattered import ScatteredPlacement
from sharedoa.uninterrupted import uninterrupted


def check_invariants(heap: oa.Heap) -> None:
    """Every byte of the slabs is free or somebody's, regions know their objects, and nothing is
    held."""
    memory = heap.memory
    assert not memory.launching
    assert not heap.lock.plain._is_owned()
    assert uninterrupted._depth == 0
    if threading.current_thread() is threading.main_thread():
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    placement = memory.placement
    memory.collect(thorough=True)
    if isinstance(placement, ScatteredPlacement):
        counts = {cls.type_index: count for cls, count in placement._counts.items() if count}
        registry = placement._registry
        states = registry.states()
        assert {*states.tolist()} <= {0, LIVED}
        types = registry.types()[states == LIVED]
        free = np.concatenate([np.zeros(0, np.uint64), *placement._free.values()])
        assert sorted(free) == sorted(registry.addresses()[states == 0])
        assert counts == {int(each): int((types == each).sum()) for each in np.unique(types)}
        _check_partition(heap, _bytes_outside(heap, placement))
        return
    starts, regions = placement._index
    assert starts == [region.start for region in regions] == sorted(starts)
    lived_in = [region for region in regions if not region.is_grave]
    for cls, own in placement._of_class.items():
        assert {*own} == {region for region in lived_in if region.cls is cls}
        assert len(own) == len({*own})
    for region in lived_in:
        free = region.free_list.all()
        went_back = "a region without objects went back, but what launches have emptied or need"
        needed = region._is_settled or memory.births._table is not None
        needed = needed or placement._is_first(region)  # whose objects went one by one
        own = placement.regions(region.cls)
        needed = needed or any(each.used for each in own[own.index(region) :])  # order stays
        assert region.used > 0 or needed, went_back
        assert region.live.sum() == region.used == region.unused_from - len(free)
        assert len(np.unique(free)) == len(free)
        assert not region.live[free].any() and not region.live[region.unused_from :].any()
        fresh = slice(region.unused_from, region.capacity, 1)
        records = region.arrangement.records(region.memory)[fresh]
        if len(records):
            # Launches that may make objects find the headers of these written.
            values = np.ascontiguousarray(records).view(np.uint8).reshape(len(records), -1)
            assert not values[:, heap.mode.header_size :].any()
    _check_partition(heap, 0)


def _bytes_outside(heap: oa.Heap, placement: ScatteredPlacement) -> int:
    """Of places that the platform's allocator has handed out."""
    registered = placement._registry.types().tolist()
    sizes = {index: heap.layout.record(cls).size for index, cls in placement._classes.items()}
    kept = placement._quarantine._bytes if placement._quarantine is not None else 0
    return kept + sum(sizes[each] for each in registered)


def _check_partition(heap: oa.Heap, outside: int) -> None:
    extents = heap.memory.extents
    used = sorted(_used(heap), key=lambda extent: extent.address)
    pieces = [(each.address, each.size, True) for each in used]
    pieces += [(address, size, False) for address, size in extents._free]
    pieces.sort()
    slabs = list(extents._slabs.values())
    assert extents.reserved == outside + sum(slab.end - slab.address for slab in slabs)
    for slab in slabs:
        place, last = slab.address, True
        for address, size, is_used in pieces:
            if not slab.address <= address < slab.end:
                continue
            assert address == place, "memory that nobody has, or two have"
            assert is_used or last, "two free pieces side by side"
            place, last = address + size, is_used
        assert place == slab.end


def _used(heap: oa.Heap) -> Iterator[Extent]:
    memory = heap.memory
    if isinstance(memory.placement, ScatteredPlacement):
        if memory.placement.shown._extent is not None:
            yield memory.placement.shown._extent
    else:
        for region in memory.placement.all_regions():
            yield region.extent
            yield from region.own_extents
    yield from (block.extent for block in memory.arrays._blocks.values())
    yield from memory._retired
    if memory.births._table is not None:
        yield memory.births._table
    if memory.population_lists is not None:
        lists = memory.population_lists
        yield from (each.extent for each in [*lists._of_class.values(), *lists._former])
    if memory._launch_state._table is not None:
        yield memory._launch_state._table
    if memory._vtables._block is not None:
        yield memory._vtables._block


_LOOKS = frozenset(
    dis.opmap[name]
    for name in (
        "RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD",
        "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_NONE",
        "POP_JUMP_BACKWARD_IF_NOT_NONE",
    )
    if name in dis.opmap
)  # fmt: skip
"""Instructions after which CPython looks whether a signal has arrived."""


def _raises_here(code: CodeType, before: int, now: int) -> bool:
    """Whether CPython looks after the instruction ``before``, and an exception raised ``now``, at
    the next one, is handled as one raised by it."""
    if code.co_code[before] not in _LOOKS:
        return False
    handlers = _handlers(code)
    return handlers(before) == handlers(now)


@cache
def _handlers(code: CodeType) -> Callable[[int], int | None]:
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]

    def handler(offset: int) -> int | None:
        return next((each.target for each in table if each.start <= offset < each.end), None)

    return handler


class Interruption:
    """Ctrl-C at the n-th moment at which CPython looks for one."""

    def __init__(self, moment: int) -> None:
        self.moment = moment
        self.moments = 0
        self._last: dict[int, int] = {}

    @property
    def came(self) -> bool:
        return self.moments >= self.moment

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "opcode":
            before, self._last[id(frame)] = self._last.get(id(frame)), frame.f_lasti
            if before is not None and _raises_here(frame.f_code, before, frame.f_lasti):
                self.moments += 1
                if self.moments == self.moment:
                    signal.raise_signal(signal.SIGINT)
        elif event == "call":
            self._last.pop(id(frame), None)
        return self


@contextmanager
def interrupted_at(moment: int) -> Iterator[Interruption]:
    found = Interruption(moment)
    before = sys.gettrace()
    sys.settrace(found)
    try:
        yield found
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)


class KeptInterruption:
    """Ctrl-C when the n-th call begins, or one of a function in C has just ended, as far as these
    are done by Python code; between a generator that has given something and the block that it was
    for, too. The error stays, as a notebook keeps it, and with it all that its frames hold."""

    def __init__(self, moment: int) -> None:
        self.moment, self.moments = moment, 0
        self.error: KeyboardInterrupt | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_return"):
            self.moments += 1
            if self.moments == self.moment:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    def during(self, work: Callable[[], Any]) -> KeptInterruption:
        sys.setprofile(self)
        try:
            work()
        except KeyboardInterrupt as error:
            self.error = error
        finally:
            sys.setprofile(None)
        return self


def check_nothing_is_held(heap: oa.Heap) -> None:
    """Nobody else has to wait."""
    memory = heap.memory
    assert not memory.launching
    assert not memory.beginning._is_owned()
    assert not heap.lock.plain._is_owned()
    assert uninterrupted._depth == 0


def interrupt_everywhere(work: Callable[[], Any], check: Callable[[], None], most: int) -> int:
    """Call ``work`` with an interruption that comes a little later each time, about ``most`` times
    over all moments, and ``check`` after each call; the number of calls."""
    with interrupted_at(1 << 60) as whole:
        work()
    check()
    calls = 0
    for moment in range(1, whole.moments, max(1, whole.moments // most)):
        calls += 1
        with interrupted_at(moment):
            work()
        check()
    return calls
