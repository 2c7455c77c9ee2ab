"""Ctrl-C around blocks of generators, of which a notebook keeps the error: they are left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.context_managers import contextmanager
from sharedoa.heap.adjoints import adjoints_of
from sharedoa.heap.recording import executing, not_recorded, own, recording
from sharedoa.runtime import knobs

from .heap.invariants import KeptInterruption

interrupted = pytest.mark.skipif(sys.gettrace() is not None, reason="somebody else looks at calls")


class Spring(oa.Object):
    length: f32

    def add_to(self, out: oa.Array[f32]) -> None:
        oa.atomic_add(out, 0, self.length * self.length)


def _use(block: Any) -> None:
    with block:
        len("")


def _check(work: Callable[[], None], state: Callable[[], Any]) -> None:
    """After Ctrl-C at any call the state is what it was, while somebody has the error."""
    work()
    before = state()
    moments = KeptInterruption(1 << 60).during(work).moments
    assert moments > 5
    for moment in range(1, moments):
        found = KeptInterruption(moment).during(work)
        assert state() == before, moment
        assert found.error is not None


@interrupted
def test_settings_of_a_scope_are_left() -> None:
    _check(lambda: _use(knobs.scope(debug=True)), lambda: dict(knobs._in_scope.get()))


@interrupted
@pytest.mark.parametrize("who", [None, own])
def test_launches_are_recorded_again(who: Any) -> None:
    with oa.Heap("auto", "python", capacity="64MiB") as heap:
        before = recording.set(who)
        try:
            _check(lambda: _use(executing(heap)), recording.get)
            _check(lambda: _use(not_recorded()), recording.get)
        finally:
            recording.reset(before)


@interrupted
def test_adjoints_are_there_again() -> None:
    with oa.Heap("auto", "python", capacity="64MiB") as heap:
        springs, out = oa.new(Spring, 3, length=2.0), oa.zeros(1, f32)
        with oa.tape() as tape:
            oa.all(Spring).add_to(out)
        tape.backward(out)
        _check(
            lambda: _use(adjoints_of(heap).from_zero()),
            lambda: springs.grad.length.numpy().tolist(),
        )
        assert springs.grad.length.numpy().tolist() == [4.0] * 3


@contextmanager
def noted(notes: list[str], swallows: bool = False) -> Iterator[int]:
    try:
        notes.append("begun")
        yield len(notes)
    except ZeroDivisionError:
        notes.append("failed")
        if not swallows:
            raise
    finally:
        notes.append("ended")


def test_as_those_of_contextlib() -> None:
    notes: list[str] = []
    with noted(notes) as number:
        assert number == 1
    assert notes == ["begun", "ended"]
    notes.clear()
    with noted(notes, swallows=True):
        raise ZeroDivisionError
    assert notes == ["begun", "failed", "ended"]
    notes.clear()
    with pytest.raises(ZeroDivisionError), noted(notes):
        raise ZeroDivisionError
    assert notes == ["begun", "failed", "ended"]
    notes.clear()
    looked_at = noted(notes)
    assert callable(getattr(looked_at, "__exit__", None)) and not notes
    with looked_at:
        assert notes == ["begun"]
    assert notes == ["begun", "ended"]
    notes.clear()
    with ExitStack() as stack:
        assert stack.enter_context(noted(notes)) == 1
        assert notes == ["begun"]
    assert notes == ["begun", "ended"]
    notes.clear()
    both = noted(notes)(lambda: notes.append("called"))
    both(), both()
    assert notes == ["begun", "called", "ended"] * 2
    assert noted.__name__ == "noted"
