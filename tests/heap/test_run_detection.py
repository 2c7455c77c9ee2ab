import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedoa.heap import run_detection
from sharedoa.heap.run_detection import MOST_RUNS, find_runs


def runs_of(*addresses):
    return find_runs(np.array(addresses, np.uint64))


def test_one_run():
    assert runs_of(100, 116, 132) == [(0, 100, 16, 3)]
    assert runs_of(132, 116, 100) == [(0, 132, -16, 3)]


def test_the_gap_between_two_runs_belongs_to_neither():
    assert runs_of(0, 8, 16, 1000, 1008, 1016) == [(0, 0, 8, 3), (3, 1000, 8, 3)]


def test_short_arrays():
    assert runs_of() == []
    assert runs_of(40) == [(0, 40, 0, 1)]
    assert runs_of(8, 16, 24, 5000) == [(0, 8, 8, 3), (3, 5000, 0, 1)]


def test_bends_at_the_ends_of_chunks(monkeypatch):
    addresses = np.concatenate([np.arange(9) * 8, 1000 + np.arange(7) * 16]).astype(np.uint64)
    expected = [(0, 0, 8, 9), (9, 1000, 16, 7)]
    for chunk in range(1, 20):
        monkeypatch.setattr(run_detection, "_CHUNK", chunk)
        assert find_runs(addresses) == expected


def test_a_repeated_address_is_no_run():
    assert runs_of(8, 8) is None


def test_disorder_is_no_run():
    assert find_runs(np.random.default_rng(1).permutation(10_000).astype(np.uint64)) is None


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 9), st.booleans()), max_size=20))
def test_runs_say_what_the_addresses_are(stretches):
    pieces = [np.arange(n, dtype=np.int64) * (-8 if back else 8) + 100_000 * start + 80
              for start, n, back in stretches]  # fmt: skip
    addresses = np.concatenate([np.zeros(0, np.int64), *pieces]).astype(np.uint64)
    runs = find_runs(addresses)
    if runs is None:
        return
    assert len(runs) <= MOST_RUNS
    told = [first + step * i for _, first, step, count in runs for i in range(count)]
    assert told == addresses.tolist()
    positions = [position for position, *_ in runs]
    assert positions == np.cumsum([0, *(count for *_, count in runs)])[:-1].tolist()


@pytest.mark.parametrize("pieces", [1, 5, MOST_RUNS])
def test_few_pieces_are_few_runs(pieces):
    addresses = np.concatenate([np.arange(50) * 8 + 10_000 * i**2 for i in range(pieces)])
    runs = find_runs(addresses.astype(np.uint64))
    assert runs is not None and len(runs) == pieces
