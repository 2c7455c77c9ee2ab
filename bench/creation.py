"""Creating many objects from NumPy arrays: 16 Mi objects of three fields, and what else moves many
values, beside plain copies of as many bytes.

*new* makes the objects in a fresh heap, with the references to them; *used* is until a kernel has
gone over all of them. *assign* writes one field of objects that are on the device, *read* copies it
to a NumPy array. Rates of *new* are of bytes written: records and references. On a GPU the copies
are to the device, from ordinary and from page-locked memory.

Expected before running, on an H200's host, where one core copies 11 GB/s: values are filled into
page-locked memory by four cores while the device takes them, so 192 MiB of values take 10 to 20 ms;
reserving 400 MiB of managed memory and marking 16 Mi objects as living take about as long again:
new 25 to 50 ms, 6 to 12 GB/s of bytes written, at most 5 ms more with a header; used 1 ms later;
assign and read 4 to 8 ms, but reading records gives a view, for which all of them come to the host.

Found before the device did the moving (bench/results, 2026-11-21): new 204 ms without a header, 428
with one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import sharedoa as oa
from bench.harness import MILLISECONDS, Options, Result, main, show, summary
from dispatch.mode import AUTO
from sharedoa import f32, i32

MODES = (AUTO, "range+switch", "sharedoa", "typepointer")
_REFERENCE_BYTES = 8
_GIGA = 1e9


class Particle(oa.Object):
    x: f32
    y: f32
    kind: i32

    def move(self, dx: f32) -> None:
        self.x += dx


def run(options: Options) -> Result:
    """Time each in a fresh heap, several times; then the copies."""
    count = 16 << 20 if options.full else 1 << 12
    repeat = 5 if options.full else 3
    generator = np.random.default_rng(0)
    values = {
        "x": generator.random(count, np.float32),
        "y": generator.random(count, np.float32),
        "kind": generator.integers(0, 100, count, np.int32),
    }
    with oa.Heap(backend=options.backend) as heap:
        result = Result("creation", heap.backend.name, {"objects": count, "repeat": repeat})
    for mode in MODES:
        with result.attempt(mode):
            _once(mode, options.backend, values)  # compiles, and makes what is kept for transfers
            rounds = [_once(mode, options.backend, values) for _ in range(repeat)]
            result.rows += [
                {"what": what, "mode": mode, "bytes": size, **summary([r[what][0] for r in rounds])}
                for what, (_, size) in rounds[0].items()
            ]
    size = sum(given.nbytes for given in values.values())
    for what, samples in _copies(result.backend, values, repeat).items():
        result.rows.append({"what": what, "mode": "", "bytes": size, **summary(samples)})
    show(
        f"Creation of {count:,} objects of 3 fields",
        ("what", "mode", "ms", "GB/s"),
        [
            (
                row["what"], row["mode"], row["median"] * MILLISECONDS,
                row["bytes"] / row["median"] / _GIGA,
            )
            for row in result.rows
        ],
    )  # fmt: skip
    return result


def _once(
    mode: str, backend: str, values: dict[str, np.ndarray[Any, Any]]
) -> dict[str, tuple[float, int]]:
    """Seconds and bytes of each step in a new heap. Raises AssertionError for wrong values."""
    x = values["x"]
    with oa.Heap(mode=mode, backend=backend) as heap:
        begun = perf_counter()
        made = heap.new(Particle, len(x), **values)
        created = perf_counter()
        made.move(f32(0.0))
        heap.synchronize()
        used = perf_counter()
        for name, given in values.items():
            if not np.array_equal(np.asarray(getattr(made, name)), given):
                raise AssertionError(f"{name} is not what was given, in mode {mode}")
        # Whatever the host has seen is on the device again.
        made.move(f32(0.0))
        heap.synchronize()
        reversed_x = x[::-1].copy()

        def assign() -> None:
            made.x = reversed_x

        assigning = _seconds(assign)
        found = np.empty_like(x)
        reading = _seconds(lambda: np.copyto(found, made.x))
        if not np.array_equal(found, reversed_x):
            raise AssertionError(f"x is not what was assigned, in mode {mode}")
        record = heap.layout.record(Particle.__sharedoa__).size
        written = len(x) * (record + _REFERENCE_BYTES)
        return {
            "new": (created - begun, written),
            "new, used": (used - begun, written),
            "assign": (assigning, x.nbytes),
            "read": (reading, x.nbytes),
        }


def _copies(
    backend: str, values: dict[str, np.ndarray[Any, Any]], repeat: int
) -> dict[str, list[float]]:
    """Seconds of plain copies of as many bytes as the values have, to compare with."""
    source = np.concatenate([array.view(np.uint8) for array in values.values()])
    target = np.zeros_like(source)
    found = {"copy in memory": _samples(lambda: np.copyto(target, source), repeat)}
    if backend == "cuda":
        from sharedoa.backends.cuda_device import cuda_device
        from sharedoa.backends.pinned_memory import PinnedStaging

        gpu = cuda_device(0)
        device = int(gpu.call("MemAlloc", source.nbytes))
        pinned = PinnedStaging(gpu, 1, source.nbytes)
        np.copyto(pinned.memory(0), source)

        def copy(address: int) -> None:
            gpu.call("MemcpyHtoDAsync", device, address, source.nbytes, gpu.stream)
            gpu.synchronize()

        for what, address in (
            ("copy to the device", int(source.ctypes.data)),
            ("copy to the device, page-locked", pinned.address(0)),
        ):
            found[what] = _samples(partial(copy, address), repeat)
        pinned.close()
        gpu.call("MemFree", device)
    return found


def _samples(work: Callable[[], None], repeat: int) -> list[float]:
    """Seconds of each call, after one that is not counted."""
    return [_seconds(work) for _ in range(repeat + 1)][1:]


def _seconds(work: Callable[[], None]) -> float:
    begun = perf_counter()
    work()
    passed = perf_counter() - begun
    gc.collect()
    return passed


if __name__ == "__main__":
    main(run, __doc__)
