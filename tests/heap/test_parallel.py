"""Writing many objects on all cores: the same as writing them one after another."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.heap import parallel
from sharedoa.heap.parallel import in_chunks

from .shapes import Point

pytestmark = pytest.mark.in_turns("heap", 3)


class Grain(oa.Object):
    number: i32
    place: Point
    weights: oa.inline[f64, 2]
    next: "Grain"

    def heavy(self) -> bool:
        return self.weights[0] > 1.0


@pytest.fixture
def small_chunks(monkeypatch):
    """A few objects a chunk, so that few objects take all threads."""
    monkeypatch.setattr(parallel, "CHUNK_BYTES", 256)
    monkeypatch.setattr(parallel, "worker_count", lambda: 3)


@given(count=st.integers(0, 5000), item=st.integers(1, 300))
def test_every_number_is_worked_on_once(small_chunks, count, item):
    times = np.zeros(count, int)

    def work(first, stop):
        assert first < stop
        times[first:stop] += 1

    in_chunks(count, item, work)
    assert (times == 1).all()


def test_threads_are_used_where_there_is_much_to_do(small_chunks):
    threads = set()
    everyone_is_here = threading.Barrier(3)

    def work(first, stop):
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            everyone_is_here.wait(10)

    in_chunks(1000, 8, work)
    assert len(threads) == 3
    threads.clear()
    in_chunks(100, 8, lambda first, stop: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
@pytest.mark.parametrize("given", [0, 1])
def test_where_the_system_gives_fewer_threads(small_chunks, heap, monkeypatch, given, error):
    left, start = [given], parallel._thread.start_new_thread

    def start_some(run, given):
        if not left[0]:
            raise error
        left[0] -= 1
        start(run, given)

    monkeypatch.setattr(parallel._thread, "start_new_thread", start_some)
    grains = oa.new(Grain, 2000, number=range(2000))
    assert grains.number.numpy().tolist() == [*range(2000)]
    left[0] = given
    grains.number += 1
    assert grains.number.numpy().tolist() == [*range(1, 2001)]


def test_threads_without_memory_to_begin(small_chunks, heap, monkeypatch):
    monkeypatch.setattr(parallel._thread, "start_new_thread", lambda run, given: None)
    grains = oa.new(Grain, 2000, number=range(2000))
    assert grains.number.numpy().tolist() == [*range(2000)]


def test_what_goes_wrong_is_raised(small_chunks):
    def work(first, stop):
        if first <= 500 < stop:
            raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        in_chunks(1000, 8, work)


@pytest.mark.parametrize("count", [0, 1, 7, 2000])
def test_new_objects(small_chunks, heap, count):
    oa.delete(oa.new(Grain, 40)[::3])  # the next ones lie in holes, and in several regions
    numbers = np.arange(count, dtype=np.int32)
    weights = np.arange(2 * count, dtype=np.float64).reshape(count, 2)
    before = oa.new(Grain, 1)[0]
    made = oa.new(Grain, count, number=numbers, weights=weights, place=Point(1.0, 2.0), next=before)
    assert made.number.numpy().tolist() == numbers.tolist()
    assert made.weights.numpy().tolist() == weights.tolist()
    assert (made.place["y"].numpy() == 2).all() and len(set(made.references())) == count
    assert all(grain.next is before for grain in made)
    assert all(type(grain) is Grain for grain in made)
    made.number = numbers[::-1]
    made[::-2].number += 10
    expected = numbers[::-1].copy()
    expected[::-2] += 10
    assert made.number.numpy().tolist() == expected.tolist()
    assert made.heavy().numpy().tolist() == (weights[:, 0] > 1).tolist()


@pytest.mark.parametrize("shift", [1, -1, 500])
def test_values_that_are_views_of_the_same_objects(small_chunks, by_type, shift):
    """Each is read before any is written, however the objects are cut into pieces."""
    numbers = np.arange(1000, dtype=np.int32)
    grains = oa.new(Grain, 1000, number=numbers)
    view = grains.number.numpy()
    grains.number = view[::-1]
    assert view.tolist() == numbers[::-1].tolist()
    turned = oa.concat(grains[shift:], grains[:shift])
    turned.number = view
    assert turned.number.numpy().tolist() == numbers[::-1].tolist()
    assert view.tolist() == np.roll(numbers[::-1], shift).tolist()
