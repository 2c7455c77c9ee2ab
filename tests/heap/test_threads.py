import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa

from ..modes import rotated
from .shapes import Circle, Square


def test_allocation_from_many_threads(heap):
    made = []

    def work(number):
        python_class = (Circle, Square)[number % 2]
        mine = [heap.new(python_class, 5, number=number) for _ in range(20)]
        heap.delete(mine[3])
        heap.zeros(100, oa.f32)
        made.append(np.concatenate([a.references() for i, a in enumerate(mine) if i != 3]))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    references = np.concatenate(made)
    assert len(np.unique(references)) == len(references) == 8 * 19 * 5
    assert len(heap.all(Circle)) == len(heap.all(Square)) == 380
    counts = np.bincount(np.concatenate([heap.all(c).number.numpy() for c in (Circle, Square)]))
    assert counts.tolist() == [95] * 8


@oa.kernel
def count(circles: oa.Array[Circle], rounds: oa.i32) -> None:
    i = oa.grid(1)
    if i < len(circles):
        for k in range(rounds):
            if k % 1000003 == 1:
                circles[i].number += 1
        circles[i].number = 7


def sees_numbers(heap, circles):
    assert (circles.number.numpy() == 7).all()


def sees_one(heap, circles):
    assert circles[len(circles) - 1].number == 7


def deletes(heap, circles):
    heap.delete(circles)
    assert not heap.memory.launching


def dumps(heap, circles):
    with tempfile.TemporaryDirectory() as folder:
        heap.dump(Path(folder) / "dump", circles=circles)
        loaded = heap.load(Path(folder) / "dump")["circles"]
        assert (loaded.number.numpy() == 7).all()


@pytest.mark.parametrize(
    ("look", "backend"), rotated([sees_numbers, sees_one, deletes, dumps], ["cpu", "python"])
)
def test_the_host_waits_for_launches_of_other_threads(backend, look):
    with oa.Heap("auto", backend, "aos", "64MiB", 8) as heap:
        circles = oa.new(Circle, 4)
        count[4](circles, 1)
        circles.number = 0
        rounds = 30_000_000 if backend == "cpu" else 1_000_000
        other = threading.Thread(target=lambda: count[4](circles, rounds))
        other.start()
        while not heap.memory.launching:
            time.sleep(0.0001)
        look(heap, circles)
        other.join()


def test_code_that_a_launch_calls_does_not_wait_for_it(heap_in_python):
    """Threads of blocks are real threads there, and read fields while others' launches run."""
    circles = [oa.new(Circle, 4, number=k) for k in range(4)]
    threads = [threading.Thread(target=lambda c=c: meet[4, 4](c)) for c in circles for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert [c.number.numpy().tolist() for c in circles] == [[k + 2] * 4 for k in range(4)]


@oa.kernel
def meet(circles: oa.Array[Circle]) -> None:
    i = oa.grid(1)
    for _ in range(20):
        oa.syncthreads()
    circles[i].number += 1
    oa.syncthreads()


@pytest.fixture
def heap_in_python():
    with oa.Heap("auto", "python", "aos", "64MiB", 8) as made:
        yield made


def test_rearranging_waits_for_launches_of_other_threads():
    with oa.Heap("auto", "cpu", "tile", "64MiB", 8) as heap:
        circles = oa.new(Circle, 4)
        count[4](circles, 1)
        other = threading.Thread(target=lambda: count[4](circles, 30_000_000))
        other.start()
        while not heap.memory.launching:
            time.sleep(0.0001)
        with heap.lock:
            heap.memory.rearrange(heap.layout)
            assert not heap.memory.launching
        other.join()


@oa.kernel
def bear() -> None:
    Circle()


def test_who_deletes_an_array_does_not_wait_with_the_lock(monkeypatch):
    """A launch in CPython that another thread asks for meanwhile wants it."""
    with oa.Heap(backend="python", capacity="64MiB") as heap:
        others = [threading.Thread(target=heap.wait)]
        others[0].start()  # from now on there are others
        others[0].join()
        given = heap.array(Circle, [heap.new(Circle)])

        def launch():
            with heap:
                bear[1]()

        def meanwhile():
            if len(others) == 1:
                others.append(threading.Thread(target=launch, daemon=True))
                others[1].start()
                others[1].join(0.1)

        monkeypatch.setattr(heap.memory, "wait_for_lists", meanwhile)
        thread = threading.Thread(target=heap.delete, args=(given,), daemon=True)
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
        others[1].join(20)
        assert not others[1].is_alive() and len(heap.all(Circle)) == 1


def test_the_same_objects_are_deleted_and_told_so(monkeypatch):
    """Those that the array had when it was read, whatever another thread stores and looks at until
    the lock is taken."""
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        circles = [heap.new(Circle, number=number) for number in range(3)]
        given = heap.array(Circle, circles[:2])
        assert given.number.numpy().tolist() == [0, 1]  # it knows where they lie

        def meanwhile():
            given[0] = circles[2]
            assert given.number.numpy().tolist() == [2, 1]

        monkeypatch.setattr(heap.memory, "wait_for_lists", meanwhile)
        heap.delete(given)
        monkeypatch.undo()
        assert circles[2].number == 2 and len(heap.all(Circle)) == 1
        for gone in circles[:2]:
            with pytest.raises(oa.HeapError, match="deleted"):
                assert gone.number


def test_who_was_deleted_meanwhile_is_told_as_that(monkeypatch):
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        circles = [heap.new(Circle, number=number) for number in range(2)]
        given = heap.array(Circle, circles)
        assert given.number.numpy().tolist() == [0, 1]

        def meanwhile():
            monkeypatch.undo()
            heap.delete(circles[0])

        monkeypatch.setattr(heap.memory, "wait_for_lists", meanwhile)
        with pytest.raises(oa.HeapError, match=r"element 0: .*was deleted"):
            heap.delete(given)
        assert circles[1].number == 1
