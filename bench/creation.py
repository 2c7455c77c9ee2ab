"""Creating many objects from NumPy arrays: 16 Mi objects of three fields, beside a plain copy.

Expected before running: 0.2 to 0.6 s on a machine with a GPU (192 MiB of values become 256 MiB of
objects and 128 MiB of references in managed memory, whose pages are touched first here), a fifth
to a tenth of the rate of ``memcpy`` into touched memory. Modes with a header write 16 bytes more
an object. On two CPU cores about the same.

Found on an H200's host (bench/results): 0.24 s without a header, 0.50 s with one.
"""

from __future__ import annotations

import gc
from time import perf_counter

import numpy as np

import sharedoa as oa
from bench.harness import Options, Result, main, show, summary
from sharedoa import f32, i32

MODES = ("range+switch", "sharedoa", "typepointer")
_COPY_BYTES = 256 << 20
_GIGA = 1e9


class Particle(oa.Object):
    x: f32
    y: f32
    kind: i32

    def move(self, dx: f32) -> None:
        self.x += dx


def run(options: Options) -> Result:
    """Time ``oa.new`` in a fresh heap, several times."""
    count = 16 << 20 if options.full else 1 << 12
    repeat = 5 if options.full else 3
    generator = np.random.default_rng(0)
    x, y = generator.random(count, np.float32), generator.random(count, np.float32)
    kind = generator.integers(0, 100, count, np.int32)
    with oa.Heap(backend=options.backend) as heap:
        result = Result("creation", heap.backend.name, {"objects": count, "repeat": repeat})
    for mode in MODES:
        samples = []
        for _ in range(repeat):
            with oa.Heap(mode=mode, backend=options.backend) as heap:
                begun = perf_counter()
                made = oa.new(Particle, count, x=x, y=y, kind=kind)
                samples.append(perf_counter() - begun)
                size = heap.layout.record(Particle.__sharedoa__).size
                for field, values in (("x", x), ("y", y), ("kind", kind)):
                    if not np.array_equal(np.asarray(getattr(made, field)), values):
                        raise AssertionError(f"{field} is not what was given, in mode {mode}")
            gc.collect()
        result.rows.append(
            {"what": mode, "bytes": count * size, "object_bytes": size, **summary(samples)}
        )
    copied = _COPY_BYTES if options.full else 1 << 16
    result.rows.append(
        {"what": "memcpy", "bytes": copied, **summary(_copy(copied, options.repeat))}
    )
    show(
        f"Creation of {count:,} objects of 3 fields",
        ("what", "s", "GB/s written"),
        [(row["what"], row["median"], row["bytes"] / row["median"] / _GIGA) for row in result.rows],
    )
    return result


def _copy(size: int, repeat: int) -> list[float]:
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    samples = []
    for _ in range(repeat + 1):
        begun = perf_counter()
        np.copyto(target, source)
        samples.append(perf_counter() - begun)
    return samples[1:]


if __name__ == "__main__":
    main(run, __doc__)
