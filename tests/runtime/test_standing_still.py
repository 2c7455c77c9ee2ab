"""Who looks at the whole heap sees each launch of another thread as a whole, or nothing of it.

Where a launch would have to begin to be seen in half is forced here: what the host does calls
``between`` in its midst, and gives another thread time to launch there.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.heap import dump as dumping
from sharedoa.heap import heap as heap_module
from sharedoa.heap import moving
from sharedoa.heap.region_selection import RegionSelection
from sharedoa.runtime import vectorised

_SECONDS = 0.3
"""How long a launch of another thread may try to begin: a thousand times what one takes."""
_LOOKS = 8
"""A thread that sleeps at the same instruction so often, 3 ms apart, waits for a lock that is
ours."""


class Pair(oa.Object):
    first: i32
    other: Pair
    second: i32

    def step(self) -> None:
        self.first += 1
        self.second += 1


class Holder(oa.Object):
    numbers: oa.Array[i32]


@oa.kernel
def step(pairs: oa.Array[Pair]) -> None:
    i = oa.grid(1)
    if i < len(pairs):
        pairs[i].step()


@oa.kernel
def step_and_make(pairs: oa.Array[Pair]) -> None:
    i = oa.grid(1)
    if i < len(pairs):
        pairs[i].step()
        Pair(first=1, second=1)


@oa.kernel
def hand_over(givers: oa.Array[Holder], takers: oa.Array[Holder]) -> None:
    i = oa.grid(1)
    if i < len(givers):
        numbers = takers[i].numbers
        takers[i].numbers = givers[i].numbers
        givers[i].numbers = numbers


@oa.kernel
def slow(pairs: oa.Array[Pair], rounds: i32) -> None:
    for k in range(rounds):
        if k % 1000003 == 1:
            pairs[0].second += 1
    pairs[0].first = 7


@oa.kernel
def end(pairs: oa.Array[Pair]) -> None:
    i = oa.grid(1)
    if i < len(pairs):
        oa.delete(pairs[i])


class LaterHolder(Holder):
    """Looked at after the others."""


class Same(oa.Object):
    """As large as Pair, in memory that was one's."""

    one: i32
    next: Same
    two: i32


