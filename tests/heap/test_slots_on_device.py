"""Lists of slots that a device writes, and what it notes after launches, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from dispatch.births import BORN, ENDED, LIVED
from sharedoa import i32
from sharedoa.backends import slot_kernels
from sharedoa.backends.slot_code import WORDS
from sharedoa.backends.slot_list_code import STORED
from sharedoa.heap.slot_lists import (
    CHUNK,
    GROUP,
    REPORT_BYTES,
    REPORT_USED,
    SLOT_NUMBERS,
    Also,
    Listing,
    Numbering,
    Settling,
    SlotBytes,
    SlotLists,
)
from sharedoa.heap.slots_on_device import begin_reports

from ..backends.pretend_device import PretendDevice
from ..codegen.interpreted import InterpretedGpu

SIZES = [1, 7, CHUNK, CHUNK + 1, CHUNK * GROUP, CHUNK * GROUP + 3, 5 * CHUNK * GROUP * GROUP + 5]


class Memory:
    """Slot bytes in a heap's memory, and what lists them."""

    def __init__(self, heap: oa.Heap) -> None:
        self.heap = heap
        self.lists: SlotLists = heap.backend.slot_lists

    def slots(self, states: np.ndarray[Any, Any]) -> tuple[SlotBytes, oa.Array[Any]]:
        size = SlotBytes.of_all(0, len(states)).size
        array = self.heap.zeros(-(-size // 4), i32)
        bytes = np.zeros(len(array) * 4, np.uint8)
        bytes[: len(states)] = states
        array[:] = bytes.view(np.int32)
        self.heap.before_launch()
        return SlotBytes.of_all(array._address, len(states)), array

    def words(self, count: int) -> oa.Array[Any]:
        return self.heap.zeros(max(2, count), i32)

    def of(self, array: oa.Array[Any]) -> np.ndarray[Any, Any]:
        """What an array holds when everything has ended."""
        self.heap.backend.synchronize()
        return np.array(array.numpy())


BACKENDS: dict[str, Callable[[], Any]] = {
    "pretended": lambda: PretendDevice(1 << 16),
    # Threads of a warp work together.
    "interpreted": InterpretedGpu,
    "cuda": lambda: "cuda",
}


FEW: dict[str, list[Any]] = {
    "count": [CHUNK + 1, CHUNK * GROUP + 3], "limit": [3], "used": [40], "together": [1 << 18, 0],
}  # fmt: skip


@pytest.fixture(params=["pretended", "interpreted", pytest.param("cuda", marks=pytest.mark.gpu)])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    given = request.node.callspec.params
    if request.param == "interpreted" and any(
        given[n] not in FEW.get(n, [given[n]]) for n in given
    ):
        pytest.skip("interpreted threads are slow")
    with oa.Heap(backend=BACKENDS[request.param]()) as heap:
        yield Memory(heap)


def random_bytes(count: int, of: list[int]) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).choice(np.array(of, np.uint8), count)


@pytest.mark.parametrize("count", SIZES)
def test_lists_are_in_order(memory: Memory, count: int) -> None:
    states = random_bytes(count, [0, LIVED])
    slots, kept = memory.slots(states)
    memory.lists.count([slots])
    numbers = Numbering(1000, 5, 640, 4)
    for live in (True, False):
        wanted = np.flatnonzero((states == LIVED) == live)
        for most in (len(wanted), len(wanted) // 2):
            plain, wide = memory.words(len(wanted)), memory.words(2 * len(wanted))
            memory.lists.list_slots([Listing(slots, live, most, SLOT_NUMBERS, plain._address, 4)])
            memory.lists.list_slots([Listing(slots, live, most, numbers, wide._address, 8)])
            assert memory.of(plain)[:most].tolist() == wanted[:most].tolist()
            assert not memory.of(plain)[most:].any()
            expected = 1000 + wanted // 32 * 640 + wanted % 32 * 4
            assert memory.of(wide).view(np.int64)[:most].tolist() == expected[:most].tolist()
    assert len(kept)


@pytest.fixture(params=[1 << 18, 8, 0], ids=["together", "small ones together", "apart"])
def together(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which regions have a launch in common."""
    monkeypatch.setattr(slot_kernels, "_MOST_TOGETHER", request.param)


@pytest.mark.usefixtures("together")
@pytest.mark.parametrize("limit", [None, 0, 3, 50, 10_000])
def test_lists_of_several_regions(memory: Memory, limit: int | None) -> None:
    """One of six regions, which begins where another one ends."""
    sizes = (9, 100, 5, 3000, 33, 2 * CHUNK * GROUP + 1, 64, 70)
    every = [random_bytes(count, [0, 0, LIVED]) for count in sizes]
    held = [memory.slots(states) for states in every]
    memory.lists.count([slots for slots, _ in held])
    words, found, first = memory.heap.zeros(9, oa.i64), memory.words(6000), memory.words(100)
    words[8] = limit or 0
    room = 5000
    listings = [Listing(held[0][0], True, 100, SLOT_NUMBERS, first._address, 4)]
    before = 0
    for number, (slots, _) in enumerate(held[1:]):
        after = words._address + 8 * number
        limits = (0, 0) if limit is None else (words._address + 64, 2)
        where = found._address, 4, before, after, limits
        listings.append(Listing(slots, False, room, SLOT_NUMBERS, *where))
        before = after
    memory.heap.before_launch()
    memory.lists.list_slots(listings)
    living = np.flatnonzero(every[0])
    assert memory.of(first)[: len(living)].tolist() == living.tolist()
    assert not memory.of(first)[len(living) :].any()
    free = [np.flatnonzero(states == 0) for states in every[1:]]
    most = room if limit is None else min(room, 2 * limit)
    expected = np.concatenate(free)[:most]
    assert memory.of(found)[: len(expected)].tolist() == expected.tolist()
    assert not memory.of(found)[len(expected) :].any()
    stops = np.minimum(np.cumsum([len(each) for each in free]), most)
    assert memory.of(words)[: len(free)].tolist() == stops.tolist()


@pytest.mark.usefixtures("together")
@pytest.mark.parametrize("before", [0, 3])
def test_a_table_beside_lists(memory: Memory, before: int) -> None:
    """What a list is limited to is counted in the same launch, or, with more regions before, in
    the one that begins it; and words that are written by the way leave those of the lists."""
    sizes = (*[33] * before, 70, 9, 3000, 40)
    every = [random_bytes(count, [0, LIVED, LIVED]) for count in sizes]
    held = [memory.slots(states) for states in every]
    memory.lists.count([slots for slots, _ in held])
    table, counts = memory.heap.zeros(16, oa.i64), memory.heap.zeros(8, oa.i64)
    counts[:] = table[8:] = 77
    living, free = memory.words(400), memory.words(400)
    listings, after = [], 0
    for number, (slots, _) in enumerate(held[: before + 2]):
        ends = counts._address + 8 * number
        where = living._address, 4, after, ends
        listings.append(Listing(slots, True, 300, SLOT_NUMBERS, *where))
        after = ends
    limit, after = (after, 2), 0
    for number, (slots, _) in enumerate(held[before + 2 :]):
        ends = table._address + 8 * (1 + 2 * number)
        where = free._address, 4, after, ends, limit
        listings.append(Listing(slots, False, 390, SLOT_NUMBERS, *where))
        after = ends
    zeros = [(table._address + 64, 40)]
    memory.heap.before_launch()
    memory.lists.list_slots(listings, Also(table._address, [*range(10, 16)], zeros))
    lives = [int(states.astype(bool).sum()) for states in every]
    most = 2 * sum(lives[: before + 2])
    slots = np.concatenate([np.flatnonzero(states == 0) for states in every[before + 2 :]])
    assert most < len(slots)
    assert memory.of(free)[:most].tolist() == slots[:most].tolist()
    assert not memory.of(free)[most:].any()
    first = min(most, sizes[-2] - lives[-2])
    assert memory.of(table).tolist() == [10, first, 12, most, 14, 15, 0, 0, *[0] * 5, *[77] * 3]
    assert memory.of(counts)[before + 1] * 2 == most
    # The thread that writes the words has written one of the list.
    alone = Listing(held[-1][0], False, 390, SLOT_NUMBERS, free._address, 4, 0, table._address + 8)
    memory.lists.list_slots([alone], Also(table._address, [1, 2, 3]))
    assert memory.of(table)[:4].tolist() == [1, sizes[-1] - lives[-1], 3, most]


@pytest.mark.parametrize("words", [STORED, STORED + 1, 3 * WORDS + 1])
def test_a_table_of_any_length(memory: Memory, words: int) -> None:
    """What does not fit beside a list is written before, so that what the list says stays."""
    states = random_bytes(70, [0, LIVED, LIVED])
    slots, _ = memory.slots(states)
    memory.lists.count([slots])
    table, free = memory.heap.zeros(words + 1, oa.i64), memory.words(70)
    alone = Listing(slots, False, 70, SLOT_NUMBERS, free._address, 4, 0, table._address + 8)
    memory.heap.before_launch()
    memory.lists.list_slots([alone], Also(table._address, [*range(10, 10 + words)]))
    expected = [10, int((states == 0).sum()), *range(12, 10 + words), 0]
    assert memory.of(table).tolist() == expected


@pytest.mark.parametrize("used", [0, 40, 10_000])
@pytest.mark.parametrize("count", SIZES)
def test_what_lives_after_launches(memory: Memory, count: int, used: int) -> None:
    """Sums and bytes of two regions, over launches that change some chunks and leave others, of
    which the last one makes nothing. In some chunks nobody has ever lived."""
    random = np.random.default_rng(count)
    kinds = [0, 0, LIVED, LIVED, LIVED | ENDED, BORN, BORN | ENDED]
    every = [random_bytes(size, kinds) for size in (50, count)]
    every[1][count // 2 :] = 0
    held = [memory.slots(states & LIVED) for states in every]
    memory.lists.count([slots for slots, _ in held])
    for states, (_, kept) in zip(every, held, strict=True):
        write_states(memory, kept, states)
    freed, report = memory.words(count), memory.words(2 * REPORT_BYTES // 4)
    address = report._address
    for launch in range(3):
        begin_reports(memory.lists, address, [_Counted(), _Counted()], 7)  # type: ignore[list-item]
        settled = [
            Settling(slots, to, used, address + number * REPORT_BYTES, makes=launch < 2)
            for number, ((slots, _), to) in enumerate(zip(held, (0, freed._address), strict=True))
        ]
        memory.lists.settle(settled)
        places = [address + REPORT_USED, address + REPORT_BYTES + REPORT_USED]
        memory.lists.total([slots for slots, _ in held], places)
        reports = memory.of(report).reshape(2, -1)
        for states, (slots, kept), found in zip(every, held, reports, strict=True):
            lives = np.isin(states, (LIVED, BORN))
            gone = states == LIVED | ENDED
            touched = np.flatnonzero(states & BORN)
            last = int(touched[-1]) + 1 if len(touched) else 0
            expected = [int(gone.any()), last if last > used else 0, int(lives.sum()), 7]
            assert found.tolist() == expected
            bytes = memory.of(kept).view(np.uint8)[: len(states)]
            assert bytes.tolist() == np.where(lives, LIVED, 0).tolist()
            check_sums(slots, memory.of(kept).view(np.uint8), lives)
        if not launch:
            assert memory.of(freed)[:count].tolist() == np.where(gone, 7, 0).tolist()
        for states, (_, kept) in zip(every, held, strict=True):
            # Made, ended, and most left alone: now and then all of a chunk.
            states[:] = np.where(np.isin(states, (LIVED, BORN)), LIVED, 0)
            some = random.random(len(states)) < (0.02 if launch else 0.0)
            other = BORN if launch < 1 else 0
            states[some] |= np.where(states[some] == LIVED, ENDED, other).astype(np.uint8)
            write_states(memory, kept, states)


def write_states(memory: Memory, kept: oa.Array[Any], states: np.ndarray[Any, Any]) -> None:
    bytes = memory.of(kept).view(np.uint8).copy()
    bytes[: len(states)] = states
    kept[:] = bytes.view(np.int32)
    memory.heap.before_launch()


def check_sums(slots: SlotBytes, memory: np.ndarray[Any, Any], lives: np.ndarray[Any, Any]) -> None:
    """All levels, with what a group lacks."""
    sums = np.zeros(slots.chunks * CHUNK, np.int64)
    sums[: len(lives)] = lives
    group, bytes = CHUNK, 1
    for address, count in slots.levels:
        sums = np.append(sums, np.zeros(-len(sums) % group, np.int64)).reshape(-1, group).sum(1)
        first = address - slots.live
        found = memory[first : first + count * bytes].view(f"u{bytes}")
        assert found.tolist() == sums.tolist()
        group, bytes = GROUP, 4


class _Counted:
    used = 3


def test_bytes_that_the_host_has_changed_are_counted_again(memory: Memory) -> None:
    states = random_bytes(3 * CHUNK * GROUP, [0, LIVED])
    slots, kept = memory.slots(states)
    memory.lists.count([slots])
    states[::3] ^= LIVED
    write_states(memory, kept, states)
    memory.lists.count([slots])
    check_sums(slots, memory.of(kept).view(np.uint8), states == LIVED)


def test_only_the_first_slots_are_looked_at(memory: Memory) -> None:
    states = random_bytes(3 * CHUNK * GROUP, [0, LIVED])
    states[1000:] = 0
    slots, kept = memory.slots(states)
    looked = slots.first(1200)
    memory.lists.count([slots])
    memory.lists.count([looked])
    free = np.flatnonzero(states[:1200] == 0)
    found = memory.words(len(free))
    listing = Listing(looked, False, len(free), SLOT_NUMBERS, found._address, 4)
    memory.lists.list_slots([listing])
    assert memory.of(found).tolist() == free.tolist()
    assert len(kept)


@pytest.mark.parametrize("size", [4, 8])
def test_headers_go_to_listed_slots_alone(memory: Memory, size: int) -> None:
    listed, words = memory.heap.array(i32, [3, 5, 6, 9, 11]), memory.heap.array(oa.i64, [1, 3])
    target = memory.words(16 * size // 4)
    where = Numbering(target._address, 0, size, 0)
    header = bytes(range(1, size + 1))
    before, after = words._address, words._address + 8
    memory.heap.before_launch()
    memory.lists.write_headers(5, where, header, listed._address, before, after)
    found = memory.of(target).view(np.uint8).reshape(16, size)
    assert [bytes(found[slot]) for slot in (5, 6)] == [header] * 2
    assert np.flatnonzero(found.any(axis=1)).tolist() == [5, 6]


def test_words_and_zeros(memory: Memory) -> None:
    target = memory.heap.zeros(100, oa.i64)
    target[:] = -1
    memory.heap.before_launch()
    memory.lists.store(target._address + 16, [*range(70)])
    memory.lists.clear(target._address + 80 * 8, 5 * 8)
    expected = [-1, -1, *range(70), *[-1] * 8, *[0] * 5, *[-1] * 15]
    assert memory.of(target).tolist() == expected
    assert memory.lists.read(target._address + 16, 6).view(np.int64).tolist() == [0, 1, 2]
