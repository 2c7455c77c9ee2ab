"""What another thread does exactly between two looks of a launch, or of a call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.heap import moving
from sharedoa.heap.array_memory import ArrayMemory
from sharedoa.heap.automatic import Upkeep
from sharedoa.heap.field_view import FieldView, changes_now
from sharedoa.heap.run import RunOfObjects
from sharedoa.runtime.capture import Capture
from sharedoa.runtime.fusion import plans
from sharedoa.runtime.launch import Program
from sharedoa.runtime.launch_sequence import LaunchSequence

from ..heap.invariants import check_invariants
from ..interleaving import OtherThread, Place, in_heap, place, places, switching


class Thing(oa.Object):
    number: i32
    key: i32

    def step(self, by: i32) -> None:
        self.number += by

    def twice(self) -> i32:
        return self.number * 2


class Other(Thing):
    def step(self, by: i32) -> None:
        self.number += 100 * by


class Holder(oa.Object):
    data: oa.Array[i32]


@oa.func
def stored(things: oa.Array[Thing], i: i32) -> i32:
    things[i] = things[i]
    return 1


@oa.func
def number_of(things: oa.Array[Thing], i: i32) -> i32:
    return things[i].number


picked = stored


@oa.kernel
def pick(things: oa.Array[Thing], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i < len(out):
        out[i] = picked(things, i32(i))


@pytest.fixture
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(backend="cpu", capacity="64MiB", initial_region=16) as made:
        yield made
        check_invariants(made)


@pytest.fixture
def shared(heap: oa.Heap) -> oa.Heap:
    """A heap that another thread has used before."""
    in_another_thread(heap.wait)
    return heap


def in_another_thread(work: Callable[[], Any]) -> None:
    other = threading.Thread(target=work)
    other.start()
    other.join()


def deletes(things: oa.Array[Thing]) -> None:
    oa.delete(things[10:])
    oa.new(Thing, 5, number=1000)


def sorts(things: oa.Array[Thing]) -> None:
    oa.sort(things, -things.key.numpy())


@pytest.mark.parametrize("other, has_result", [(deletes, True), (sorts, False)])
def test_a_thread_that_is_new_to_the_heap(
    heap: oa.Heap, other: Callable[[Any], None], has_result: bool
) -> None:
    """The call has listed objects as one does who is alone."""
    things = oa.new(Thing, 20, number=np.arange(20), key=np.arange(20))
    for _ in range(2):
        oa.all(Thing).step(1)
        oa.all(Thing).twice()
    with switching(
        place(RunOfObjects.__init__, "self._heap"), in_heap(heap, lambda: other(things))
    ):
        found = oa.all(Thing).twice().numpy() if has_result else oa.all(Thing).step(1)
    expected = np.arange(20) + (2 if has_result else 3)
    if other is deletes:
        expected = np.concatenate([expected[:10], [1000 + (not has_result)] * 5])
    assert sorted(oa.all(Thing).number.numpy()) == sorted(expected)
    if has_result:
        assert sorted(found) == sorted(2 * expected)


@oa.kernel
def bear(things: oa.Array[Thing]) -> None:
    Thing(number=things[oa.grid(1)].number)


@pytest.mark.parametrize("is_new", [True, False])
def test_objects_that_a_launch_makes_meanwhile(heap: oa.Heap, is_new: bool) -> None:
    """It has read what the call is going to change, so it came first."""
    things = oa.new(Thing, 4, number=np.arange(4))
    if not is_new:
        in_another_thread(heap.wait)
    for _ in range(2):
        oa.all(Thing).step(1)
    listed = place(RunOfObjects.__init__, "self._heap")
    with switching(listed, in_heap(heap, lambda: bear[4](things))):
        oa.all(Thing).step(1)
    assert sorted(oa.all(Thing).number.numpy()) == [3, 3, 4, 4, 5, 5, 6, 6]


def test_several_launches_of_a_call(heap: oa.Heap) -> None:
    """The first has begun when another thread deletes objects of the second."""
    oa.new(Thing, 20)
    others = oa.new(Other, 20)
    for _ in range(2):
        oa.all(Thing).step(1)
    at = place(RunOfObjects.__init__, "self._heap", nth=2)
    with (
        switching(at, in_heap(heap, lambda: oa.delete(others[10:]))),
        pytest.raises(oa.HeapError, match="another thread deleted or moved"),
    ):
        oa.all(Thing).step(1)
    assert oa.all(Other).number.numpy().tolist() == [200] * 10
    oa.all(Thing).step(1)
    assert oa.all(Other).number.numpy().tolist() == [300] * 10


def test_a_program_that_comes_to_index_an_array_only(heap: oa.Heap) -> None:
    global picked
    things, out = oa.new(Thing, 8, number=np.arange(8)), oa.zeros(8, i32)
    pick[8](things, out)
    try:

        def bind_anew() -> None:
            global picked
            picked = number_of

        Thing.step = Thing.step  # the next launch looks at everything
        with switching(place(Program.bind, "first = "), bind_anew):
            pick[8](things, out)
        assert out.numpy().tolist() == [*range(8)]
    finally:
        picked = stored


def test_an_array_that_is_looked_up_beside_others_that_are_made(heap: oa.Heap) -> None:
    array = oa.array(i32, np.arange(300))
    address = array._address
    with switching(
        place(ArrayMemory.at, "block: "), in_heap(heap, lambda: oa.zeros(300, i32))
    ) as other:
        found = heap.memory.arrays.at(address)
    assert found is not None and found.address == address
    assert other.has_waited


def test_an_array_that_goes_while_a_field_is_read(heap: oa.Heap) -> None:
    """What the field held has become memory of another array when its address is looked up."""
    holder = oa.new(Holder)
    holder.data = oa.array(i32, [7] * 300)
    made = []

    def replaces() -> None:
        holder.data = oa.array(i32, [8] * 300)
        heap.memory.collect(thorough=True)
        made.append(oa.array(oa.f32, [0.5] * 300))

    with switching(place(oa.Heap.array_at, "storage = "), in_heap(heap, replaces)):
        found = holder.data
    assert found.numpy().tolist() == [7] * 300


@oa.func
def own(things: oa.Array[Thing], i: i32) -> i32:
    return things[i].number


@oa.func
def neighbour(things: oa.Array[Thing], i: i32) -> i32:
    return things[(i + 1) % len(things)].number


read = own


@oa.kernel
def take_key(things: oa.Array[Thing]) -> None:
    i = oa.grid(1)
    if i < len(things):
        things[i].number = things[i].key


@oa.kernel
def look(things: oa.Array[Thing], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i < len(things):
        out[i] = read(things, i32(i))


@oa.kernel
def double(things: oa.Array[Thing], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i < len(things):
        out[i] *= 2


@pytest.fixture
def reads_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    global read
    monkeypatch.setenv("SHAREDOA_FUSE", "always")  # in all threads
    yield
    read = own


def read_neighbour() -> None:
    global read
    read = neighbour


def a_step(things: oa.Array[Thing], out: oa.Array[i32]) -> Any:
    with oa.capture() as step:
        take_key[8](things)
        look[8](things, out)
        double[8](things, out)
    return step


@pytest.mark.usefixtures("reads_own")
def test_launches_that_come_to_be_several(heap: oa.Heap) -> None:
    """What one launch may be for several is found out before the run looks at names."""
    things, out = oa.new(Thing, 8, key=np.arange(8)), oa.zeros(8, i32)
    step = a_step(things, out)
    step.run()
    assert out.numpy().tolist() == [*range(0, 16, 2)]
    things.number = 100
    with switching(place(LaunchSequence._run_ready, "launching = "), read_neighbour):
        step.run()
    assert out.numpy().tolist() == [2, 4, 6, 8, 10, 12, 14, 0]


@pytest.mark.usefixtures("reads_own")
def test_a_step_that_another_thread_groups_anew(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made for launches that were one is not run for those that are one now."""
    things, out = oa.new(Thing, 8, key=np.arange(8)), oa.zeros(8, i32)
    step = a_step(things, out)

    def groups_anew() -> None:
        read_neighbour()
        step.run()

    with switching(place(Capture._arranged, "parts: Parts"), in_heap(heap, groups_anew)):
        step.run()
    monkeypatch.delattr(LaunchSequence, "_run_apart")  # nor taken for what it cannot be
    things.number = 100
    step.run()
    assert out.numpy().tolist() == [2, 4, 6, 8, 10, 12, 14, 0]