class Between:
    """Lets another thread do something at a place in a call, once."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._thread: threading.Thread | None = None
        self.error: BaseException | None = None

    def __call__(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
            self._give_way(self._thread)

    def _give_way(self, thread: threading.Thread) -> None:
        """Until the other thread has ended or waits."""
        until, before, looks = time.monotonic() + _SECONDS, None, 0
        while thread.is_alive() and time.monotonic() < until and looks < _LOOKS:
            thread.join(0.003)
            now = _asleep_at(thread)
            looks = looks + 1 if now is not None and now == before else 0
            before = now

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.error = error

    def end(self) -> None:
        assert self._thread is not None, "nobody came by"
        self._thread.join(60)
        assert not self._thread.is_alive(), "two threads wait for each other"
        if self.error is not None:
            raise self.error


def _asleep_at(thread: threading.Thread) -> tuple[FrameType, int] | None:
    """The instruction at which a thread sleeps; None where the system does not tell that."""
    try:
        told = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    except OSError:
        return None
    frame = sys._current_frames().get(thread.ident or 0)
    is_asleep = told.rpartition(")")[2].split()[0] == "S"
    return (frame, frame.f_lasti) if is_asleep and frame is not None else None


def after(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, between: Callable[[], None]
) -> None:
    real = getattr(owner, name)

    def patched(*given: Any, **named: Any) -> Any:
        found = real(*given, **named)
        between()
        return found

    monkeypatch.setattr(owner, name, patched)


def launches(pairs: oa.Array[Pair]) -> dict[str, Callable[[], Any]]:
    with oa.capture() as captured:
        step[len(pairs)](pairs)
    found: dict[str, Callable[[], Any]] = {
        "a kernel": lambda: step[len(pairs)](pairs),
        "a method of all": lambda: oa.current_heap().all(Pair).step(),
        "a captured step": lambda: captured.run(3),
        "births": lambda: step_and_make[len(pairs)](pairs),
    }
    return found


def in_heap(heap: oa.Heap, work: Callable[[], Any]) -> Callable[[], None]:
    """``work`` for another thread, of which the heap has heard before."""

    def run(work: Callable[[], Any] = work) -> None:
        with heap:
            work()

    first = threading.Thread(target=run, args=(lambda: None,))
    first.start()
    first.join()
    return run


@pytest.mark.parametrize("mode, backend", [("auto", "cpu"), ("cuda", "cpu"), ("auto", "python")])
@pytest.mark.parametrize("kind", ["a kernel", "a method of all", "a captured step", "births"])
def test_a_dump(
    mode: str, backend: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with oa.Heap(mode, backend, "aos", "64MiB", 32) as heap:
        pairs = oa.new(Pair, 50)
        work = launches(pairs)[kind]
        work()  # from now on launches go the quick way
        before = int(pairs[0].first)
        between = Between(in_heap(heap, work))
        with monkeypatch.context() as patch:
            after(patch, dumping, "translate", between)  # between the columns of two fields
            heap.dump(tmp_path / "dump")
        between.end()
        assert pairs[0].first == pairs[0].second > before
        with oa.Heap():
            loaded = oa.load(tmp_path / "dump") or oa.all(Pair)
            assert loaded.first.numpy().tolist() == loaded.second.numpy().tolist()


@pytest.mark.parametrize("backend", ["cpu", "python"])
@pytest.mark.parametrize("kind", ["a kernel", "a captured step"])
@pytest.mark.parametrize("call", ["compact", "sort"])
def test_moving_objects(
    backend: str, kind: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No launch runs when objects have been copied and references have yet to follow."""
    with oa.Heap("auto", backend, "aos", "64MiB", 32) as heap:
        pairs = oa.new(Pair, 100)
        pairs.other = pairs
        kept = pairs[::2]
        work = launches(kept)[kind]
        work()
        oa.delete(pairs[1::2])
        del pairs
        before = int(kept[0].first)
        between = Between(in_heap(heap, work))
        with monkeypatch.context() as patch:
            after(patch, moving._Move, "run", between)
            if call == "compact":
                oa.compact()
            else:
                oa.sort(oa.all(Pair), np.arange(50)[::-1].copy())
        between.end()
        steps = int(kept[0].first) - before
        assert steps == (3 if kind == "a captured step" else 1)
        assert set(kept.first.numpy().tolist()) == {before + steps}
        assert kept.first.numpy().tolist() == kept.second.numpy().tolist()
        assert kept.other.first.numpy().tolist() == kept.first.numpy().tolist()


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_a_search_for_arrays_that_nobody_holds(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that takes arrays to other fields runs before all fields are looked at, or after."""
    with oa.Heap("auto", backend, "aos", "64MiB", 32) as heap:
        many, givers = oa.new(Holder, 20), oa.new(LaterHolder, 10)
        takers = many[::2]
        oa.delete(many[1::2])  # fields of objects side by side are looked at in place, all at once
        givers.numbers = oa.split(oa.array(i32, range(100)), [10] * 10)
        for _ in range(4):  # there and back; from now on launches go the quick way
            hand_over[10](givers, takers)
        between = Between(in_heap(heap, lambda: hand_over[10](givers, takers)))
        with heap.lock:
            heap.memory.collect(thorough=True)
        oa.zeros(1000, i32)  # nobody holds it
        count = len(heap.memory.arrays.all())
        with monkeypatch.context() as patch:
            # Fields of Holder have been looked at, those of LaterHolder have not.
            after(patch, RegionSelection, "read", between)
            with heap.lock:
                heap.memory.collect(thorough=True)
        between.end()
        assert len(heap.memory.arrays.all()) == count - 1
        others = [oa.array(i32, [-1] * 100) for _ in range(20)]
        assert takers[3].numbers.numpy().tolist() == list(range(30, 40))
        assert len(others) == 20


@pytest.mark.parametrize("mode", ["auto", "coal", "cuda"])
@pytest.mark.parametrize("meanwhile", ["delete", "compact", "end in a kernel"])
def test_objects_that_another_thread_deletes(
    mode: str, meanwhile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method of all is called on those that there are when its launch begins, whatever has come
    into the memory of those that were listed."""
    with oa.Heap(mode, "cpu", "aos", "64MiB", 32) as heap:
        kept = oa.new(Pair, 32)
        apart = oa.new(Same, 32)
        gone = oa.new(Pair, 960)
        for _ in range(3):
            oa.all(Pair).step()
        made: list[Any] = []

        def other() -> None:
            if meanwhile == "delete":
                oa.delete(gone)
            elif meanwhile == "compact" and mode != "cuda":
                oa.delete(gone[1:])
                oa.compact()
            else:
                end[960](gone)
            # Another thread may launch the same and find all as it is then.
            oa.all(Pair).step()
            made.append(oa.new(Same, 960))

        between = Between(in_heap(heap, other))
        with monkeypatch.context() as patch:
            after(patch, vectorised.PlannedLaunch, "arrays", between)
            after(patch, vectorised, "call_arguments", between)
            oa.all(Pair).step()
        between.end()
        assert set(kept.first.numpy().tolist()) == set(kept.second.numpy().tolist()) == {5}
        for objects in (apart, *made):
            assert not objects.one.numpy().any() and not objects.two.numpy().any()
        assert len(oa.all(Pair)) == 32 + (meanwhile == "compact" and mode != "cuda")


@pytest.mark.parametrize("how", ["one", "many", "list"])
def test_deletion_waits_for_launches_that_have_just_begun(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who deletes has waited, then another thread launches, then the objects go: others may have
    their memory at once."""
    with oa.Heap("auto", "cpu", "aos", "64MiB", 32) as heap:
        pairs = oa.new(Pair, 10)
        slow[1](pairs, 1)
        launch = threading.Thread(target=in_heap(heap, lambda: slow[1](pairs, 200_000_000)))

        def begin() -> None:
            if launch.ident is None:
                launch.start()
                while not heap.memory.launching:
                    time.sleep(0.0001)

        gone = {"one": pairs[3], "many": pairs[3:], "list": [pairs[3], pairs[4]]}[how]
        with monkeypatch.context() as patch:
            # After the last wait of each before it takes the lock.
            if how == "list":
                after(patch, heap_module, "references_of", begin)
            else:
                after(patch, heap, "wait", begin)
            oa.delete(gone)
            assert not heap.memory.launching
        launch.join()
        assert pairs[0].first == 7
