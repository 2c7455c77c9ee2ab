"""Clusters are tried also where all processes are short, and take a small part of their time."""

from __future__ import annotations

import gc
import math
import os
import weakref
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.model.clusters import Groups
from sharedoa.runtime import (
    background,
    clustering,
    compared_clusters,
    knobs,
    remembered_looks,
    trial_accounts,
)
from sharedoa.runtime.code_cache import entry
from tests.interleaving import place, switching

from .cells import CELL, COUNT, FOUR, SOME, Clock, age, by_turns, fill, gather, new_heap

PRICE, RATE = 1.0, 4.0


class Time:
    """What accounts take for the time, in seconds."""

    now = 0.0


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Time]:
    """Accounts are kept, in a folder of this test alone."""
    made = Time()
    for module in (remembered_looks, trial_accounts):
        monkeypatch.setattr(module, "KEEPS", True)
    monkeypatch.setattr(clustering, "PATIENCE", RATE)
    for module in (clustering, trial_accounts):
        monkeypatch.setattr(module, "perf_counter", lambda: made.now)
    with knobs.scope(cache_dir=tmp_path):
        yield made
    for each in (gather, age):
        each.program.uses().derived.clear()


def end_process(is_killed: bool = False) -> None:
    """The next one knows what is kept in the folder."""
    remembered_looks.store_all()
    if not is_killed:
        trial_accounts.keep_all()
    trial_accounts._accounts.clear()
    trial_accounts._trials.clear()
    for each in (gather, age):
        each.program.uses().derived.clear()


def wait(time: Time, seconds: float, is_killed: bool = False) -> None:
    """A process in which others were wanted for so long, and not tried."""
    assert trial_accounts.missing(CELL, PRICE) > 0
    time.now += seconds
    end_process(is_killed)


def go_on(time: Time, heap: oa.Heap, seconds: float) -> None:
    """Others are tried for so long."""
    for _ in range(parts := math.ceil(seconds)):
        time.now += seconds / parts
        trial_accounts.goes_on(heap)


def attempt(time: Time, heap: oa.Heap, seconds: float, is_killed: bool = False) -> None:
    """A process that tries others from its beginning to its end."""
    assert trial_accounts.missing(CELL, PRICE) <= 0
    trial_accounts.begin(heap, CELL, PRICE, RATE)
    go_on(time, heap, seconds)
    end_process(is_killed)


def missing() -> float:
    """What a new process would have to wait."""
    found = trial_accounts.missing(CELL, PRICE)
    trial_accounts._accounts.clear()
    return found