@oa.kernel
def add(numbers: oa.Array[i32], by: i32) -> None:
    numbers[oa.grid(1)] += by


@oa.kernel
def fails(numbers: oa.Array[i32]) -> None:
    numbers[oa.grid(1)] += 1


def test_launches_that_wait_behind_one_that_fails(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of another thread's block are not dropped."""
    launch = plans._launch

    def one_fails(heap: oa.Heap, record: Any) -> None:
        if record.program is fails.program:
            raise oa.HeapError("this one fails")
        launch(heap, record)

    monkeypatch.setattr(plans, "_launch", one_fails)
    mine, its = oa.zeros(4, i32), oa.zeros(4, i32)

    def work() -> None:
        with oa.fuse():
            add[4](its, 2)
            asked.set()
            assert goes_on.wait(30)
            add[4](its, 3)

    asked, goes_on = threading.Event(), threading.Event()
    other = OtherThread(in_heap(heap, work))
    with pytest.raises(oa.HeapError, match="this one fails"), oa.fuse():
        fails[4](mine)
        add[4](mine, 1)
        other.go()
        assert asked.wait(30)
    goes_on.set()
    other.end()
    assert its.numpy().tolist() == [5] * 4
    assert mine.numpy().tolist() == [0] * 4


class Mover(oa.Object):
    number: i32


class Keeper(oa.Object):
    mover: Mover


def test_proxies_of_others_while_objects_move(shared: oa.Heap) -> None:
    oa.new(Mover, 20)
    keepers = oa.new(Keeper, 4)
    held = []
    with switching(
        place(moving._move, "heap.memory.free_work"),
        in_heap(shared, lambda: held.append(keepers[1])),
    ):
        oa.sort(oa.all(Mover), np.arange(20)[::-1])
    assert keepers[1] is held[0]


def test_references_that_are_stored_while_objects_move(shared: oa.Heap) -> None:
    movers = oa.new(Mover, 20, number=np.arange(20))
    keeper, mover = oa.new(Keeper), movers[3]

    def store() -> None:
        keeper.mover = mover

    with switching(place(moving._move, "heap.memory.free_work"), in_heap(shared, store)):
        oa.sort(movers, np.arange(20)[::-1])
    assert keeper.mover is mover and mover.number == 3


@pytest.mark.parametrize(
    "function, line", [(FieldView.__init__, "self._heap = heap"), (changes_now, "placement")]
)
def test_who_is_deleted_while_a_view_is_made(
    shared: oa.Heap, function: Callable[..., Any], line: str
) -> None:
    movers = oa.new(Mover, 20, number=np.arange(20))

    def replace() -> None:
        oa.delete(movers[5])
        oa.new(Mover, number=50)

    with switching(place(function, line), in_heap(shared, replace)):
        with pytest.raises(oa.HeapError, match="was deleted"):
            movers.number.numpy()


def test_views_of_a_new_thread_before_objects_move_by_themselves(heap: oa.Heap) -> None:
    movers = oa.new(Mover, 400, number=np.arange(400))
    views = []
    with switching(
        place(Upkeep._compact, "for cls in loose:"),
        in_heap(heap, lambda: views.append(movers[:4].number.numpy())),
    ) as other:
        oa.delete(movers[40:])
    assert other.has_waited
    movers[:4].number = [9, 8, 7, 6]
    assert views[0].tolist() == [9, 8, 7, 6]


@oa.kernel
def copy_first(holders: oa.Array[Holder], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    oa.syncthreads()
    Thing(number=holders[i].data[0])
    oa.syncthreads()
    out[i] = holders[i].data[0]


def test_threads_of_a_launch_read_arrays_in_fields() -> None:
    """The one that launches them has the lock on the heap's books as long as they run."""
    with oa.Heap(backend="python", capacity="64MiB") as heap:
        holders, out = oa.new(Holder, 4), oa.zeros(4, i32)
        for number in range(4):
            holders[number].data = oa.array(i32, [number])
        work = in_heap(heap, lambda: copy_first[4, 4](holders, out))
        launching = threading.Thread(target=work, daemon=True)
        launching.start()
        launching.join(20)
        assert not launching.is_alive()
        assert out.numpy().tolist() == [0, 1, 2, 3]


def _calls(things: oa.Array[Thing]) -> Any:
    return sorted(oa.all(Thing).twice().numpy().tolist())


def _steps(things: oa.Array[Thing]) -> None:
    oa.all(Thing).step(5)


def _launches(things: oa.Array[Thing]) -> None:
    take_key[len(things)](things)


def _grows(things: oa.Array[Thing]) -> None:
    oa.new(Thing, 100, number=7)


@pytest.mark.slow
@pytest.mark.parametrize("other", [sorts, deletes, _grows])
@pytest.mark.parametrize("first", [_calls, _steps, _launches])
@pytest.mark.parametrize("is_shared", [False, True])
def test_at_many_lines(
    first: Callable[[Any], Any], other: Callable[[Any], Any], is_shared: bool
) -> None:
    """Whatever the line, both have done what they do one after the other."""

    def outcome(meet: Callable[[oa.Heap, Callable[[], Any], Callable[[], Any]], Any]) -> Any:
        with oa.Heap(backend="cpu", capacity="64MiB", initial_region=16) as heap:
            things = oa.new(Thing, 20, number=np.arange(20), key=np.arange(20))
            for _ in range(2):
                first(things[:10])
            if is_shared:
                in_another_thread(heap.wait)
            work = in_heap(heap, lambda: other(things))
            found = meet(heap, lambda: first(things[:10]), work)
            return found, sorted(oa.all(Thing).number.numpy().tolist())

    def one_first(heap: oa.Heap, mine: Callable[[], Any], its: Callable[[], Any]) -> Any:
        found = mine()
        in_another_thread(its)
        return found

    def other_first(heap: oa.Heap, mine: Callable[[], Any], its: Callable[[], Any]) -> Any:
        in_another_thread(its)
        return mine()

    def at(line: Place) -> Any:
        def meet(heap: oa.Heap, mine: Callable[[], Any], its: Callable[[], Any]) -> Any:
            with switching(line, its) as other:
                found = mine()
                if not other.has_begun:  # as a timer or the collector led there the first time
                    other.go()
            return found

        return outcome(meet)

    lines: list[Place] = []
    expected = [outcome(one_first), outcome(other_first)]
    outcome(lambda heap, mine, its: lines.extend(places(mine)))
    assert len(lines) > 20
    assert [line for line in lines[::4] if at(line) not in expected] == []
