"""Objects that kernels make and end where the platform's allocator has placed each: what differs
from modes that place them by class. What is promised everywhere is in ``test_births``."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.backends.cpu import CpuBackend
from sharedoa.errors import DeviceError, HeapError
from sharedoa.heap.scattered import ScatteredPlacement

from ..codegen.interpreted import InterpretedGpu
from ..heap.invariants import check_invariants
from .test_births import Cell, Complex, Lazy, Mark, Simple, ids, make_in_rows, make_some

OPENED = [
    ("python", "cuda", False), ("cpu", "cuda", False), ("cpu", "concord", True),
    ("warps", "cuda", False), ("cuda", "cuda", False), ("cuda", "concord", True),
]  # fmt: skip


@pytest.fixture(
    params=[
        pytest.param(
            each, marks=[pytest.mark.gpu] * (each[0] == "cuda"), id="-".join(map(str, each))
        )
        for each in OPENED
    ]
)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    backend, mode, debug = request.param
    opened: Any = InterpretedGpu() if backend == "warps" else backend
    with oa.Heap(backend=opened, mode=mode, debug=debug) as made:
        yield made
        check_invariants(made)


def placement_of(heap: oa.Heap) -> ScatteredPlacement:
    placement = heap.placement
    assert isinstance(placement, ScatteredPlacement)
    return placement


@oa.kernel
def replace_odd(cells: oa.Array[Cell]) -> None:
    i = oa.grid(1)
    if i % 2:
        Simple(id=100 + i)
        oa.delete(cells[i])


def test_a_population_is_in_the_order_in_which_its_objects_were_made(heap: oa.Heap) -> None:
    """Also where new ones have places that others had."""
    cells = oa.new(Simple, 6, id=np.arange(6))
    replace_odd[6](cells)
    assert ids(Simple) == [0, 2, 4, 101, 103, 105]
    oa.new(Simple, 2, id=[7, 8])
    assert sorted(ids(Simple)) == [0, 2, 4, 7, 8, 101, 103, 105]
    assert ids(Simple)[:6] == [0, 2, 4, 101, 103, 105] and set(ids(Simple)[6:]) == {7, 8}
    replace_odd[2](oa.concat(oa.all(Simple)))
    assert ids(Simple)[:5] == [0, 4, 101, 103, 105] and ids(Simple)[-1] == 101


@oa.kernel
def ask_each(cells: oa.Array[Cell], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    out[i] = (1 if oa.is_alive(cells[i].next) else 0) + (2 if oa.delete(cells[i].next) else 0)


def test_references_to_memory_that_the_allocator_has_again(heap: oa.Heap) -> None:
    """What was deleted by the host is given back at once, and may be anybody's, or nobody's."""
    cells, gone = oa.new(Lazy, 500), oa.new(Complex, 500)
    cells.next = gone
    oa.delete(gone[::2])
    out = oa.zeros(500, i32)
    ask_each[500](cells, out)
    assert out.numpy().tolist() == [0, 3] * 250
    ask_each[500](cells, out)
    assert out.numpy().tolist() == [0] * 500
    assert len(oa.all(Complex)) == 0


def test_an_object_in_the_place_of_another_is_not_taken_for_it(heap: oa.Heap) -> None:
    cells = oa.new(Simple, 8, id=np.arange(8))
    kept = oa.concat(cells)
    replace_odd[8](cells)
    with pytest.raises((HeapError, DeviceError), match="was deleted"):
        kept.divide()
        oa.synchronize()
    oa.reserve(Simple, 32)
    make_some[2](oa.array(i32, [16, 16]))
    count = len(oa.all(Simple))
    with pytest.raises((HeapError, DeviceError), match="was deleted"):
        kept.divide()
        oa.synchronize()
    # In debug mode kernels tell of it, where others have done their work.
    assert heap.debug or len(oa.all(Simple)) == count == 40


def test_places_that_nobody_took_are_for_the_next_who_makes_objects(heap: oa.Heap) -> None:
    make_in_rows[5, 7](oa.zeros(1, i32))
    placement, cls = placement_of(heap), Simple.__sharedoa__
    made = len(oa.all(Simple))
    assert made + placement.room(cls) == 70
    for each in oa.new(Simple, 10):
        assert (each.id, each.energy, each.next, list(each.marks)) == (0, 0.0, None, [0, 0, 0])
    assert made + 10 + placement.room(cls) == 70
    oa.new(Simple, 100)
    assert placement.room(cls) == 0 and len(oa.all(Simple)) == made + 110


def test_what_launches_have_ended_has_room_for_others(heap: oa.Heap) -> None:
    """In debug mode it is kept for a while, so that references to it are told."""
    cells = oa.new(Simple, 10, id=1)
    cells.marks = 7
    cells.next = cells
    replace_odd[10](cells)
    placement, cls = placement_of(heap), Simple.__sharedoa__
    assert placement.room(cls) == (0 if heap.debug else 5)
    for each in oa.new(Simple, 10):
        assert (each.id, each.energy, each.next, list(each.marks)) == (0, 0.0, None, [0, 0, 0])


def test_one_launch_over_several_classes(heap: oa.Heap) -> None:
    oa.new(Simple, 3, id=np.arange(3), energy=1.0)
    oa.new(Complex, 2, id=[10, 20])
    oa.new(Lazy, 2)
    oa.all(Cell).divide()
    assert ids(Simple) == [0, 1, 2, 100, 101, 102]
    assert ids(Complex) == [10, 110, 20, 120] and len(oa.all(Lazy)) == 2


@oa.kernel
def touch(cells: oa.Array[Cell], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    out[i] = cells[i].next.id


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("mode", ["cuda", "concord", "coal"])
def test_debug_mode_tells_of_what_a_launch_has_ended(mode: str, backend: str) -> None:
    with oa.Heap(backend=backend, mode=mode, debug=True) as heap:
        lazy, cells = oa.new(Lazy, 4), oa.new(Simple, 4, id=np.arange(4))
        lazy.next = cells
        out = oa.zeros(4, i32)
        replace_odd[4](cells)
        line = f"{__file__}:{sys._getframe().f_lineno - 1}"
        touch[1](lazy, out)
        with pytest.raises(DeviceError, match=f"the .*Simple at .* was deleted by {line}"):
            touch[4](lazy, out)
            oa.synchronize()
        assert ids(Simple) == [0, 2, 101, 103]
        if mode != "coal":  # which keeps what was deleted
            check_invariants(heap)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(("held", "launched"), [("cuda", "sharedoa"), ("sharedoa", "cuda")])
def test_launches_in_another_mode_than_the_heap(held: str, launched: str, debug: bool) -> None:
    """Both read the same header; where objects lie is the heap's affair."""
    with oa.Heap(backend="cpu", mode=held, debug=debug):
        cells = oa.new(Simple, 6, id=np.arange(6))
        replace_odd[6](cells, mode=launched)
        assert sorted(ids(Simple)) == [0, 2, 4, 101, 103, 105]
        lazy, out = oa.new(Lazy, 3), oa.zeros(3, i32)
        lazy.next = oa.concat(oa.all(Simple))[:3]
        ask_each[3](lazy, out, mode=launched)
        assert out.numpy().tolist() == [3, 3, 3] and len(oa.all(Simple)) == 3