def test_short_processes_add_up(
    time: Time, clock: Clock, rearranged: list[Groups], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is over before a second has passed; the one that has found the second tries at once, and
    those after it have what was quicker."""
    monkeypatch.setattr(clustering, "_AT_FIRST", 0.0)  # so nothing is for certain
    clock.seconds = lambda groups, number: 0.9 if groups else 1.0
    tried: list[int] = []
    for process in range(7):
        rearranged.clear()
        clock.timed_launches.clear()
        with new_heap(clock) as heap:
            cells, out = fill(heap)
            age[COUNT](cells, 1.0)
            for _ in range(40):
                gather[COUNT](cells[SOME], out)
                assert background.wait()
                time.now += 0.01
            assert out.numpy().tolist() == (40 * (SOME + 6.0)).tolist()
        tried += [process] if clock.timed_launches else []
        if process < 3:
            assert rearranged == []
        elif process == 3:
            assert rearranged == [*by_turns((FOUR,))[1:], (FOUR,)]
        else:
            assert rearranged[:1] == [(FOUR,)]
        end_process()
    assert tried == [3]


def test_a_trial_lasts_until_clusters_were_compared(
    heap: oa.Heap, time: Time, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From when code for them is compiled."""
    monkeypatch.setattr(clustering, "_AT_FIRST", 0.0)
    clock.seconds = lambda groups, number: 0.9 if groups else 1.0
    wait(time, 1.0)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    found: list[tuple[bool, bool]] = []
    while len(found) < 60:
        gather[COUNT](cells[SOME], out)
        found.append((trial_accounts.is_trying(heap), compared_clusters.of(heap) is not None))
        assert background.wait()
    parts = [(False, False), (True, False), (True, True), (False, False)]
    assert [part for part, _ in groupby(found)] == parts
    assert heap.layout.clusters.of(CELL) == (FOUR,)


def test_a_trial_lasts_while_code_is_compiled(
    heap: oa.Heap, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the process ends then."""
    monkeypatch.setattr(clustering, "_AT_FIRST", 0.0)
    make_ready = type(gather.program).make_ready

    def slowly(*given: Any) -> bool:
        time.now += 0.5
        return make_ready(*given)

    monkeypatch.setattr(type(gather.program), "make_ready", slowly)
    wait(time, 1.0)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    while not trial_accounts.is_trying(heap):
        gather[COUNT](cells[SOME], out)
    assert background.wait()
    assert compared_clusters.of(heap) is None
    end_process()
    assert missing() >= PRICE + RATE * 0.5


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_trial_costs_nothing_while_nothing_is_launched(
    is_gone: bool, time: Time, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heap is gone before it ends, or used again after a while: that is one long launch, for
    all that is known, of which a second counts."""
    monkeypatch.setattr(clustering, "_AT_FIRST", 0.0)
    wait(time, 1.0)
    heap = new_heap(clock)
    cells, out = fill(heap)
    age[COUNT](cells, 1.0)
    while compared_clusters.of(heap) is None or not clock.timed_launches:
        gather[COUNT](cells[SOME], out)
        assert background.wait()
    if is_gone:
        gone = weakref.ref(heap)
        del heap, cells, out
        clock.heap = None
        gc.collect()
        assert gone() is None
        time.now += PRICE
    else:
        time.now += 60.0
        gather[COUNT](cells[SOME], out)
    end_process()
    assert missing() == pytest.approx(0.0 if is_gone else PRICE + RATE)


def test_trials_of_several_heaps_at_once(time: Time, heap: oa.Heap, clock: Clock) -> None:
    """Each costs what it lasts."""
    wait(time, 1.0)
    other = new_heap(clock)
    for each in heap, other:
        trial_accounts.begin(each, CELL, PRICE, RATE)
    for _ in range(5):
        time.now += 0.1
        for each in heap, other:
            trial_accounts.goes_on(each)
    trial_accounts.end(other)
    go_on(time, heap, 0.5)
    end_process()
    assert missing() == pytest.approx(2 * PRICE + RATE * 1.5 + 0.5)


@pytest.mark.parametrize("cache", ["on", "off"])
def test_later_heaps_of_a_process_wait_for_what_is_owed(
    cache: str, time: Time, heap: oa.Heap, tmp_path: Path
) -> None:
    with knobs.scope(cache_dir=tmp_path if cache == "on" else "off"):
        assert trial_accounts.missing(CELL, PRICE) == PRICE
        time.now += 1.5
        for owed in 0.0, PRICE, PRICE:  # the first one had the price
            assert trial_accounts.missing(CELL, PRICE) <= 0
            trial_accounts.begin(heap, CELL, PRICE, RATE)
            go_on(time, heap, 0.5)
            assert trial_accounts.missing(CELL, PRICE) == pytest.approx(owed + RATE * 0.5)
            time.now += owed + RATE * 0.5


def test_of_all_time_a_part_is_for_trials(time: Time, heap: oa.Heap) -> None:
    """Whatever processes there are, of which few see the end of a trial. The time in which one was
    under way is a fifth of all at most, and there are always more."""
    random = np.random.default_rng(5)
    tried, counts = 0.0, [0, 0]
    for process in range(600):
        left, is_trying = random.exponential(0.5), False
        while left > 0:
            part = min(left, 0.02)
            if is_trying:
                tried += part
                is_trying = random.random() < 0.95
                if not is_trying:
                    trial_accounts.end(heap)
            elif trial_accounts.missing(CELL, PRICE) <= 0:
                trial_accounts.begin(heap, CELL, PRICE, RATE)
                is_trying = True
                counts[process // 300] += 1
                continue
            time.now += part
            trial_accounts.goes_on(heap)
            left -= part
        end_process()
    assert PRICE * sum(counts) + RATE * tried <= time.now - tried
    assert min(counts) > 20


def test_an_unfinished_trial_is_paid_for(time: Time, heap: oa.Heap) -> None:
    """Of processes that take as long as 500 steps of wa-tor on an H200 the fourth tries, and the
    twelfth goes on."""
    run = 0.36
    for _ in range(3):
        wait(time, run)
    attempt(time, heap, run)
    assert missing() == pytest.approx(PRICE + RATE * run)
    for _ in range(7):
        wait(time, run)
    attempt(time, heap, run)


def test_a_trial_that_has_ended_is_paid_for_what_it_took(time: Time, heap: oa.Heap) -> None:
    wait(time, 1.5)
    assert trial_accounts.missing(CELL, PRICE) <= 0
    trial_accounts.begin(heap, CELL, PRICE, RATE)
    go_on(time, heap, 0.1)
    assert trial_accounts.end(heap) == pytest.approx(0.1)
    time.now += 0.25
    end_process()
    assert missing() == pytest.approx(PRICE + RATE * 0.1 - 0.25)


def test_a_part_of_the_price_is_no_reason_to_try_at_a_run_s_end(time: Time) -> None:
    wait(time, 0.9)
    assert trial_accounts.missing(CELL, PRICE) == PRICE
    time.now += 0.9
    assert trial_accounts.missing(CELL, PRICE) > 0
    end_process()
    assert missing() <= 0


def test_one_trial_is_paid_ahead_and_hours_are_not_owed(time: Time, heap: oa.Heap) -> None:
    for _ in range(2):
        wait(time, 3600.0)
        attempt(time, heap, 0.1)
        wait(time, 1.5)
        attempt(time, heap, 3600.0)
        assert missing() == PRICE + 60.0


def test_who_is_killed_has_paid_the_price(time: Time, heap: oa.Heap) -> None:
    wait(time, 1.0)
    attempt(time, heap, 0.5, is_killed=True)
    assert missing() == PRICE
    wait(time, 0.9, is_killed=True)
    assert missing() == PRICE


def test_processes_at_once(time: Time, heap: oa.Heap) -> None:
    """What each gains and spends counts, whoever ends last."""
    accounts = trial_accounts._accounts

    def begun() -> dict[bytes, trial_accounts._Account]:
        trial_accounts.missing(CELL, PRICE)
        found = dict(accounts)
        accounts.clear()
        return found

    for seconds in 0.3, 0.2:
        several = [begun(), begun()]
        time.now += seconds
        for each in several:
            accounts.update(each)
            end_process()
    several = [begun(), begun()]
    assert missing() <= 0  # to all, but one alone tries
    accounts.update(several[0])
    trial_accounts.begin(heap, CELL, PRICE, RATE)
    go_on(time, heap, 0.5)
    end_process()
    accounts.update(several[1])
    end_process()
    assert missing() == pytest.approx(PRICE + RATE * 0.5)


def test_where_nothing_is_kept_all_begin_with_nothing(time: Time, tmp_path: Path) -> None:
    wait(time, 1.5)
    for file in tmp_path.glob("*.code"):
        file.unlink()
    wait(time, 0.5)
    with knobs.scope(cache_dir="off"):
        wait(time, 1.5)
        assert missing() == PRICE


@pytest.mark.parametrize("text", ["nan", "inf", "1e9", "much", ""])
def test_files_that_say_anything(text: str, time: Time, heap: oa.Heap, tmp_path: Path) -> None:
    """At worst others are tried at once, and that is paid for."""
    wait(time, 0.5)
    (file,) = tmp_path.glob("*.code")
    key = trial_accounts._key(CELL)
    file.write_bytes(entry.pack("", "", key, {trial_accounts._STAGE: text}))
    if missing() > 0:
        wait(time, 1.0)
    attempt(time, heap, 0.5)
    assert missing() >= PRICE


def test_other_programs_of_a_class_go_on_with_its_account(time: Time) -> None:
    def other(is_wide: bool) -> type[oa.Object]:
        class Body(oa.Object):
            a: f32
            b: f32

            def sum(self) -> f32:
                return self.a + self.b

        class Wide(Body):
            c: f32

        Wide.__qualname__ = Body.__qualname__
        return Wide if is_wide else Body

    trial_accounts.missing(other(False).__sharedoa__, PRICE)
    time.now += PRICE
    end_process()
    assert trial_accounts.missing(other(False).__sharedoa__, PRICE) <= 0
    assert trial_accounts.missing(other(True).__sharedoa__, PRICE) == PRICE


def test_threads_that_want_others_at_the_same_moment(time: Time, heap: oa.Heap) -> None:
    """One has an account made while the other one tries."""

    def work() -> None:
        trial_accounts.missing(CELL, PRICE)
        trial_accounts.begin(heap, CELL, PRICE, RATE)

    with switching(place(trial_accounts._account, "_accounts[key] ="), work) as other:
        trial_accounts.missing(CELL, PRICE)
    assert other.has_begun and other.has_waited
    go_on(time, heap, 1.0)
    end_process()
    assert missing() == pytest.approx(2 * PRICE + RATE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_children_of_forks_keep_nothing_of_their_parents(time: Time) -> None:
    trial_accounts.missing(CELL, PRICE)
    child = os.fork()
    if child == 0:
        os._exit(len(trial_accounts._accounts))
    assert os.waitpid(child, 0)[1] == 0
    assert len(trial_accounts._accounts) == 1
