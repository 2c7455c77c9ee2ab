"""Ctrl-C during launches, of which a notebook keeps the error: others do not wait for ever."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.heap.recording import recording
from sharedoa.runtime.host_intrinsics import current_thread

from ..heap.invariants import KeptInterruption, check_nothing_is_held
from ..interleaving import OtherThread

#: Python itself drops what arrives in the callback of a weak reference.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(sys.gettrace() is not None, reason="somebody else looks at calls"),
]


class Guest(oa.Object):
    number: i32

    def greet(self) -> None:
        self.number += 1

    def leave(self) -> None:
        if self.number < 0:
            oa.delete(self)


@oa.kernel
def greet(guests: oa.Array[Guest]) -> None:
    guests[oa.grid(1)].number += 1


@oa.kernel
def leave(guests: oa.Array[Guest]) -> None:
    i = oa.grid(1)
    if guests[i].number < 0:
        oa.delete(guests[i])


class Party:
    def __init__(self, heap: oa.Heap) -> None:
        self.heap, self.guests = heap, oa.new(Guest, 2, number=1)
        with oa.capture() as self.step:
            greet[2](self.guests)
            leave[2](self.guests)

    def launch(self) -> None:
        greet[2](self.guests)

    def end(self) -> None:
        leave[2](self.guests)

    def end_all(self) -> None:
        oa.all(Guest).leave()

    def run(self) -> None:
        self.step.run(2)

    def delete(self) -> None:
        oa.delete(oa.new(Guest, 3))

    def compact(self) -> None:
        oa.compact(Guest)

    def sort(self) -> None:
        oa.sort(self.guests, "number")


WORK = (Party.launch, Party.end, Party.end_all, Party.run, Party.delete, Party.compact, Party.sort)
CASES = [*(("python", work) for work in WORK), ("cpu", Party.end)]


def use(heap: oa.Heap) -> None:
    """From then on several threads use it."""

    def look() -> None:
        with heap:
            oa.new(Guest, 1)

    other = OtherThread(look)
    other.go()
    other.end()


@pytest.mark.parametrize(
    ("backend", "work"), CASES, ids=[f"{backend}-{work.__name__}" for backend, work in CASES]
)
def test_ctrl_c_leaves_nothing_for_which_others_wait(
    backend: str, work: Callable[[Party], Any]
) -> None:
    with oa.Heap("auto", backend, capacity="64MiB") as heap:
        party = Party(heap)
        use(heap)
        work(party)
        moments = KeptInterruption(1 << 60).during(lambda: work(party)).moments
        for moment in range(1, moments):
            found = KeptInterruption(moment).during(lambda: work(party))
            check_nothing_is_held(heap)
            assert current_thread.get() is None and recording.get() is None
            found.error = None
