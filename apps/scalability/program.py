"""Runs the microbenchmark from its numbers to its sums: what the command line calls."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32
from sharedoa.errors import ArgumentError

from ..common.glibc_random import RAND_MAX
from ..common.glibc_random_array import rand_array
from ..common.heap_record import record_heap
from ..common.launches import Launches
from ..common.phases import pauses, timed
from ..interface import CheckFailed, RunOptions, RunResult
from .family import MOST_CLASSES, Family, family

Floats = np.ndarray[Any, np.dtype[np.float32]]

#: More make an array of references as large as a GPU's memory, and need wider thread indices.
MOST_ELEMENTS = 2**31 - 1
MOST_THREADS = 1024


@dataclass(frozen=True)
class Arguments:
    """Those of the artifact's program beside the number of elements. Object i is of class
    (i mod ``threads_per_block``) mod ``num_classes``; a call makes ``num_compute`` additions.

    Raises ArgumentError for numbers that cannot be.
    """

    threads_per_block: int = 256
    num_compute: int = 1
    num_classes: int = 4

    def __post_init__(self) -> None:
        _require("threads_per_block", self.threads_per_block, 1, MOST_THREADS)
        _require("num_compute", self.num_compute, 0, 2**31 - 1)
        _require("num_classes", self.num_classes, 1, MOST_CLASSES)


def run(options: RunOptions, arguments: Arguments | None = None, **changes: int) -> RunResult:
    """Launch ``ooVectorAdd`` ``steps`` times on ``size`` objects, then the branch as often; each
    has a vector of sums of its own, 0 at first, and both must be equal in the end.

    ``changes`` take the place of ``arguments`` of the same name.
    ``timings["run"]`` is the time of all launches of ``ooVectorAdd`` but the first, which compiles
    it and has its own entry, ``timings["branch"]`` that of the branch. Raises ArgumentError for
    numbers that cannot be, and CheckFailed.
    """
    assert options.size is not None and options.steps is not None and options.seed is not None
    _require("size", options.size, 1, MOST_ELEMENTS)
    _require("steps", options.steps, 1, 2**31 - 1)
    _refuse_files(options)
    arguments = dataclasses.replace(arguments or Arguments(), **changes)
    result = RunResult(counts={})
    made = family(arguments.num_classes)
    with timed(result, "numbers"):
        numbers = draw_numbers(options.size, options.seed)
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launch = Launches(heap, options.time_kernels, options.on_launch)
        with timed(result, "objects"):
            objects = make_objects(heap, made, options.size, arguments)
            a = heap.array(f32, numbers)
            c, branch_c = heap.zeros(options.size, f32), heap.zeros(options.size, f32)
            heap.synchronize()
        compute, block = arguments.num_compute, arguments.threads_per_block
        threads = (options.size, block)

        def call() -> None:
            launch(made.virtual, threads, objects, a, c, compute, 0.0)

        def branch() -> None:
            launch(made.branch, threads, block, a, branch_c, compute, 0.0)

        checks: Counter[str] = Counter()
        for name, kernel, sums in (("run", call, c), ("branch", branch, branch_c)):
            check = _Check(numbers, sums, compute) if options.check else None
            _repeat(kernel, name, heap, options, check, result)
            if check is not None:
                checks[f"sums of {name}"] = check.times
        found = np.array(c)
        _require_equal(np.array(branch_c), found, "the branch's sums")
        result.checks = dict(checks)
        result.counts = {
            "elements": options.size,
            "additions": options.size * compute * options.steps,
            "checksum": int(found.view(np.uint32).sum(dtype=np.uint64)),
        }
        result.timings |= {f"kernel {name}": t for name, t in launch.seconds.items()}
        record_heap(result, heap)
    return result


def draw_numbers(count: int, seed: int) -> Floats:
    """Numbers from 0 to 1. The artifact draws those of a second vector, which nothing reads, in
    turn with these."""
    return rand_array(seed, 2 * count)[::2].astype(np.float32) / np.float32(RAND_MAX)


def make_objects(heap: Any, made: Family, count: int, arguments: Arguments) -> Any:
    """The objects in order; those of one class are made at once."""
    kinds = np.arange(count) % arguments.threads_per_block % arguments.num_classes
    amounts = np.bincount(kinds, minlength=arguments.num_classes)
    groups = [heap.new(c, int(n)) for c, n in zip(made.classes, amounts, strict=True) if n]
    by_class = heap.concat(*groups, heap.zeros(0, made.base))
    places = np.empty(count, np.int64)
    places[np.argsort(kinds, kind="stable")] = np.arange(count)
    return by_class[places]


def _repeat(
    kernel: Callable[[], None],
    name: str,
    heap: Any,
    options: RunOptions,
    check: _Check | None,
    result: RunResult,
) -> None:
    """Launch as often as there are steps, with whatever happens in between."""
    first = "first step" if name == "run" else f"first step of {name}"
    result.timings[name] = 0.0
    step = 0
    for pause in pauses(options, animated=False):
        with timed(result, name if step else first):
            while step < pause:
                kernel()
                step += 1
            heap.synchronize()
        if check is not None:
            check()
        if options.progress is not None and name == "run":
            options.progress(step, options.steps or 0)


class _Check:
    """Adds up on the host, and compares after every launch: the order of additions is fixed."""

    def __init__(self, numbers: Floats, sums: Any, additions: int) -> None:
        self._numbers, self._sums, self._additions = numbers, sums, additions
        self._expected = np.zeros_like(numbers)
        self.times = 0

    def __call__(self) -> None:
        for _ in range(self._additions):
            self._expected += self._numbers
        _require_equal(np.array(self._sums), self._expected, "the sums")
        self.times += 1


def _require_equal(found: Floats, expected: Floats, what: str) -> None:
    wrong = np.flatnonzero(found != expected)
    if len(wrong):
        i = int(wrong[0])
        raise CheckFailed(f"{what}: element {i} is {found[i]!r}, not {expected[i]!r}")


def _require(name: str, given: int, low: int, high: int) -> None:
    if not low <= given <= high:
        raise ArgumentError(f"{name} is {given}", f"give a number from {low} to {high}")


def _refuse_files(options: RunOptions) -> None:
    for given, what in (
        (options.natural, "there is one flavour only"),
        (options.input, "numbers are drawn, not read from files"),
        (options.out, "there is nothing to draw"),
    ):
        if given:
            raise ArgumentError(f"scalability: {what}", "leave out --natural, --input and --out")
