import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa.heap import run_detection
from sharedoa.heap.run_detection import MOST_RUNS, find_runs

from .shapes import Circle, Ring

COUNT = 5000


@pytest.fixture(scope="module", params=["aos", "tile"])
def regions(request):
    """Two regions of different classes, and a function from (region, slots) to addresses."""
    heap = oa.Heap(backend="cpu", layout=request.param, capacity="64MiB", initial_region=COUNT)
    kept = heap.new(Circle, COUNT), heap.new(Ring, COUNT)
    found = list(heap.placement.all_regions())
    assert len(found) == len(kept) == 2
    return found


def addresses_of(regions, *stretches):
    """``stretches``: region and slot numbers of each."""
    pieces = [regions[n].addresses(np.asarray(slots, np.int64)) for n, slots in stretches]
    return np.concatenate([np.zeros(0, np.uint64), *pieces])


def runs_of(regions, addresses):
    """What was found, as (position, region, slots) of each run."""

    def locate(position):
        address = int(addresses[position])
        for region in regions:
            if region.slot(address) is not None:
                return region, region.slot(address)
        raise oa.HeapError(f"element {position}", "")

    runs = find_runs(addresses, locate)
    if runs is None:
        return None
    return [
        (run.where.start, regions.index(run.region), list(range(COUNT))[run.slots]) for run in runs
    ]


RUNS = [range(3), range(30, 100), range(99, 30, -1), range(5, 90, 7), range(88, -1, -8),
        range(5000), range(4999, -1, -1)]  # fmt: skip


@pytest.mark.parametrize("slots", RUNS, ids=str)
def test_one_run(regions, slots):
    assert runs_of(regions, addresses_of(regions, (0, slots))) == [(0, 0, list(slots))]


def test_runs_of_several_regions_end_to_end(regions):
    stretches = [(0, range(40, 70)), (1, range(100)), (0, range(500, 400, -1)), (1, [7])]
    expected = [(0, 0, 30), (30, 1, 100), (130, 0, 100), (230, 1, 1)]
    found = runs_of(regions, addresses_of(regions, *stretches))
    assert [(at, region, len(slots)) for at, region, slots in found] == expected
    assert [slots for *_, slots in found] == [list(slots) for _, slots in stretches]


def test_nothing_is_no_run(regions):
    assert runs_of(regions, addresses_of(regions)) == []


def test_ends_of_chunks(regions, monkeypatch):
    stretches = [(0, range(9)), (0, range(100, 107))]
    for chunk in range(1, 12):
        monkeypatch.setattr(run_detection, "_FIRST_CHUNK", chunk)
        monkeypatch.setattr(run_detection, "_CHUNK", chunk)
        found = runs_of(regions, addresses_of(regions, *stretches))
        assert found == [(0, 0, list(range(9))), (9, 0, list(range(100, 107)))]


def test_a_repeated_address_is_no_run(regions):
    assert runs_of(regions, addresses_of(regions, (0, [1, 1]))) is None


def test_disorder_is_no_run(regions):
    disordered = np.random.default_rng(1).permutation(COUNT)
    assert runs_of(regions, addresses_of(regions, (0, disordered))) is None


def test_an_address_of_nothing_is_reported_where_it_is(regions):
    addresses = addresses_of(regions, (0, range(40)))
    addresses[33] += 1
    with pytest.raises(oa.HeapError, match="element 33"):
        runs_of(regions, addresses)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4000), st.integers(1, 900),
                          st.sampled_from([-3, -1, 1, 2])), max_size=20))  # fmt: skip
def test_runs_say_what_the_addresses_are(regions, stretches):
    ranges = [(n, range(start, max(-1, start + count * step) if step < 0 else
                        min(COUNT, start + count * step), step))
              for n, start, count, step in stretches]  # fmt: skip
    found = runs_of(regions, addresses_of(regions, *ranges))
    if found is None:
        return
    assert len(found) <= MOST_RUNS
    told = [(region, slot) for _, region, slots in found for slot in slots]
    assert told == [(n, slot) for n, slots in ranges for slot in slots]
    lengths = [len(slots) for *_, slots in found]
    assert [at for at, *_ in found] == np.cumsum([0, *lengths])[:-1].tolist()


@pytest.mark.parametrize("pieces", [1, 5, MOST_RUNS])
def test_few_pieces_are_few_runs(regions, pieces):
    stretches = [(0, range(70 * n, 70 * n + 50)) for n in range(pieces)]
    found = runs_of(regions, addresses_of(regions, *stretches))
    assert found is not None and len(found) == pieces
