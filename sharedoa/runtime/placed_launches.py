"""Launches that are started as one wherever what they are given lies where it lay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ..heap.arrays import ObjectArray
from ..heap.heap import Heap
from ..heap.run import Run
from .launch_sequence import LaunchSequence


class PlacedLaunches(LaunchSequence):
    """Between runs it keeps neither the heap nor anybody's arrays. None calls a method on all that
    an array holds."""

    #: In a run, the first arguments of each launch, and what makes all of them.
    _given: Sequence[tuple[Any, ...]] = ()
    _arguments: Callable[[], Sequence[tuple[Any, ...]]] | None = None

    def end(self) -> None:
        """There are no more launches."""
        super().end()
        self._packed.stop()
        del self.heap

    def run_with(
        self,
        heap: Heap,
        given: Sequence[tuple[Any, ...]],
        arguments: Callable[[], Sequence[tuple[Any, ...]]],
    ) -> None:
        """Run it on the heap. ``given``: the first arguments of each launch, objects and what the
        user has given, as the first ones were; ``arguments``: all of them, where these lay."""
        self.heap, self._given, self._arguments = heap, given, arguments
        try:
            self.run(1)
        finally:
            del self.heap, self._given, self._arguments

    @cached_property
    def _called_all(self) -> list[tuple[ObjectArray, str]]:
        return []

    def _prepare(self) -> None:
        try:
            # Its launches are bound again.
            if self._arguments is not None:
                for recorded, each in zip(self._launches, self._arguments(), strict=True):
                    recorded.arguments = each
            super()._prepare()
        finally:
            self._runs = []
            for launch in self._launches:
                launch.arguments = ()
        #: Which arguments of which launches may be runs, and the runs that they were.
        self._run_places: list[tuple[int, int, Run | None]] = [
            (number, place, run)
            for number, binding in enumerate(self._bound)
            for place, _, run in binding.run_places
        ]

    def _is_current(self) -> bool:
        if not self._bindings:
            return False
        heap, given = self.heap, self._given
        for binding in self._bindings:
            if not binding.holds(heap):
                return False
        for number, place, known in self._run_places:
            # It begins where the one did that it was made for.
            run = given[number][place]._run
            if run is known:
                continue
            if run is None or known is None or run.form != known.form or run.first != known.first:
                return False
        return True
