import gc
import itertools
import random

import pytest

from sharedoa.heap.extents import ALIGNMENT, SLAB_SIZE, Extent, Extents, NoRoom
from sharedoa.heap.provider import HostProvider
from sharedoa.heap.residency import Residency

MIB = 1 << 20


class Provider(HostProvider):
    """Counts slabs, and has only ``left`` bytes."""

    def __init__(self, left: int = 1 << 40) -> None:
        super().__init__()
        self.left = left
        self.sizes: list[int] = []

    def allocate(self, size):
        self.sizes.append(size)
        self.left -= size
        return super().allocate(size)

    def free(self, slab):
        self.left += slab.size
        super().free(slab)

    def free_memory(self):
        return self.left


def new_extents(provider, capacity):
    return Extents(provider, capacity, Residency(None))


def test_sizes_are_rounded_and_extents_disjoint_and_aligned():
    extents = new_extents(Provider(), 1 << 30)
    made = [extents.allocate(size) for size in (1, 256, 257, 1000, 0)]
    assert [e.size for e in made] == [256, 256, 512, 1024, 256]
    assert all(e.address % ALIGNMENT == 0 and len(e.memory) == e.size for e in made)
    ordered = sorted(made, key=lambda e: e.address)
    assert all(a.end <= b.address for a, b in itertools.pairwise(ordered))


def test_first_fit_from_both_ends():
    extents = new_extents(Provider(), 1 << 30)
    low = [extents.allocate(256) for _ in range(3)]
    high = [extents.allocate(256, from_top=True) for _ in range(3)]
    assert [e.address - low[0].address for e in low] == [0, 256, 512]
    assert [high[0].address - e.address for e in high] == [0, 256, 512]
    assert high[0].end == low[0].address + SLAB_SIZE


def test_alignment_counts_from_the_start_of_a_slab():
    extents = new_extents(Provider(), 1 << 30)
    first = extents.allocate(256)
    aligned = [extents.allocate(256, alignment=MIB) for _ in range(2)]
    assert [e.address - first.address for e in aligned] == [MIB, 2 * MIB]
    # What lies before is free for others.
    assert extents.allocate(512).address == first.end
    large = extents.allocate(SLAB_SIZE - MIB, alignment=MIB)
    assert not first.address <= large.address < first.address + SLAB_SIZE
    for each in (first, *aligned, large):
        extents.free(each)


