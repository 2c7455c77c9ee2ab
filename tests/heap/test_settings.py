"""What a heap is made from: arguments, the environment, the current heap."""

import threading

import pytest

import sharedoa as oa
from sharedoa.runtime import knobs

from .shapes import Circle


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"mode": "fast"}, "mode= 'fast' is not valid.*\n.*cuda, concord, sharedoa, coal"),
        ({"backend": "tpu"}, "backend= 'tpu' is not valid.*\n.*auto, cuda, hip, cpu, python"),
        ({"layout": "soa"}, "layout= 'soa' is not valid.*\n.*aos, tile, auto"),
        ({"layout": "tile", "mode": "cuda"}, "mode cuda places them one by one\n.*aos or auto"),
        ({"capacity": "much"}, "capacity= 'much' is not valid"),
        ({"capacity": 0}, "capacity= 0 is not valid"),
        ({"initial_region": 0}, "initial_region= 0 is not valid"),
        ({"debug": 2}, "debug= 2 is not valid"),
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


def test_knobs_in_code():
    with knobs.scope(mode="tag+vtable"):
        assert oa.Heap(backend="cpu").mode.name == "tag+vtable"
