"""Every object of a population once: what layout and references cost beside the bare memory.

16 Mi objects of 4 types with four f32 fields; a call reads one field, adds, and writes it back.
``oa.all(C).method()`` is one launch on a GPU; arrays of references come with the classes *sorted*
(four stretches), *mixed* lane by lane, and *shuffled*. The least that must move is 8 bytes an
object; the share is that, by the time, to the rate of the device's own copy in the same run.

Expected before running, on an H200 (copy 4.2 TB/s): population in tiles 45 to 63 us, as one object
a thread is measured at 57 with hand-written arrays and 36 with four; aos 90, as 16 bytes travel for
4. Arrays of references with tiles: sorted 95, mixed 130 to 190 (32 lanes in four tiles each),
shuffled 300 or more, as each object then takes a sector of its own; aos: sorted and mixed 170 to
180, shuffled about as with tiles.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import sharedoa as oa
from bench.class_family import FIELD, family, updated
from bench.harness import MICROSECONDS, Options, Result, main, show, summary
from dispatch.mode import AUTO
from sharedoa import f32

MI = 1 << 20
TYPES = 4
LAYOUTS = ("aos", "tile")
MODES = ("range+switch", "bits+switch", AUTO)
#: Bytes of a field that is read and written.
_LEAST = 8


def run(options: Options) -> Result:
    """The device's copy, then every mode and layout; wrong values are failures."""
    with oa.Heap(backend=options.backend) as heap:
        backend = heap.backend.name
    count = 16 * MI if options.full else 1 << 14
    result = Result("population", backend, {"repeat": options.repeat, "objects": count})
    with result.attempt("copy"):
        result.rows.append({"what": "copy", **summary(device_copy(backend, count, options.repeat))})
    for mode in [mode for mode in MODES if mode in options.modes]:
        for layout in LAYOUTS:
            with result.attempt(f"mode {mode}, layout {layout}"):
                result.rows += _measure(mode, layout, backend, count, options.repeat)
            gc.collect()
    _show(result, count)
    return result


def device_copy(backend: str, count: int, repeat: int) -> list[float]:
    """Seconds to copy as many f32 as there are objects."""
    with oa.Heap(backend=backend) as heap:
        source, target = (heap.zeros(count, f32) for _ in range(2))
        if backend != "cuda":
            values, into = source.numpy(), target.numpy()
            return heap.backend.time_launches(lambda: np.copyto(into, values), repeat)
        device = heap.backend.device

        def launch() -> None:
            addresses = target.address, source.address
            device.call("MemcpyDtoDAsync", *addresses, 4 * count, device.stream)

        return heap.backend.time_launches(launch, repeat)


def _measure(
    mode: str, layout: str, backend: str, count: int, repeat: int
) -> Iterator[dict[str, Any]]:
    made = family(TYPES)
    each = count // TYPES
    values = (np.arange(each) % 1024).astype(np.float32)
    with oa.Heap(mode=mode, backend=backend, layout=layout) as heap:
        groups = [heap.new(cls, each, **{FIELD: values}) for cls in made.classes]
        in_order = heap.concat(*groups)
        mixed = heap.zeros(count, made.base)
        made.module.interleave[count](in_order, mixed, TYPES, each)
        shuffled = in_order[np.random.default_rng(1).permutation(count)]
        call = made.module.virtual_call[count]
        times = 0

        def counted(launch: Callable[[], None]) -> Callable[[], None]:
            def counting() -> None:
                nonlocal times
                times += 1
                launch()

            return counting

        population = heap.all(made.base)
        launches = {
            "population": lambda: population.update(),
            "sorted": lambda: call(in_order),
            "mixed": lambda: call(mixed),
            "shuffled": lambda: call(shuffled),
        }
        for what, launch in launches.items():
            samples = heap.backend.time_launches(counted(launch), repeat)
            yield {"what": what, "mode": mode, "layout": layout, **summary(samples)}
        for kind, group in enumerate(groups):
            if not np.array_equal(np.asarray(getattr(group, FIELD)), updated(kind, values, times)):
                raise AssertionError(f"objects of class {kind} hold wrong values")


def _show(result: Result, count: int) -> None:
    copy = next((row["median"] for row in result.rows if row["what"] == "copy"), None)
    table = []
    for row in result.rows:
        row["share_of_copy"] = None if copy is None else copy / row["median"]
        table.append(
            (
                row["what"], row.get("mode", ""), row.get("layout", ""),
                row["median"] * MICROSECONDS, row["lower_quartile"] * MICROSECONDS,
                row["upper_quartile"] * MICROSECONDS, row["share_of_copy"],
            )
        )  # fmt: skip
    headings = ("what", "mode", "layout", "us", "lower quartile", "upper", "to copy")
    show(f"{count:,} objects, {_LEAST} bytes each at least", headings, table)


if __name__ == "__main__":
    main(run, __doc__)