class Stingy(CpuBackend):
    """Has room for so many more objects that are placed one by one."""

    left = 1 << 40

    def allocate_scattered(self, count: int, size: int, header: bytes) -> Any:
        if count > self.left:
            raise HeapError(f"room for {self.left} of {count}", "pretended")
        made = super().allocate_scattered(count, size, header)
        self.left -= count
        return made

    def free_scattered(self, addresses: Any) -> None:
        self.left += len(addresses)
        super().free_scattered(addresses)


def test_a_launch_takes_what_room_there_is() -> None:
    """It is enough that there are as many as are made."""
    backend = Stingy()
    with oa.Heap(backend=backend, mode="concord") as heap:
        lazy = oa.new(Lazy, 200)
        backend.left = 60

        @oa.kernel
        def make(cells: oa.Array[Cell]) -> None:
            i = oa.grid(1)
            if i % 4 == 0:
                cells[i].next = Simple(id=i)

        make[200](lazy)
        assert sorted(ids(Simple)) == list(range(0, 200, 4))
        with pytest.raises(HeapError, match="room for 10 new objects of Simple, and 50 were to be"):
            make[200](lazy)
        assert len(oa.all(Simple)) == 60 and backend.left == 0
        with pytest.raises(HeapError, match="no room for 1 more objects of Mark"):
            oa.reserve(Mark, 1)
        check_invariants(heap)


def test_what_waits_for_launches_goes_to_who_has_no_room() -> None:
    backend = Stingy()
    with oa.Heap(backend=backend, mode="cuda") as heap:
        oa.reserve(Simple, 500)
        backend.left = 100
        oa.new(Lazy, 400)
        assert placement_of(heap).room(Simple.__sharedoa__) == 0
        assert backend.left == 200
        check_invariants(heap)


def test_a_heap_gives_everything_back() -> None:
    backend = Stingy()
    before = backend.left
    heap = oa.Heap(backend=backend, mode="cuda")
    with heap:
        oa.reserve(Mark, 50)
        make_in_rows[5, 7](oa.zeros(1, i32))
        assert backend.left == before - 120
    del heap
    gc.collect()
    assert backend.left == before


def test_a_launch_that_cannot_be_leaves_all_places_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with oa.Heap(backend="cpu", mode="cuda") as heap:
        make_in_rows[5, 7](oa.zeros(1, i32))
        made, births = len(oa.all(Simple)), heap.memory.births

        def fail(*_: Any) -> None:
            raise HeapError("no memory", "pretended")

        for name in ("_hold", "show_living"):
            with monkeypatch.context() as patch:
                patch.setattr(type(births), name, fail)
                with pytest.raises(HeapError, match="no memory"):
                    make_in_rows[5, 7](oa.zeros(1, i32))
            check_invariants(heap)
            assert len(oa.all(Simple)) == made
        make_in_rows[5, 7](oa.zeros(1, i32))
        assert len(oa.all(Simple)) == 2 * made


def test_host_code_in_a_kernel_of_cpython_gets_other_places() -> None:
    with oa.Heap(backend="python", mode="concord") as heap:
        oa.reserve(Simple, 20)

        @oa.kernel
        def makes(out: oa.Array[i32]) -> None:
            i = oa.grid(1)
            Simple(id=100 + i)
            heap.new(Simple, 2, id=200 + i)
            out[i] = 1

        makes[6](oa.zeros(6, i32))
        expected = [100 + i for i in range(6)] + 2 * [200 + i for i in range(6)]
        assert sorted(ids(Simple)) == sorted(expected)
        check_invariants(heap)
