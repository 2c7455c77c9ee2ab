"""Objects that move without being asked: rooms shrink, and nobody notices."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.errors import HeapError
from sharedoa.heap import moving, population
from sharedoa.heap.arrays import ObjectArray
from sharedoa.heap.automatic import Upkeep
from sharedoa.model.object import shared_type
from sharedoa.runtime import launch

from ..backends.pretend_device import PretendDevice
from ..codegen.interpreted import InterpretedGpu

pytestmark = pytest.mark.in_turns("heap", 2)

COUNT = 3000


class Herd(oa.Object):
    id: i32
    friend: Herd | None

    def age(self, limit: i32) -> None:
        if self.id % 100 >= limit:
            oa.delete(self)

    def split(self, out: oa.Array[Herd]) -> None:
        if self.id % 300 == 0:
            out[self.id // 300] = oa.new(Herd, id=self.id + 1, friend=self)


class Small(oa.Object):
    id: i32
    pair: oa.inline[Herd, 2]


@oa.value
class Pair:
    first: Herd | None


@pytest.fixture(params=["python-aos", "cpu-aos", "cpu-tile", "warps-tile"])
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    backend, layout = request.param.split("-")
    opened: Any = InterpretedGpu() if backend == "warps" else backend
    with oa.Heap(backend=opened, layout=layout, initial_region=64) as made:
        yield made


def capacity(heap: oa.Heap) -> int:
    return sum(region.capacity for region in heap.placement.regions(Herd.__sharedoa__))


def herd() -> Any:
    objects = oa.new(Herd, COUNT, id=np.arange(COUNT))
    objects.friend = objects[(np.arange(COUNT) * 7) % COUNT]
    return objects


def is_right(kept: Any, ids: list[int]) -> bool:
    friends = [each.friend and int(each.friend.id) for each in kept]
    expected = [number * 7 % COUNT for number in ids]
    alive = set(ids)
    return (
        kept.id.numpy().tolist() == ids
        and oa.all(Herd).id.numpy().tolist() == ids
        and friends == [each if each in alive else None for each in expected]
    )


def test_what_the_host_deletes(heap: oa.Heap) -> None:
    objects = herd()
    first, alive = objects[0], np.arange(COUNT) % 10 == 0
    kept = objects[alive]
    kept.friend = objects[np.where(alive, np.arange(COUNT), 0) * 7 % COUNT][alive]
    before = capacity(heap)
    oa.delete(objects[~alive])
    assert before >= COUNT and capacity(heap) <= 2 * len(kept)
    assert objects[0] is first and is_right(kept, list(range(0, COUNT, 10)))
    moves = heap.placement.moves
    for _ in range(40):  # what grows again does not move each time
        oa.delete(oa.new(Herd, id=1))
    assert heap.placement.moves <= moves + 1


@pytest.mark.parametrize("error", [MemoryError("no code"), HeapError("no room", "free some")])
def test_without_memory_they_stay(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(move: object) -> None:
        raise error

    monkeypatch.setattr(moving._Move, "run", fail)
    objects = herd()
    alive = np.arange(COUNT) % 10 == 0
    kept, before = objects[alive], capacity(heap)
    oa.delete(objects[~alive])
    assert capacity(heap) == before and is_right(kept, list(range(0, COUNT, 10)))


def test_what_launches_delete(heap: oa.Heap) -> None:
    """After a few launches that need less, and not before."""
    herd()
    out = oa.zeros(10, Herd)
    for turn in range(8):
        assert capacity(heap) >= COUNT, turn
        oa.all(Herd).age(10)
    assert capacity(heap) <= COUNT // 5
    assert oa.all(Herd).id.numpy().tolist() == [n for n in range(COUNT) if n % 100 < 10]
    oa.all(Herd).split(out)
    found = [(int(each.id), int(each.friend.id)) for each in out]
    assert found == [(number + 1, number) for number in range(0, COUNT, 300)]


def test_who_holds_something_notices_nothing(heap: oa.Heap) -> None:
    def delete_most() -> Any:
        objects = herd()
        kept = objects[::10]
        for number in range(1, 10):
            oa.delete(objects[number::10])
        return kept

    moves = heap.placement.moves
    view = herd().id
    kept = delete_most()
    assert view[17] == 17 and heap.placement.moves == moves
    values = kept.id[...]
    del view
    oa.delete(oa.new(Herd))
    assert heap.placement.moves == moves
    assert values.tolist() == list(range(0, COUNT, 10))
    del values
    for each in oa.all(Herd):
        if each.id % 20:
            oa.delete(each)
    assert heap.placement.moves == moves
    oa.delete(oa.new(Herd))
    assert heap.placement.moves == moves + 1 and capacity(heap) < COUNT


def test_numpys_views_count_after_regions_have_become_one() -> None:
    with oa.Heap(backend="cpu", layout="aos", initial_region=64) as heap:
        view = oa.new(Herd, 64, id=np.arange(64)).id.numpy()
        objects = oa.new(Herd, 2000, id=np.arange(2000))
        oa.delete(objects)
        assert heap.placement.region_count(Herd.__sharedoa__) == 1
        view[:] = 7
        assert (oa.all(Herd).id.numpy() == 7).all() and heap.placement.moves == 0
        del view, objects
        oa.delete(oa.new(Herd))
        assert heap.placement.moves == 1


def column(objects: Any) -> Any:
    import pandas as pd  # a third of a second, for one case

    return pd.Series(objects)


@pytest.mark.parametrize(
    "expose",
    [
        lambda objects: objects.references(),
        lambda objects: objects.numpy(),
        lambda objects: np.array(objects),
        lambda objects: np.asarray(objects.friend[:4]),
        lambda objects: np.unique(objects.friend),
        lambda objects: np.array(oa.new(Small, 2, pair=[objects[0], objects[1]]).pair[0]),
        lambda objects: np.asarray(oa.array(Pair, [Pair(objects[0])])),
        column,
        lambda objects: objects[0].friend,
        lambda objects: list(objects.friend == objects),
    ],
    ids=[
        "references",
        "numpy",
        "array",
        "field",
        "function",
        "inline",
        "struct",
        "column",
        "proxies do not count",
        "comparisons do not count",
    ],
)
def test_references_that_were_given_out(expose: Any) -> None:
    with oa.Heap(backend="cpu", initial_region=64) as heap:
        objects = herd()
        is_proxy = isinstance(expose(objects), (oa.Object, list))
        oa.delete(objects[100:])
        assert heap.placement.moves == is_proxy


def test_sets_and_dictionaries_find_what_has_moved() -> None:
    with oa.Heap(backend="cpu", initial_region=64) as heap:
        objects = herd()
        last = oa.all(Herd)[COUNT - 1]
        known, names = {last, objects[7]}, {last: "last"}
        oa.delete(objects[100:-1])
        assert heap.placement.moves == 1
        assert last in known and names[oa.all(Herd)[100]] == "last" and objects[7] in known
        oa.sort(oa.all(Herd), -oa.all(Herd).id.numpy())
        assert last in known and names[oa.all(Herd)[0]] == "last" and objects[7] in known


def test_several_threads_and_debug_mode_and_small_classes() -> None:
    with oa.Heap(backend="cpu", initial_region=64) as heap:
        objects = herd()
        thread = threading.Thread(target=lambda: objects[0].id)
        thread.start()
        thread.join()
        oa.delete(objects[100:])
        assert heap.placement.moves == 0
    with oa.Heap(backend="cpu", initial_region=64, debug=True) as heap:
        oa.delete(herd()[100:])
        assert heap.placement.moves == 0
    with oa.Heap(backend="cpu", initial_region=4096) as heap:
        oa.delete(herd()[100:])
        assert heap.placement.moves == 0
    with oa.Heap(backend="cpu", initial_region=64) as heap:
        small = oa.new(Small, 200)
        oa.new(Herd, 10_000)
        oa.delete(small[10:])
        assert heap.placement.moves == 0
        oa.compact(Small)
        assert heap.placement.moves == 1


@oa.kernel
def ask(objects: oa.Array[Herd], alive: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i < len(objects):
        alive[i] = oa.is_alive(objects[i]) + 2 * (objects[i] is None)


def test_references_to_what_was_deleted_stay_that(heap: oa.Heap) -> None:
    objects = herd()
    asked = np.arange(0, COUNT, 13)
    some, alive = objects[asked], oa.zeros(len(asked), i32)
    for first in (1000, 100):
        oa.delete(objects[first : 10 * first if first == 100 else COUNT])
        moves = heap.placement.moves
        ask[len(asked)](some, alive)
        assert alive.numpy().tolist() == (asked < first).astype(int).tolist()
        with pytest.raises(HeapError, match="deleted"):
            print(objects[first])
        with pytest.raises(HeapError, match="deleted"):
            print(objects.id)
    assert moves == 2
    oa.new(Herd, 5000)
    ask[len(asked)](some, alive)
    assert (
        not alive.numpy()[asked >= 100].any()
        and heap.placement.region_count(Herd.__sharedoa__) <= 2
    )
    oa.compact()
    ask[len(asked)](some, alive)
    assert (alive.numpy()[asked >= 100] == 2).all() and objects[100] is None


def test_captured_steps_and_runs_go_on(heap: oa.Heap) -> None:
    objects = herd()
    total = oa.zeros(1, i32)

    @oa.kernel
    def add(objects: oa.Array[Herd], total: oa.Array[i32]) -> None:
        i = oa.grid(1)
        oa.atomic_add(total, 0, objects[i].id)

    kept = objects[:100]
    with oa.capture() as step:
        add[100](kept, total)
        oa.all(Herd).age(100)
    step.run()
    oa.delete(objects[100:])
    assert capacity(heap) <= 200
    for _ in range(12):
        step.run()
    add[100](kept, total)
    assert total[0] == 14 * sum(range(100))


def test_captured_steps_move_nothing(heap: oa.Heap) -> None:
    """Also those of one launch, which CPython runs as it runs others."""

    @oa.kernel
    def age_each(objects: oa.Array[Herd], limit: i32) -> None:
        i = oa.grid(1)
        if oa.is_alive(objects[i]):
            objects[i].age(limit)

    objects = herd()
    with oa.capture() as step:
        age_each[COUNT](objects, 10)
    before = capacity(heap)
    step.run(10)
    step.run()
    assert len(oa.all(Herd)) == COUNT // 10 and capacity(heap) == before


def test_nothing_is_held_in_the_end(heap: oa.Heap) -> None:
    objects = herd()
    objects.id += 1
    assert objects.id[3] == 4 and objects.id[:5].numpy()[1] == 2
    walk = iter(oa.all(Herd))
    next(walk)
    assert len(heap.upkeep.held) == 1
    del walk
    with pytest.raises(AttributeError):
        print(objects.nothing)
    assert not heap.upkeep.held
    assert isinstance(heap.upkeep, Upkeep)


@pytest.mark.parametrize("what", ["launch", "parts"])
def test_nothing_is_held_after_a_step_that_failed(what: str) -> None:
    """Also as long as somebody has the traceback."""

    @oa.kernel
    def fail(n: i32) -> None:
        assert n == 0

    with oa.Heap(backend="python", capacity="64MiB", initial_region=64) as heap:
        herd()
        with oa.capture() as step:
            fail[1](1)
            if what == "parts":
                oa.all(Herd).age(100)
        with pytest.raises(oa.DeviceError) as caught:
            step.run()
        assert caught.tb is not None and not heap.upkeep.held


class Slow(Herd):
    def bite(self, first: i32) -> None:
        if first <= self.id and self.id < first + 50:
            oa.delete(self)


class Fast(Slow):
    pass


def test_code_for_what_launches_change_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pieces are left of it, and when it has moved together; what is one run for a
    while is taken as such."""
    made: list[str] = []

    def counted(job: Any, *instead: Any) -> Any:
        made.append(job.name)
        return compile(job, *instead)

    compile = launch.compile
    monkeypatch.setattr(launch, "compile", counted)
    with oa.Heap(backend="cpu", initial_region=64) as heap:
        for cls, count in ((Slow, 1000), (Fast, 2500)):
            oa.new(cls, count, id=np.arange(count))
        rooms = set()
        for first in range(0, 2000, 100):
            oa.all(Slow).bite(i32(first))
            rooms.add(sum(r.capacity for r in heap.placement.all_regions()))
        assert len(rooms) > 1, "nothing has moved"
        assert len(oa.all(Slow)) == 500 + 1500 and len(made) <= 3, made
        oa.compact()
        for _ in range(population._PATIENCE):
            assert sum(1 for each in oa.all(Fast)._stretches() if isinstance(each, ObjectArray))
        assert not any(isinstance(each, ObjectArray) for each in oa.all(Fast)._stretches())


def test_what_a_device_has_listed_is_a_list_when_it_has_moved() -> None:
    """It is one run then, but for the next launch only."""
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=64) as heap:
        heap.new(Slow, 1000, id=np.arange(1000))
        heap.all(Slow).bite(i32(10))
        (listed,) = heap.all(Slow)._stretches()
        assert isinstance(listed, ObjectArray) and heap.runs_of_classes.of(_SLOW) is None
        oa.compact()
        assert len(heap.runs_of_classes.of(_SLOW) or []) == 1
        (listed,) = heap.all(Slow)._stretches()
        assert isinstance(listed, ObjectArray) and listed._run is None
        assert listed.id.numpy().tolist() == [*range(10), *range(60, 1000)]


_SLOW = shared_type(Slow)
