"""Signals that come while clusters are tried: objects lie as they do, and all goes on."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import perf_counter
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.heap.heap import Heap
from sharedoa.model.clusters import Clusters, Groups
from sharedoa.runtime import (
    background,
    clustering,
    compared_clusters,
    planned_clusters,
    trial_accounts,
)

from .cells import COUNT, ENOUGH, FOUR, SOME, Cell, Clock, age, by_turns, fill, gather, slower_by


@pytest.mark.parametrize(("is_certain", "nth"), [(True, 1), (False, 1), (False, 2), (False, 3)])
def test_objects_that_were_about_to_change_do_so_later(
    nth: int, is_certain: bool, heap: oa.Heap, clock: Clock, rearranged: list[Groups],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Ctrl-C comes as that waits for launches."""
    if is_certain:
        monkeypatch.setattr(clustering, "_TRIAL", math.inf)
        monkeypatch.setattr(clustering, "PATIENCE", 1e-9)
    clock.seconds = slower_by(0.9)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some, left, launched = cells[SOME], nth, 0
    rearrange = Heap.rearrange

    def interrupted(heap: Heap, clusters: Clusters) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        rearrange(heap, clusters)

    monkeypatch.setattr(Heap, "rearrange", interrupted)
    for _ in range(ENOUGH):
        with suppress(KeyboardInterrupt):
            gather[COUNT](some, out)
            launched += 1
        assert background.wait()
    assert launched == ENOUGH - 1
    assert rearranged == ([(FOUR,)] if is_certain else [*by_turns((FOUR,))[1:], (FOUR,)])
    assert out.numpy().tolist() == (launched * (SOME + 6.0)).tolist()


@oa.kernel
def mark(cells: oa.Array[Cell], by: f32):
    i = oa.grid(1)
    if i < len(cells):
        cells[i].e += by


@pytest.fixture
def told(heap: oa.Heap) -> Iterator[Callable[[], None]]:
    """Sends a signal whose handler launches a kernel; it must not be handled before this ends, as
    the sender holds a lock."""
    cells, _ = fill(heap)
    is_sending, handled = False, list[bool]()

    def handle(number: int, frame: FrameType | None) -> None:
        handled.append(is_sending)
        if not is_sending:
            mark[COUNT](cells, 1.0)

    def send() -> None:
        nonlocal is_sending
        if not handled:
            is_sending = True
            signal.raise_signal(signal.SIGINT)
            is_sending = False

    usual = signal.signal(signal.SIGINT, handle)
    yield send
    signal.signal(signal.SIGINT, usual)
    assert handled == [False]
    assert cells.e.numpy().tolist() == [1.0] * COUNT


def launch(heap: oa.Heap) -> None:
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    some = cells[SOME]
    for _ in range(ENOUGH):
        gather[COUNT](some, out)
        assert background.wait()
    assert out.numpy().tolist() == (ENOUGH * (SOME + 6.0)).tolist()


def test_a_handler_that_launches_amid_a_comparison(
    heap: oa.Heap, clock: Clock, told: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed(start: Callable[[], None]) -> Callable[[], float]:
        def seconds() -> float:
            told()
            return 1.0

        start()
        return seconds

    monkeypatch.setattr(clock, "timed", timed)
    launch(heap)


def test_a_handler_that_launches_as_a_trial_is_paid_for(
    heap: oa.Heap, told: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def now() -> float:
        if trial_accounts.is_trying(heap) and compared_clusters.of(heap) is not None:
            told()
        return perf_counter()

    monkeypatch.setattr(trial_accounts, "perf_counter", now)
    launch(heap)


def test_a_handler_that_launches_as_a_program_is_noted(
    heap: oa.Heap, told: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Programs(WeakKeyDictionary[Any, Any]):
        def setdefault(self, key: Any, default: Any = None) -> Any:
            told()
            return super().setdefault(key, default)

    monkeypatch.setattr(planned_clusters, "_programs", Programs())
    launch(heap)
