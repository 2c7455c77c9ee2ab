"""The python backend: CPython runs kernels, one thread after another, open to a debugger."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.heap.heap import Heap
from sharedoa.runtime import cpython, cpython_launches
from tests.interleaving import OtherThread, place, switching


class Cell(oa.Object):
    value: i32

    def double(self) -> i32:
        seen.append(self.value)
        return self.value * 2


class Plain(oa.Object):
    value: i32

    def double(self) -> i32:
        return self.value * 2


class Base(oa.Object):
    value: i32

    def double(self) -> i32: ...


class Careful(Base):
    def double(self) -> i32:
        return self.value * 2


class Forgetful(Base):
    def double(self) -> i32:  # type: ignore[return]  # on purpose
        if self.value > 0:
            return self.value


seen: list[int] = []


@oa.kernel
def visit(cells: oa.Array[Cell], out: oa.Array[i32]):
    i = oa.grid(1)
    breakpoint()
    out[i] = cells[i].double()


@oa.kernel
def order(out: oa.Array[i32]):
    x, y = oa.grid(2)
    nx, _ = oa.gridsize(2)
    seen.append(y * nx + x)


@oa.kernel
def fail_at_barrier(out: oa.Array[i32]):
    i = oa.grid(1)
    if i == 1:
        raise RuntimeError("stop")
    oa.syncthreads()
    out[i] = 1


@pytest.fixture(autouse=True)
def interpreted():
    seen.clear()
    with oa.Heap(backend="python", capacity="256MiB"):
        yield


def test_a_debugger_stops_in_kernels_and_sees_their_variables(monkeypatch):
    stops = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stops.append(oa.grid(1)))
    out = oa.zeros(3, i32)
    visit[3](oa.new(Cell, 3, value=[1, 2, 3]), out)
    assert stops == [0, 1, 2] and seen == [1, 2, 3]
    assert out.numpy().tolist() == [2, 4, 6]


def test_threads_run_in_order_of_their_index():
    order[3, 2](oa.zeros(1, i32))
    assert seen == list(range(6))


def test_a_failure_is_told_with_thread_and_line_and_has_its_cause(monkeypatch):
    monkeypatch.setattr("sys.breakpointhook", lambda: None)
    with pytest.raises(oa.DeviceError, match="kernel visit, thread 1: AttributeError") as caught:
        visit[2](oa.array(Cell, [Cell(value=1), None]), oa.zeros(2, i32))
    line = visit.function.__code__.co_firstlineno + 4
    assert f"{__file__}:{line}" in caught.value.message
    assert isinstance(caught.value.__cause__, AttributeError)
    assert "pdb" in caught.value.help


def test_a_null_receiver_of_a_vectorised_call_is_refused_in_the_words_of_compiled_kernels():
    cells = oa.array(Cell, [Cell(value=1), None])
    with pytest.raises(oa.ArgumentError) as caught:
        cells.double()
    assert caught.value.message == "Cell.double is called on objects of which number 1 is None"
    assert seen == []
    with oa.Heap(backend="cpu", capacity="256MiB", debug=True):
        with pytest.raises(oa.ArgumentError) as compiled:
            oa.array(Plain, [Plain(), None]).double()
    assert compiled.value.message == caught.value.message.replace("Cell", "Plain")
    assert caught.value.help == compiled.value.help


class Link(oa.Object):
    value: i32
    next: Link | None

    def look(self) -> i32:
        return 0 if self.next is None else self.next.value

    def change(self) -> None:
        if self.next is not None:
            self.next.value = 1

    def ask(self) -> bool:
        return isinstance(self.next, Link)

    def tell(self) -> i32:
        match self.next:
            case Link(value=value):
                return value
        return 0

    def show(self) -> None:
        print(self.next is None)


def test_what_refers_to_a_deleted_object_is_told_so() -> None:
    with oa.Heap(backend="python"):
        links = oa.new(Link, 2, value=3)
        links[0].next = links[1]
        oa.delete(links[1])
        for call in (links[:1].look, links[:1].change, links[:1].ask, links[:1].tell):
            with pytest.raises(oa.DeviceError, match=r"HeapError: the object at .* was deleted"):
                call()
        links[:1].show()


@oa.value
class Tie:
    weight: i32
    to: Link | None


@oa.func
def lives(link: Link | None) -> bool:
    return oa.is_alive(link)


class Knot(oa.Object):
    link: Link | None
    tie: Tie

    def target(self) -> Link | None:
        return self.tie.to

    def count(self) -> i32:
        near: Link | None = self.link
        tie = Tie(self.tie.weight, near)
        found = (lives(self.link), lives(self.target()), oa.is_alive(near), oa.is_alive(tie.to))
        return sum(1 if each else 0 for each in found)


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_what_was_deleted_may_be_asked_about_wherever_it_stands(backend: str) -> None:
    with oa.Heap(backend=backend):
        links = oa.new(Link, 2)
        knots = oa.new(Knot, 2, link=links)
        for knot, link in zip(knots, links, strict=True):
            knot.tie = Tie(5, link)
        oa.delete(links[1:])
        del link  # or its proxy, which knows its class, is what fields give
        assert knots.count().numpy().tolist() == [4, 0]


@oa.kernel
def count_living(links: oa.Array[Link], found: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if oa.is_alive(links[i]):
        found[i] = 1
    for link in links:
        if oa.is_alive(link):
            found[i] += 10
    for link in links[1:]:
        found[i] += 100 if oa.is_alive(link) else 0


@pytest.mark.parametrize("backend", ["python", "cpu"])
@pytest.mark.parametrize("mode", ["auto", "cuda"])
def test_what_was_deleted_may_be_asked_about_in_arrays(backend: str, mode: str) -> None:
    with oa.Heap(mode=mode, backend=backend):
        links, found = oa.new(Link, 3), oa.zeros(3, i32)
        oa.delete(links[1])
        count_living[3](links, found)
        assert found.numpy().tolist() == [121, 120, 121]


def test_whose_place_another_has_is_refused() -> None:
    links, found = oa.new(Link, 3), oa.zeros(3, i32)
    oa.delete(links[1])
    oa.new(Link, 2)
    with pytest.raises(oa.DeviceError, match=r"element \d: the Link at .* was deleted"):
        count_living[3](links, found)


def test_a_missing_result_of_a_vectorised_call_names_the_method_that_was_called():
    cells = oa.array(Base, [Careful(value=1), Forgetful(value=0)])
    with pytest.raises(oa.DeviceError) as caught:
        cells.double()
    line = Forgetful.double.__wrapped__.__code__.co_firstlineno
    assert "kernel Base.double, thread 1: " in caught.value.message
    assert "method Forgetful.double: the result takes i32, not None" in caught.value.message
    assert caught.value.message.endswith(f"\nat {__file__}:{line}")


def test_a_failure_before_a_barrier_ends_the_block():
    out = oa.zeros(4, i32)
    with pytest.raises(oa.DeviceError, match="thread 1: RuntimeError: stop"):
        fail_at_barrier[4, 4](out)
    assert out.numpy().tolist() == [1, 0, 1, 1]


def test_without_threads_for_a_block_none_of_it_runs(monkeypatch):
    """Those that there are would wait for the others at the barrier."""
    left, start = [2], threading.Thread.start

    def start_some(thread):
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        thread.daemon = True
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    out = oa.zeros(4, i32)
    with pytest.raises(oa.BackendError, match="no 4 threads for a block with barriers"):
        fail_at_barrier[4, 4](out)
    assert out.numpy().tolist() == [0, 0, 0, 0]


def test_wrong_arguments_are_refused_as_elsewhere():
    with pytest.raises(oa.ArgumentError, match=r"takes Array\[i32\]"):
        order[1, 1](3)


class Measured(oa.Object):
    single: f32
    double: oa.f64


@oa.kernel
def round_in_cpython(cells: oa.Array[Measured], out: oa.Array[oa.i64]) -> None:
    out[0], out[1] = math.floor(cells[0].single), math.ceil(cells[0].single)
    out[2] = int(cells[0].single)
    out[3] = math.trunc(cells[0].double)
    if out[2] == -3:
        out[4] = math.trunc(cells[0].single)


def test_what_numpys_numbers_do_not_know_is_told_with_another_way() -> None:
    with oa.Heap(backend="python"):
        out = oa.zeros(5, oa.i64)
        round_in_cpython[1](oa.new(Measured, 1, single=-2.5, double=-2.5), out)
        assert out.numpy().tolist() == [-3, -2, -2, -2, 0]
        with pytest.raises(oa.DeviceError, match=r"(?s)__trunc__.*write int\(x\)"):
            round_in_cpython[1](oa.new(Measured, 1, single=-3.5, double=-2.5), out)


@oa.kernel
def tell(cells: oa.Array[Measured]) -> None:
    for i in range(len(cells)):
        cell = cells[i]
        print(cell.single, cell.double, "|", cell.single / f32(3), cell.double * 3, end=";")
        print(cell.single > f32(1), 0.1 + 0.2, oa.i64(-(2**63)), oa.u64(2**64 - 1), 1e22)


def test_compiled_code_prints_as_cpython_does(capsys) -> None:
    values = [0.1, 1 / 3, -0.0, 1e16, 123456789.0, 1e-5, 2.5e-310, float("inf"), float("nan")]
    told = []
    for backend in ("python", "cpu"):
        with oa.Heap(backend=backend), np.errstate(all="ignore"):
            cells = oa.new(Measured, len(values), single=np.float32(values), double=values)
            tell[1](cells)
            oa.synchronize()
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert told[1].startswith("0.1 0.1 | 0.033333335 0.30000000000000004;")


@oa.kernel
def tell_much(x: oa.f64) -> None:
    print(
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
        x,
    )


def test_a_line_that_is_too_long_is_cut_between_numbers(capsys) -> None:
    with oa.Heap(backend="cpu"):
        tell_much[1](0.1)
        oa.synchronize()
    words = capsys.readouterr().out.split()
    assert set(words) == {"0.1"} and len(words) == 1023 // 18


has_begun = threading.Event()


def pause() -> None:
    has_begun.set()
    time.sleep(0.1)


class Guest(oa.Object):
    number: i32

    def greet(self):
        pause()
        self.number += 1

    def wave(self) -> None:
        self.number += 1

    def leave(self):
        oa.delete(self)


def test_a_launch_that_ends_objects_waits_for_others():
    """CPython goes through them one after another, and some would be gone."""
    heap = oa.current_heap()
    has_begun.clear()
    oa.new(Guest, 4)

    def end() -> None:
        with heap:
            oa.new(Guest, 1)  # from here on several threads use the heap
            assert may_begin.wait(10) and has_begun.wait(10)
            oa.all(Guest).leave()

    may_begin, other = threading.Event(), OtherThread(end)
    other.go()
    may_begin.set()
    oa.all(Guest).greet()
    other.end()
    assert len(oa.all(Guest)) == 0


@oa.kernel
def leave_all(guests: oa.Array[Guest]) -> None:
    guests[oa.grid(1)].leave()


@oa.kernel
def leave_some(guests: oa.Array[Guest]) -> None:
    if guests[oa.grid(1)].number > 0:
        guests[oa.grid(1)].leave()


@oa.kernel
def leave_by_name(guests: oa.Array[Guest]) -> None:
    """Which cannot be compiled, so nobody knows what it ends."""
    {"leave": guests[oa.grid(1)].leave}["leave"]()


@pytest.mark.parametrize("kernel", [leave_all, leave_by_name])
def test_a_captured_step_that_ends_objects_waits_for_others(kernel):
    """Also for a launch that is known to end none, which keeps no other from beginning."""
    heap, guests = oa.current_heap(), oa.new(Guest, 4)
    with oa.capture() as step:
        kernel[4](guests)

    def work(run: Callable[[], None]) -> None:
        with heap:
            oa.new(Guest, 1)
            run()

    use = OtherThread(lambda: work(lambda: None))  # from then on several threads use the heap
    use.go()
    use.end()
    at_the_second = place(cpython._run_thread, "thread.function", 2)
    with switching(at_the_second, lambda: work(step.run)) as other:
        guests.wave()
    assert other.has_waited and len(oa.all(Guest)) == 2


def test_each_run_of_a_captured_step_looks_after_room(monkeypatch):
    """As single launches do: where much less room is needed, what lives moves together."""
    guests, looked = oa.new(Guest, 4), []
    with oa.capture() as step:
        leave_some[4](guests)
    monkeypatch.setattr(cpython_launches, "look_after", lambda *given: looked.append(given))
    step.run(3)
    assert len(looked) == 3 and len(oa.all(Guest)) == 4


@pytest.mark.parametrize(("some", "left"), [(slice(None), 1), (2, 5)], ids=["many", "one"])
def test_a_deletion_waits_for_launches_of_others(some, left):
    """Also for one that begins after the deletion has waited for all that there were."""
    heap = oa.current_heap()
    oa.new(Guest, 4)

    def greet(times: int = 1) -> None:
        with heap:
            oa.new(Guest, 1)
            for _ in range(times):
                oa.all(Guest).greet()

    use = OtherThread(lambda: greet(0))  # from then on several threads use the heap
    use.go()
    use.end()
    with switching(place(Heap.delete, "with self.memory"), greet):
        oa.delete(oa.all(Guest)[some])
    assert len(oa.all(Guest)) == left
