"""Numbers that launches repeat: what they cost a launch, and what code that knows them brings.

Three parts, none of which needs a GPU. Times are those of the process's threads together, as a
machine that others use lets them wait:

- *launch*: nanoseconds of the host's for a launch of one thread, of a kernel without numbers, with
  numbers that repeat (with the setting off, while they are watched, with a variant), and with one
  that changes every time. Expected: what the setting costs is less than 100 ns in every state.
- *code*: instructions of PTX, and ptxas' registers and spills, of the kernels of Generation and
  Game of Life that are given the rows and columns of the board, without and with them known.
  Expected: four fifths of the instructions, fewer registers.
- *programs*: processor time of the same kernels, on the CPU, by turns without and with the variant.
  Expected: 1.0 to 1.1 times as fast.

Found on two cores that tests ran on, too: 70 to 100 ns in every state; two thirds to nine tenths of
the instructions, but registers more or fewer; 0.99 to 1.12 times as fast on the CPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import process_time
from typing import Any

import sharedoa as oa
from apps.game_of_life.faithful import kernels as game_of_life
from apps.game_of_life.faithful.classes import Agent as GameAgent
from apps.game_of_life.faithful.classes import Cell as GameCell
from apps.generation.faithful import kernels as generation
from apps.generation.faithful.classes import Agent, Cell
from bench.harness import Options, Result, main, show, summary
from sharedoa import f32, i32
from sharedoa.runtime import background, knobs
from sharedoa.runtime.specialisation import Policy, policy
from sharedoa.targets.nvptx import NvptxTarget
from sharedoa.targets.ptxas import assemble

_INSTRUCTION = re.compile(r"^\s+(?!\.)(?:@!?%p\d+\s+)?[a-z][\w.]*[\s;]", re.MULTILINE)
_NANOSECONDS = 1e9


@oa.kernel
def no_numbers(before: oa.Array[f32], after: oa.Array[f32]) -> None:
    i = oa.grid(1)
    after[i] = before[i]


@oa.kernel
def some_numbers(before: oa.Array[f32], after: oa.Array[f32], a: f32, n: i32, b: f32) -> None:
    i = oa.grid(1)
    after[i] = before[i] * a + b + f32(n)


@contextmanager
def _policy(**values: Any) -> Iterator[None]:
    usual = replace(policy)
    for name, value in values.items():
        setattr(policy, name, value)
    try:
        yield
    finally:
        for name in Policy.__dataclass_fields__:
            setattr(policy, name, getattr(usual, name))


_SOON = {"worth": 0.0, "least_part": -1e9, "least_seconds": -1e9}
_NEVER = {"worth": 1e9}


def _launch_cost(result: Result, options: Options) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        before, after = heap.zeros(8, f32), heap.zeros(8, f32)
        numbers, plain = some_numbers[1], no_numbers[1]

        def same(count: int) -> None:
            for _ in range(count):
                numbers(before, after, 0.5, 3, 0.25)

        def changing(count: int) -> None:
            for n in range(count):
                numbers(before, after, 0.5, n, 0.25 + n)

        def none(count: int) -> None:
            for _ in range(count):
                plain(before, after)

        states: list[tuple[str, Callable[[int], None], dict[str, float], bool]] = [
            ("no numbers", none, _NEVER, True), ("off", same, _NEVER, False),
            ("watched", same, _NEVER, True), ("variant", same, _SOON, True),
            ("off, changing", changing, _NEVER, False), ("changing", changing, _SOON, True),
        ]  # fmt: skip
        samples: dict[str, list[float]] = {name: [] for name, *_ in states}
        before_it, count = (3000, 2000) if options.full else (200, 100)
        for _ in range(40 if options.full else 5):
            for name, run, how, is_on in states:
                some_numbers.program._drop_units()
                with _policy(**how), knobs.scope(specialise=is_on):
                    run(before_it)
                    begun = process_time()
                    run(count)
                    samples[name].append((process_time() - begun) / count)
    for name, times in samples.items():
        result.rows.append({"part": "launch", "what": name, **summary(times)})
    show(
        "A launch of one thread",
        ("numbers", "least ns", "median ns"),
        [
            (row["what"], min(row["samples"]) * _NANOSECONDS, row["median"] * _NANOSECONDS)
            for row in result.rows
            if row["part"] == "launch"
        ],
    )


#: Of programs: the classes, and the kernels that are given rows and columns.
PROGRAMS: dict[str, tuple[Any, Any, list[Any]]] = {
    "GEN": (Cell, Agent, [generation.prepare, generation.alive_update]),
    "GOL": (
        GameCell, GameAgent,
        [game_of_life.candidate_prepare, game_of_life.alive_prepare, game_of_life.alive_update],
    ),
}  # fmt: skip
_ROWS, _COLUMNS = 400, 300


def _code(result: Result) -> None:
    target = NvptxTarget()
    rows = []
    for program, (cell, agent, kernels) in PROGRAMS.items():
        with oa.Heap(backend="cpu", capacity="256MiB", references="64", layout="tile") as heap:
            agents = heap.new(agent, _ROWS * _COLUMNS)
            cells = heap.new(cell, _ROWS * _COLUMNS, private_agent=agents)
            for kernel in kernels:
                kernel[1](cells, _ROWS, _COLUMNS)
                given = kernel.program.last_given(heap, heap.mode)
                constants = ((1, _ROWS), (2, _COLUMNS))
                found: dict[str, Any] = {"part": "code", "program": program, "what": kernel.name}
                for name, known in (("", ()), (" known", constants)):
                    made = kernel.program.compilation(
                        heap, heap.mode, False, target, replace(given, constants=known)
                    )
                    ptx = str(made.products["ptx"])
                    report = assemble(ptx, target.architecture)
                    found[f"instructions{name}"] = len(_INSTRUCTION.findall(ptx))
                    found[f"registers{name}"] = report.registers
                    found[f"spills{name}"] = report.spill_stores + report.spill_loads
                    found[f"cubin{name}"] = len(report.cubin)
                result.rows.append(found)
                rows.append([found[key] for key in found if key != "part"])
    names = [f"{what}{known}" for known in ("", " known") for what in _MEASURED]
    show("Code for NVIDIA's GPUs", ("program", "kernel", *names), rows)


_MEASURED = ("instructions", "registers", "spills", "cubin")


def _programs(result: Result, options: Options) -> None:
    rows = []
    side = 1500 if options.full else 100
    for program, (cell, agent, kernels) in PROGRAMS.items():
        with oa.Heap(backend="cpu", capacity="2GiB") as heap:
            agents = heap.new(agent, side * side)
            cells = heap.new(cell, side * side, private_agent=agents)
            alive = heap.array(i32, range(0, side * side, 7))
            module = generation if program == "GEN" else game_of_life
            load = getattr(module, "load_pattern", None) or module.load_game
            load[len(alive)](cells, alive)
            for kernel in kernels:
                kernel[side * side](cells, side, side)
            for kernel in kernels:
                kernel.program._drop_units()
                times: dict[bool, list[float]] = {False: [], True: []}
                with _policy(**_SOON), knobs.scope(background=False):
                    for _ in range(40):
                        kernel[side * side](cells, side, side)
                    assert kernel.program.binding.constants
                bindings = {True: kernel.program.binding}
                kernel.program.bind_next(None)
                with knobs.scope(specialise=False):
                    kernel[side * side](cells, side, side)
                bindings[False] = kernel.program.binding
                for _ in range(options.repeat):
                    for is_known, binding in bindings.items():
                        kernel.program.bind_next(binding)
                        begun = process_time()
                        kernel[side * side](cells, side, side)
                        times[is_known].append(process_time() - begun)
                for is_known, each in times.items():
                    found = {"part": "programs", "program": program, "what": kernel.name}
                    result.rows.append({**found, "known": is_known, **summary(each)})
                usual, known = (summary(times[k])["median"] for k in (False, True))
                rows.append((program, kernel.name, usual * 1e3, known * 1e3, usual / known))
    show("On the CPU", ("program", "kernel", "ms", "ms, known", "times as fast"), rows)


def run(options: Options) -> Result:
    """All three parts; the backend of ``options`` is of no interest."""
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        label = heap.backend.label
    result = Result("specialised", label, {"rows": _ROWS, "columns": _COLUMNS})
    _code(result)
    _programs(result, options)
    _launch_cost(result, options)
    background.wait()
    return result


if __name__ == "__main__":
    main(run, __doc__)
