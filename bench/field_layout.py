"""Layout ``auto`` beside records and tiles: by how many fields a method uses, and in which order
threads meet objects.

An object has some f32 fields; thread i takes reference i and calls a method that adds up the first
few of them, and in half of the cells stores the sum to the first one. Orders: *neighbours* have
neighbours; *tiles* of 32 objects, or *eights*, or *pairs*, each in order, come in any; *strided*:
every fourth object; *near*: up to 2,048 places from where it would be in order; *shuffled*. Layout
``auto`` looks at the first launch and at the sixteenth (``sharedoa/runtime/clustering.py``), and is
timed after that; what the first launch took, compilation included, is recorded beside it.

Expected before running, on an H200 (from 4 Mi objects by hand in both layouts): tiles and records
differ by up to 12 times either way, and ``auto`` takes 1.00 of the better one, less where half of
the fields are used out of order, as records bring the other half along: 0.6 to 0.9.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

import sharedoa as oa
from bench.class_family import load
from bench.harness import MICROSECONDS, Options, Result, main, show, summary
from sharedoa import f32
from sharedoa.runtime.clustering import LAUNCHES

LAYOUTS = ("aos", "tile", "auto")
FIXED = ("aos", "tile")
#: How much slower than the better fixed layout ``auto`` may be.
LIMIT = 1.03
_FACTOR = 0.5
_NEAR = 2048
_SHOWN = 12
_SOURCE = """\
import sharedoa as oa
from sharedoa import f32


class Item(oa.Object):
{fields}

    def sum(self) -> f32:
        total = {reads}
{store}
        return total


@oa.kernel
def sums(items: oa.Array[Item], out: oa.Array[f32]):
    i = oa.grid(1)
    out[i] = items[i].sum()
"""


@dataclass(frozen=True)
class Case:
    """An object's ``fields``, how many of them are read, and whether one is written."""

    fields: int
    read: int
    writes: bool


@dataclass(frozen=True)
class Grid:
    """What is measured."""

    fields: tuple[int, ...]
    objects: int

    def cases(self) -> Iterator[Case]:
        for fields in self.fields:
            for read, writes in product(sorted({1, fields // 2, fields}), (False, True)):
                yield Case(fields, read, writes)


FULL = Grid((4, 8, 16, 32), 1 << 22)
SMALL = Grid((4,), 1 << 12)


def orders(count: int) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    """By order, the places of the objects that threads meet, of a number that 128 divides."""
    random = np.random.default_rng(1)

    def grouped(size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        return (random.permutation(count // size)[:, None] * size + np.arange(size)).reshape(-1)

    places = np.arange(count)
    return {
        "neighbours": places,
        "tiles": grouped(32),
        "eights": grouped(8),
        "pairs": grouped(2),
        "strided": places.reshape(-1, 4).T.reshape(-1),
        "near": np.argsort(places + random.integers(0, _NEAR, count), kind="stable"),
        "shuffled": random.permutation(count),
    }


def run(options: Options) -> Result:
    """Every case, order and layout; wrong values are failures."""
    grid = FULL if options.full else SMALL
    with oa.Heap(backend=options.backend) as heap:
        backend = heap.backend.name
    result = Result("field-layout", backend, {"repeat": options.repeat, "objects": grid.objects})
    every = orders(grid.objects)
    for case in grid.cases():
        for order, places in every.items():
            row: dict[str, Any] = {**vars(case), "order": order}
            for layout in LAYOUTS:
                with result.attempt(f"{case}, {order}, {layout}"):
                    row[layout] = _measure(case, places, layout, backend, options.repeat)
            if all(layout in row for layout in LAYOUTS):
                best = min(row[layout]["median"] for layout in FIXED)
                row["ratio"] = row["auto"]["median"] / best
                result.rows.append(row)
        gc.collect()
        print(f"{case}: {_worst(result.rows)}", file=sys.stderr)
    _show(result)
    return result


def _measure(
    case: Case, places: np.ndarray[Any, np.dtype[np.int64]], layout: str, backend: str, repeat: int
) -> dict[str, Any]:
    module, count = _module(case), len(places)
    values = (np.arange(count) % 64).astype(np.float32)
    with oa.Heap(backend=backend, layout=layout) as heap:
        made = heap.new(module.Item, count, **{f"f{k}": values + k for k in range(case.fields)})
        items, out = heap.concat(made[places]), heap.zeros(count, f32)
        launch = partial(module.sums[count], items, out)
        heap.synchronize()
        start = time.perf_counter()
        launch()
        heap.synchronize()
        first = time.perf_counter() - start
        _check(case, values[places], out)
        for _ in range(LAUNCHES):
            launch()
        found = summary(heap.backend.time_launches(launch, repeat))
        clusters = [names for _, groups in heap.layout.clusters for names in groups]
        return {**found, "first": first, "clusters": clusters}


def _check(case: Case, values: Any, out: oa.Array) -> None:
    """After one launch."""
    right = sum(values + np.float32(k) for k in range(case.read))
    if not np.array_equal(out.numpy(), right):
        raise AssertionError("the sums are wrong")


@cache
def _module(case: Case) -> ModuleType:
    text = _SOURCE.format(
        fields="\n".join(f"    f{k}: f32" for k in range(case.fields)),
        reads=" + ".join(f"self.f{k}" for k in range(case.read)),
        store=f"        self.f0 = total * {_FACTOR}" if case.writes else "",
    )
    return load(f"bench_field_layout_{case.fields}_{case.read}_{int(case.writes)}", text)


def _worst(rows: list[dict[str, Any]]) -> str:
    return f"largest ratio {max((row['ratio'] for row in rows), default=0):.3f}"


def _show(result: Result) -> None:
    rows = sorted(result.rows, key=lambda row: -row["ratio"])
    slower = sum(row["ratio"] > LIMIT for row in rows)
    chosen = [*rows[:_SHOWN], *rows[-_SHOWN:]] if len(rows) > 2 * _SHOWN else rows
    show(
        f"layout auto to the better of aos and tile: over {LIMIT} in {slower} of {len(rows)} cells",
        ("fields", "read", "writes", "order", "aos us", "tile us", "auto us", "ratio", "clusters"),
        [
            (
                row["fields"], row["read"], "yes" if row["writes"] else "", row["order"],
                *(row[layout]["median"] * MICROSECONDS for layout in LAYOUTS),
                f"{row['ratio']:.3f}", " ".join(str(len(c)) for c in row["auto"]["clusters"]),
            )
            for row in chosen
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(run, __doc__)
