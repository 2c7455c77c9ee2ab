"""Launches that are started as one wherever what they are given lies where it lay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..heap.heap import Heap
from .binding import Binding
from .launch_sequence import LaunchSequence


class PlacedLaunches(LaunchSequence):
    """Between runs it keeps neither the heap nor anybody's arrays."""

    #: In a run, what makes all arguments of launches.
    _arguments: Callable[[], Sequence[tuple[Any, ...]]] | None = None

    def end(self) -> None:
        """There are no more launches."""
        super().end()
        self._forget()

    def run_with(
        self,
        heap: Heap,
        given: Sequence[tuple[Any, ...]],
        arguments: Callable[[], Sequence[tuple[Any, ...]]],
    ) -> None:
        """Run it on the heap. ``given``: the first arguments of each launch, objects and what the
        user has given, as the first ones were; ``arguments``: all of them, where these lay."""
        for recorded, each in zip(self._launches, given, strict=True):
            recorded.arguments = each
        self.heap, self._arguments = heap, arguments
        try:
            self.run(1)
        finally:
            self._forget()
            del self._arguments

    def _prepare(self) -> None:
        # Its launches are bound again.
        if self._arguments is not None:
            for recorded, each in zip(self._launches, self._arguments(), strict=True):
                recorded.arguments = each
        super()._prepare()

    def _forget(self) -> None:
        del self.heap
        self._runs = []
        for launch in self._launches:
            launch.arguments = ()

    def _is_current(self) -> bool:
        if not self._bindings or not all(each.holds(self.heap) for each in self._bindings):
            return False
        pairs = zip(self._bound, self._launches, strict=True)
        return all(_has_runs(binding, launch.arguments) for binding, launch in pairs)


def _has_runs(binding: Binding, arguments: tuple[Any, ...]) -> bool:
    """Whether the runs among the arguments begin where those did that it was made for."""
    for place, _, known in binding.run_places:
        run = arguments[place]._run
        if run is None or known is None:
            if run is not known:
                return False
        elif run.form != known.form or run.first != known.first:
            return False
    return True
