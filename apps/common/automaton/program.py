"""Runs an automaton from its board to its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa.errors import ArgumentError

from ...interface import CheckFailed, RunOptions, RunResult
from ..film import Film, require_drawable
from ..heap_record import record_heap
from ..launches import Launches
from ..phases import pauses, timed
from .picture import Picture
from .reference import Reference
from .rule import Flags, Rule, States
from .simulation import Flavour, Simulation


@dataclass(frozen=True)
class Automaton:
    """A program: its rule, its classes, and what it counts."""

    name: str
    rule: Rule
    faithful: Flavour
    natural: Flavour
    #: The exact results that follow from the states of all cells, among them those of ``tally``.
    measure: Callable[[States], dict[str, int]]


def run_automaton(
    automaton: Automaton, make_board: Callable[[], Flags], options: RunOptions
) -> RunResult:
    """Run from a board on.

    ``timings["run"]`` is the time of all steps but the first, which compiles the kernels and has
    its own entry; checks and pictures are not in it. Raises ArgumentError for input that cannot be
    read or output that cannot be written, before anything runs, and CheckFailed.
    """
    assert options.steps is not None
    if options.steps < 0:
        raise ArgumentError(f"{options.steps} steps cannot be made", "give a number from 0 on")
    if options.out is not None:
        require_drawable(options.out)
    result = RunResult(counts={})
    with timed(result, "board"):
        board = make_board()
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels, options.on_launch)
        flavour = automaton.natural if options.natural else automaton.faithful
        with timed(result, "objects"):
            simulation = flavour(heap, board, launches)
            heap.synchronize()
        film = Film(options.out) if options.out else None
        _advance(automaton, simulation, heap, board, options, film, result)
        result.counts = automaton.measure(simulation.states())
        _verify_tally(simulation, result.counts)
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        record_heap(result, heap)
        if film is not None:
            with timed(result, "picture"):
                result.picture = film.write()
    return result


def _advance(
    automaton: Automaton,
    simulation: Simulation,
    heap: Any,
    board: Flags,
    options: RunOptions,
    film: Film | None,
    result: RunResult,
) -> None:
    """All steps, with whatever happens between them."""
    assert options.steps is not None
    checker = _Checker(automaton, board, simulation) if options.check else None
    picture = _picture(automaton, board, options, film) if film else None
    checks: Counter[str] = Counter()
    step = 0
    for pause in pauses(options, film is not None and film.animated):
        with timed(result, "run" if step else "first step"):
            while step < pause:
                simulation.advance()
                step += 1
            heap.synchronize()
        if checker is not None:
            checks.update(checker.check(step))
        if film and picture and (film.animated or step == options.steps):
            with timed(result, "picture"):
                film.add(picture.frame(simulation.states(), step))
        if options.progress is not None:
            options.progress(step, options.steps)
    result.timings.setdefault("run", 0.0)
    result.checks = dict(checks)


def _picture(automaton: Automaton, board: Flags, options: RunOptions, film: Film) -> Picture:
    title = f"{automaton.name}: {options.input.name}" if options.input else automaton.name
    rows, columns = board.shape
    return Picture(title, (rows, columns), automaton.rule, small=film.animated)


class _Checker:
    """Compares a simulation with the reference."""

    def __init__(self, automaton: Automaton, board: Flags, simulation: Simulation) -> None:
        self._measure = automaton.measure
        self._simulation = simulation
        self._reference = Reference(automaton.rule, board)
        self._step = 0

    def check(self, step: int) -> Iterator[str]:
        """Verify the state after ``step`` and yield the names of what holds. Raises CheckFailed."""
        while self._step < step:
            self._reference.advance()
            self._step += 1
        found, expected = self._simulation.states(), self._reference.states()
        different = np.argwhere(found != expected)
        if len(different):
            row, column = different[0].tolist()
            raise CheckFailed(
                f"step {step}: {len(different)} cells are not as the rule says; the one in row "
                f"{row}, column {column} is {found[row, column]} instead of {expected[row, column]}"
            )
        yield "cells follow the rule"
        _verify_tally(self._simulation, self._measure(found))
        yield "agents count themselves"


def _verify_tally(simulation: Simulation, measured: dict[str, int]) -> None:
    tally = simulation.tally()
    if not tally.items() <= measured.items():
        raise CheckFailed(f"the agents count {tally}, but the board shows {measured}")
