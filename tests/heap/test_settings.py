"""What a heap is made from: arguments, the environment, the current heap."""

import asyncio
import contextvars
import copy
import threading

import pytest

import sharedoa as oa
from sharedoa.runtime import knobs

from .shapes import Circle


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"mode": "fast"}, "mode= 'fast' is not valid.*\n.*cuda, concord, sharedoa, coal"),
        ({"backend": "tpu"}, "backend= 'tpu' is not valid.*\n.*auto, cuda, .*hip, cpu, python"),
        ({"backend": 5}, "backend= 5 is not valid.*\n.*auto, cuda, .*hip, cpu, python"),
        ({"layout": "soa"}, "layout= 'soa' is not valid.*\n.*aos, tile, auto"),
        ({"layout": "tile", "mode": "cuda"}, "mode cuda places them one by one\n.*aos or auto"),
        ({"capacity": "much"}, "capacity= 'much' is not valid"),
        ({"capacity": True}, "capacity= True is not valid: not a whole number"),
        ({"initial_region": True}, "initial_region= True is not valid"),
        ({"capacity": 0}, "capacity= 0 is not valid"),
        ({"initial_region": 0}, "initial_region= 0 is not valid"),
        ({"debug": 2}, "debug= 2 is not valid"),
        ({"capacity": "1024TiB"}, "than this machine can ever give: it has .* bytes of memory"),
        ({"capacity": 1 << 90}, "than this machine can ever give"),
    ],
)
def test_what_is_not_valid(arguments, text):
    with pytest.raises(oa.ConfigurationError, match=text):
        oa.Heap(**arguments)


def test_arguments_win_over_the_environment(monkeypatch):
    monkeypatch.setenv("SHAREDOA_MODE", "coal")
    monkeypatch.setenv("SHAREDOA_INITIAL_REGION", "64")
    monkeypatch.setenv("SHAREDOA_CAPACITY", "2MiB")
    monkeypatch.setenv("SHAREDOA_DEBUG", "1")
    with oa.Heap(backend="cpu") as heap:
        oa.new(Circle)
        assert heap.mode.name == "coal" and heap.debug is True
        assert heap.stats().capacity == 2 << 20
        assert heap.stats().bytes_reserved == 64 * heap.stats().bytes_used
    assert oa.Heap(mode="bits + vtable", backend="cpu").mode.name == "bits+vtable"
    assert oa.Heap(capacity=1 << 20, backend="cpu").stats().capacity == 1 << 20
    assert oa.Heap(debug=False, backend="cpu").debug is False


def test_every_placement_has_its_layouts(monkeypatch):
    assert oa.Heap(layout="tile", backend="cpu").layout.name == "tile"
    assert oa.Heap(backend="cpu").layout.name == "auto"
    assert oa.Heap(mode="concord", backend="cpu").layout.name == "aos"
    monkeypatch.setenv("SHAREDOA_LAYOUT", "tile")
    assert oa.Heap(mode="coal", backend="cpu").layout.name == "tile"
    assert oa.Heap(mode="concord", layout="auto", backend="cpu").layout.name == "aos"
    with pytest.raises(oa.ConfigurationError, match="mode concord places them one by one"):
        oa.Heap(mode="concord", backend="cpu")


def test_the_default_capacity_is_half_of_what_is_free():
    heap = oa.Heap(backend="cpu")
    free = heap.backend.free_memory()
    assert 0.3 * free < heap.stats().capacity < 0.7 * free


def test_heaps_share_a_backend():
    assert oa.Heap(backend="cpu").backend is oa.Heap(backend="cpu").backend
    assert oa.Heap(backend="python").backend is not oa.Heap(backend="cpu").backend


def test_the_innermost_heap_is_current():
    outside = oa.current_heap()
    with oa.Heap(backend="cpu") as first:
        assert oa.current_heap() is first
        with oa.Heap(backend="cpu") as second, first, second:
            assert oa.current_heap() is second
        assert oa.current_heap() is first
    assert oa.current_heap() is outside is oa.current_heap()


def test_an_error_inside_leaves_the_heap():
    outside = oa.current_heap()
    with pytest.raises(ZeroDivisionError), oa.Heap(backend="cpu"):
        _ = 1 / 0
    assert oa.current_heap() is outside


def test_the_current_heap_is_the_threads_own():
    found = []
    with oa.Heap(backend="cpu") as heap:
        thread = threading.Thread(target=lambda: found.append(oa.current_heap()))
        thread.start()
        thread.join()
        assert found[0] is not heap


def test_one_heap_in_overlapping_blocks_of_two_threads():
    heap, found, failures = oa.Heap(backend="cpu"), [], []
    both_entered, first_left = threading.Barrier(2), threading.Event()

    def work(leaves_first):
        outside = oa.current_heap()
        try:
            with heap:
                both_entered.wait(60)
                if not leaves_first:
                    first_left.wait(60)
                found.append(oa.current_heap() is heap)
            found.append(oa.current_heap() is outside)
        except Exception as failure:
            failures.append(failure)
        finally:
            first_left.set()

    threads = [threading.Thread(target=work, args=(first,)) for first in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert found == [True] * 4


def test_one_heap_in_overlapping_blocks_of_tasks():
    heap, inner = oa.Heap(backend="cpu"), oa.Heap(backend="cpu")
    outside = oa.current_heap()

    async def work(turns):
        outer = oa.current_heap()
        with heap:
            await asyncio.sleep(0)
            with inner, heap:
                for _ in range(turns):
                    await asyncio.sleep(0)
                assert oa.current_heap() is heap
            assert oa.current_heap() is heap
        assert oa.current_heap() is outer

    async def both():
        await asyncio.gather(work(1), work(3))
        with inner:
            tasks = asyncio.gather(work(3), work(1))  # they begin with what is current here
        await tasks
        assert oa.current_heap() is outside

    asyncio.run(both())


def test_blocks_left_in_the_wrong_order():
    outside = oa.current_heap()

    def entered(heap):
        with heap:
            yield

    first, second = oa.Heap(backend="cpu"), oa.Heap(backend="cpu")
    outer, inner = entered(first), entered(second)
    next(outer), next(inner)
    outer.close()
    assert oa.current_heap() is second
    inner.close()
    assert oa.current_heap() is outside


def test_a_block_left_in_a_context_that_did_not_enter_it():
    outside, heap = oa.current_heap(), oa.Heap(backend="cpu")
    contextvars.copy_context().run(heap.__enter__)
    assert oa.current_heap() is outside
    heap.__exit__(None, None, None)
    assert oa.current_heap() is outside
    with heap:
        assert oa.current_heap() is heap
    assert oa.current_heap() is outside


def test_knobs_in_code():
    with knobs.scope(mode="tag+vtable"):
        assert oa.Heap(backend="cpu").mode.name == "tag+vtable"


def test_a_heap_cannot_be_copied():
    with pytest.raises(TypeError, match=r"oa\.dump"):
        copy.copy(oa.Heap())
