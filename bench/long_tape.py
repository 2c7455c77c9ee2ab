"""Gradients of a long simulation: 10,000 steps of a million springs with checkpoints in less than 8
states, what that takes over the steps alone, and how much memory.

Samples are seconds of all steps, in the same process by turns: the launches alone, and in a block
of ``oa.tape(checkpoints=7)`` with ``tape.backward``. ``more memory`` is what the card, or this
process, has in use at most beyond what it has when the block begins, looked at every few
milliseconds; ``in states`` is that over what the launches touch. At the small size gradients are
those of a tape that keeps everything, bit by bit on a processor.

Expected before running, on an H200: 30,001 launches with 7 states run at most 11 times more, 9 on
average, and each is recorded and reversed once, at 4 times itself: 12 to 16 times the primal; 7
states, what launches have found, and what there is when the way back begins: 4 to 6 times what they
touch, as springs are not changed and so in no state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import sharedoa as oa
from bench.gradients import Made, program, springs
from bench.harness import Options, Result, main, show, summary

_STATES = 7
#: Springs and steps: small, and full on a processor and a GPU.
_SIZES = {"small": (100, 30), "cpu": (10_000, 300), "cuda": (1_000_000, 10_000)}
_LOOK_SECONDS, _PAGE = 0.005, 4096
#: Times that a GPU takes half a minute for are taken once or twice.
_MOST_SAMPLES = 2


def run(options: Options) -> Result:
    """Take all steps both ways."""
    with oa.Heap(backend=options.backend) as heap:
        backend = heap.backend.name
        count, steps = _SIZES[backend if options.full else "small"]
        settings = {"steps": steps, "states": _STATES, "size": count}
        result = Result("long-tape", backend, settings)
        with result.attempt(f"{count} springs"):
            made = springs(program("springs"), count, steps)
            if not options.full:
                _compare(made, exactly=backend == "cpu")
            result.rows += _rows(heap, made, min(options.repeat, _MOST_SAMPLES))
    show(
        f"{steps:,} steps of {count:,} springs with {_STATES} states",
        ["way", "seconds", "over the primal", "state B", "touched B", "more memory B", "in states"],
        [
            [
                row["way"], row["median"], row["over the primal"], row.get("state bytes"),
                row.get("touched bytes"), row.get("more memory"), row.get("in states"),
            ]
            for row in result.rows
        ],
    )  # fmt: skip
    return result


def _compare(made: Made, exactly: bool) -> None:
    found = []
    for states in (_STATES, None):
        made.start()
        with oa.tape(checkpoints=states) as tape:
            made.steps()
        tape.backward(made.loss)
        found.append(np.array(made.derivatives()))
        tape.zero()
    one, other = found
    is_same = np.array_equal(one, other) if exactly else np.allclose(one, other, rtol=1e-9)
    assert is_same and one.any(), "checkpoints give other gradients"


def _rows(heap: oa.Heap, made: Made, repeat: int) -> list[dict[str, Any]]:
    found: dict[str, Any] = {}

    def gradient() -> None:
        used = _in_use(heap)
        with _watching(heap) as most:
            with oa.tape(checkpoints=_STATES) as tape:
                made.steps()
            tape.backward(made.loss)
            heap.synchronize()
        found.update({"state bytes": tape.state_bytes, "touched bytes": tape.bytes})
        more = max(most) - used
        found.update({"more memory": more, "in states": round(more / tape.bytes, 2)})
        tape.zero()

    ways: dict[str, Callable[[], None]] = {"primal": made.steps, "checkpoints": gradient}
    samples: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeat + 1):  # the first one compiles
        for way, call in ways.items():
            made.start()
            heap.synchronize()
            start = perf_counter()
            call()
            heap.synchronize()
            samples[way].append(perf_counter() - start)
    kept = {way: summary(taken[1:]) for way, taken in samples.items()}
    return [
        {"way": way, **(found if way == "checkpoints" else {}), **each}
        | {"over the primal": round(each["median"] / kept["primal"]["median"], 3)}
        for way, each in kept.items()
    ]


@contextmanager
def _watching(heap: oa.Heap) -> Iterator[list[int]]:
    """How much is in use while the block runs, whenever somebody looked."""
    found, ended = [_in_use(heap)], threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK_SECONDS):
            found.append(_in_use(heap))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def _in_use(heap: oa.Heap) -> int:
    """Bytes of the card, or of this process."""
    if heap.backend.target.is_device:
        free, total = heap.backend.device.memory()
        return int(total - free)
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


if __name__ == "__main__":
    main(run, __doc__)