def test_aligned_from_the_top():
    extents = new_extents(Provider(), 1 << 30)
    first = extents.allocate(256, from_top=True)
    slab = first.end - SLAB_SIZE
    aligned = [extents.allocate(3 * MIB, from_top=True, alignment=MIB) for _ in range(2)]
    assert [(first.end - e.end) // MIB for e in aligned] == [1, 4]
    assert all((e.address - slab) % MIB == 0 for e in aligned)
    # What lies between is free for others.
    assert extents.allocate(512, from_top=True).end == first.address
    whole = extents.allocate(SLAB_SIZE, from_top=True, alignment=MIB)
    assert not slab <= whole.address < first.end


def test_what_alignment_skips_leaves_the_rest_clean(monkeypatch):
    cleared = []
    monkeypatch.setattr(Extents, "_clear", lambda *given: cleared.append(given[2:]))
    extents = new_extents(Provider(), 1 << 30)
    kept = [extents.allocate(100_000, alignment=MIB) for _ in range(10)]
    kept += [extents.allocate(1000, from_top=True) for _ in range(10)]
    assert all(start >= end for start, end in cleared) and len(kept) == 20


def test_side_by_side():
    extents = new_extents(Provider(), 1 << 30)
    first, second = extents.allocate(256), extents.allocate(256, alignment=1024)
    assert extents.allocate_after(first, 1024) is None
    beside = extents.allocate_after(first, 700)
    assert beside is not None
    assert (beside.address, beside.size) == (first.end, 768)
    whole = extents.join(first, beside)
    assert whole is not None and whole.end == second.address
    rest = extents.allocate_after(second, SLAB_SIZE - 1280)
    assert rest is not None
    # Whatever lies behind a slab is another one.
    assert extents.allocate_after(rest, 256) is None
    extents.allocate(SLAB_SIZE)
    assert extents.allocate_after(rest, 256) is None


def test_freed_neighbours_coalesce():
    extents = new_extents(Provider(), 1 << 30)
    pieces = [extents.allocate(MIB) for _ in range(5)]
    for index in (1, 3, 2):
        extents.free(pieces[index])
    whole = extents.allocate(3 * MIB)
    assert whole.address == pieces[1].address


def test_slabs_never_coalesce():
    extents = new_extents(Provider(), 1 << 40)
    pieces = [extents.allocate(SLAB_SIZE) for _ in range(3)]
    for piece in pieces:
        extents.free(piece)
    two_slabs = extents.allocate(2 * SLAB_SIZE)
    assert all(two_slabs.address != piece.address for piece in pieces)
    assert two_slabs.memory.ctypes.data == two_slabs.address
    assert extents.join(pieces[0], pieces[1]) is None


def test_reused_memory_is_zero_and_fresh_memory_untouched():
    provider = Provider()
    extents = new_extents(provider, 1 << 30)
    rng = random.Random(1)
    held: list[Extent] = []
    for _ in range(600):
        if held and rng.random() < 0.5:
            extents.free(held.pop(rng.randrange(len(held))))
        else:
            piece = extents.allocate(rng.randrange(1, 5000), from_top=rng.random() < 0.5)
            assert not piece.memory.any()
            piece.memory[:] = 0xFF
            held.append(piece)
    assert provider.sizes == [SLAB_SIZE]


def test_a_slab_takes_no_more_than_the_capacity_leaves():
    provider = Provider()
    extents = new_extents(provider, MIB)
    extents.allocate(256)
    assert provider.sizes == [MIB]
    with pytest.raises(NoRoom) as caught:
        extents.allocate(MIB)
    assert caught.value.asked == MIB
    assert caught.value.free == MIB - 256
    assert caught.value.capacity == MIB
    assert extents.allocate(MIB - 256).size == MIB - 256


def test_never_more_than_the_provider_has():
    extents = new_extents(Provider(left=3 * MIB), 1 << 40)
    extents.allocate(2 * MIB)
    with pytest.raises(NoRoom):
        extents.allocate(2 * MIB)
    assert extents.reserved == 3 * MIB


def test_a_large_request_gets_a_slab_of_its_own_size():
    provider = Provider()
    new_extents(provider, 1 << 40).allocate(SLAB_SIZE + 1)
    assert provider.sizes == [SLAB_SIZE + ALIGNMENT]


def test_empty_slabs_go_back_when_room_is_short():
    provider = Provider()
    extents = new_extents(provider, 2 * SLAB_SIZE)
    first, second = extents.allocate(SLAB_SIZE), extents.allocate(SLAB_SIZE)
    extents.free(first)
    extents.free(second)
    del first, second
    assert extents.allocate(2 * SLAB_SIZE).size == 2 * SLAB_SIZE
    gc.collect()
    assert extents.reserved == 2 * SLAB_SIZE
    assert provider.left == (1 << 40) - 2 * SLAB_SIZE


def test_a_view_keeps_its_slab():
    provider = Provider()
    extents = new_extents(provider, 1 << 30)
    memory = extents.allocate(256).memory
    memory[:] = 9
    del extents
    gc.collect()
    assert provider.left == (1 << 40) - SLAB_SIZE
    assert (memory == 9).all()
    del memory
    gc.collect()
    assert provider.left == 1 << 40


def test_memory_outside_counts():
    extents = new_extents(Provider(), MIB)
    extents.reserve_outside(MIB // 2)
    with pytest.raises(NoRoom):
        extents.reserve_outside(MIB)
    with pytest.raises(NoRoom):
        extents.allocate(MIB)
    extents.release_outside(MIB // 2)
    assert extents.allocate(MIB).size == MIB


def test_what_is_used_lies_in_few_spans():
    rng = random.Random(4)
    extents = new_extents(Provider(), 1 << 30)
    live: dict[int, Extent] = {}
    for _ in range(300):
        if live and rng.random() < 0.45:
            extents.free(live.pop(rng.choice([*live])))
        else:
            size = rng.choice([256, 10_000, MIB, 30 * MIB]) if len(live) < 20 else 256
            made = extents.allocate(size, from_top=rng.random() < 0.5)
            live[made.address] = made
        spans = extents.used()
        assert all(a[1] < b[0] for a, b in itertools.pairwise(spans)) or len(extents._slabs) > 1
        for each in live.values():
            assert any(low <= each.address and each.end <= high for low, high in spans)
        free = sum(high - low for low, high in spans) - sum(each.size for each in live.values())
        assert free <= len(live) * MIB
    for each in live.values():
        extents.free(each)
    assert extents.used() == []
