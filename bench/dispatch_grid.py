"""Mode ``auto`` beside the best fixed mode: a grid of cells, by what decides what dispatch costs.

A cell is a number of types, an order in which they follow one another in an array of references,
the weight of the bodies (``bench/weighted_family.py``) and the bytes of an object's fields. Thread
i takes reference i and calls a method. Orders: classes *sorted*, *mixed* lane by lane, *shuffled*.
With one type sorted and mixed are the same; what they differ by is noise.

``auto`` is compared with the best of the fixed modes three times: all in layout ``aos``, all in
``tile``, and each in the layout that it takes by default. Of the fixed modes those that place by
type and branch to bodies are measured, with one of the paper's; ``coal`` and ``typepointer`` load
what the latter does and more, and those that place objects one by one cannot be best.

A part of the types is measured with ``python -m bench.dispatch_grid --full --types 1,2,4``, in a
record of its own: several GPUs (``CUDA_VISIBLE_DEVICES``) can share the work.

Expected before running, on an H200: a ratio up to 1.00 in layout ``aos`` and ``tile`` with one or
two types (a direct call, one comparison), 0.95 to 1.05 with more, the worst with 16 types and more,
shuffled light bodies of 16 bytes, where ``tag+switch`` finds the tag in the sector of the field and
``bits+switch`` needs no memory. By default 0.5 to 0.9 with light bodies, as tiles move fewer bytes,
and about 1 where bodies are heavy.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import sharedoa as oa
from bench.harness import (
    MICROSECONDS,
    Options,
    Result,
    argument_parser,
    errors_in_words,
    options_from,
    record,
    show,
    summary,
)
from bench.weighted_family import BODIES, WeightedFamily, distinct_bodies, expected, weighted_family
from dispatch.mode import AUTO
from sharedoa import f32
from sharedoa.model.object import shared_type

FIXED = ("sharedoa", "header+switch", "tag+switch", "range+switch", "bits+switch")
LAYOUTS = ("aos", "tile")
#: All modes in one layout, or each in its own.
COMPARISONS = (*LAYOUTS, "default")
#: How much slower than the best fixed mode ``auto`` may be.
LIMIT = 1.03
_SHOWN = 12


@dataclass(frozen=True)
class Grid:
    """What is measured; ``objects`` in all and each of ``types`` are powers of two."""

    types: tuple[int, ...]
    orders: tuple[str, ...]
    bodies: tuple[str, ...]
    field_bytes: tuple[int, ...]
    objects: int


FULL = Grid(
    (1, 2, 4, 8, 16, 32, 64), ("sorted", "mixed", "shuffled"), BODIES, (16, 64, 256), 1 << 22
)
SMALL = Grid((2,), ("mixed",), ("light", "heavy"), (16,), 1 << 12)


@dataclass(frozen=True)
class Heaps:
    """The cells that the same objects serve, in one mode and layout."""

    mode: str
    layout: str
    types: int
    field_bytes: int


class Counted:
    """A launch that knows how often it was called."""

    def __init__(self, launch: Callable[[Any], None]) -> None:
        self._launch = launch
        self.times = 0

    def __call__(self, items: Any) -> None:
        self.times += 1
        self._launch(items)


def run(options: Options, types: tuple[int, ...] | None = None) -> Result:
    """Every cell, or those of some numbers of ``types``; wrong values are failures."""
    grid = FULL if options.full else SMALL
    grid = grid if types is None else replace(grid, types=types)
    modes = (AUTO, *(mode for mode in FIXED if mode in options.modes))
    backend, defaults = _defaults(modes, options.backend)
    settings = {
        "repeat": options.repeat, "objects": grid.objects, "modes": modes, "defaults": defaults
    }  # fmt: skip
    result = Result(_name(grid, types), backend, settings)
    for number, (count, size) in enumerate(product(grid.types, grid.field_bytes)):
        family = weighted_family(count, size)
        rows = {
            (order, body): _empty_row(count, size, order, body)
            for order, body in product(grid.orders, grid.bodies)
        }
        # Nothing comes first each time, when the machine may be slower.
        first = number % len(modes)
        for mode, layout in product((*modes[first:], *modes[:first]), LAYOUTS):
            heaps = Heaps(mode, layout, count, size)
            with result.attempt(str(heaps)):
                for cell, samples in _measure(heaps, family, grid, backend, options.repeat):
                    rows[cell]["times"][layout][mode] = summary(samples)
            # What is compiled stays: later collections need not look at it again.
            gc.collect()
            gc.freeze()
        for row in rows.values():
            row["compared"] = _compared(row["times"], defaults)
        result.rows += rows.values()
        print(f"{count} types, {size} bytes: {_worst(list(rows.values()))}", file=sys.stderr)
    _show(result)
    return result


def _name(grid: Grid, types: tuple[int, ...] | None) -> str:
    part = "" if types is None else f"-types-{'-'.join(map(str, grid.types))}"
    return f"dispatch-grid{part}"


def _defaults(modes: tuple[str, ...], backend: str) -> tuple[str, dict[str, str]]:
    """The backend's name, and the layout that each mode takes on it by default."""
    found = {}
    cls = shared_type(weighted_family(1, 16).base)
    for mode in modes:
        with oa.Heap(mode=mode, backend=backend, layout="auto") as heap:
            found[mode] = "tile" if heap.layout.is_tiled(cls) else "aos"
    return heap.backend.name, found


def _empty_row(types: int, field_bytes: int, order: str, body: str) -> dict[str, Any]:
    times: dict[str, dict[str, Any]] = {layout: {} for layout in LAYOUTS}
    return {
        "types": types, "order": order, "body": body, "field_bytes": field_bytes, "times": times
    }  # fmt: skip


def _measure(
    heaps: Heaps, family: WeightedFamily, grid: Grid, backend: str, repeat: int
) -> Iterator[tuple[tuple[str, str], list[float]]]:
    objects, types = grid.objects, heaps.types
    with oa.Heap(mode=heaps.mode, backend=backend, layout=heaps.layout) as heap:
        made = [heap.new(cls, objects // types) for cls in family.classes]
        arrays: dict[str, Any] = {"sorted": heap.concat(*made)}
        for order in ("mixed", "shuffled"):
            arrays[order] = heap.zeros(objects, family.base)
        family.module.arrange[objects](
            arrays["sorted"], arrays["mixed"], arrays["shuffled"], types, objects
        )
        launches = dict.fromkeys(BODIES, 0)
        for body in grid.bodies:
            kernel = getattr(family.module, body)
            launch = Counted(kernel[objects])
            for order in grid.orders:
                samples = heap.backend.time_launches(partial(launch, arrays[order]), repeat)
                yield (order, body), samples
            if launch.times % 2 == 0:
                # After an even number light bodies that subtract are where they began.
                launch(arrays["sorted"])
            launches[body] = launch.times
            if not distinct_bodies(kernel.asm["ptx"], types, body):
                raise AssertionError(f"the {body} bodies were merged: nothing to measure")
        _check(heap, family, arrays["sorted"], launches)


def _check(
    heap: oa.Heap, family: WeightedFamily, in_order: oa.Array, launches: dict[str, int]
) -> None:
    """Every object must have been updated by its own class, once in every launch."""
    found = {body: heap.zeros(len(in_order), f32) for body in BODIES}
    family.module.results[len(in_order)](in_order, *found.values())
    types = len(family.classes)
    for body, values in found.items():
        right = expected(types, body, launches[body])
        wrong = np.flatnonzero((values.numpy().reshape(types, -1) != right[:, None]).any(axis=1))
        if len(wrong):
            raise AssertionError(
                f"objects of class {wrong[0]} do not hold {right[wrong[0]]} after "
                f"{launches[body]} launches of {body} bodies"
            )


def _compared(
    times: dict[str, dict[str, Any]], defaults: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """By comparison: the best fixed mode, and how many times as long ``auto`` takes."""
    found = {}
    for comparison in COMPARISONS:
        layouts = defaults if comparison == "default" else dict.fromkeys(defaults, comparison)
        medians = {
            mode: times[layout][mode]["median"]
            for mode, layout in layouts.items()
            if mode in times[layout]
        }
        auto = medians.pop(AUTO, None)
        if auto is None or not medians:
            continue
        best = min(medians, key=lambda mode: medians[mode])
        lower, upper = (
            times[layouts[mode]][mode][which]
            for mode, which in ((AUTO, "lower_quartile"), (best, "upper_quartile"))
        )
        found[comparison] = {
            "best": best,
            "auto": auto,
            "fixed": medians[best],
            "ratio": auto / medians[best],
            "quartiles_apart": lower > upper,
        }
    return found


def _worst(rows: list[dict[str, Any]]) -> str:
    """The largest ratio of each comparison, in words."""
    found = []
    for comparison in COMPARISONS:
        ratios = [
            row["compared"][comparison]["ratio"] for row in rows if comparison in row["compared"]
        ]
        if ratios:
            found.append(f"{comparison} {max(ratios):.3f}")
    return f"largest ratio {', '.join(found)}"


def _show(result: Result) -> None:
    headings = ("types", "order", "body", "bytes", "auto us", "best us", "best", "ratio", "apart")
    for comparison in COMPARISONS:
        cells = [row for row in result.rows if comparison in row["compared"]]
        cells.sort(key=lambda row: -row["compared"][comparison]["ratio"])
        slower = sum(row["compared"][comparison]["ratio"] > LIMIT for row in cells)
        rows = [
            (
                row["types"], row["order"], row["body"], row["field_bytes"],
                found["auto"] * MICROSECONDS, found["fixed"] * MICROSECONDS, found["best"],
                f"{found['ratio']:.3f}", "yes" if found["quartiles_apart"] else "",
            )
            for row in cells[:_SHOWN]
            for found in (row["compared"][comparison],)
        ]  # fmt: skip
        what = "each in its own layout" if comparison == "default" else f"all in {comparison}"
        show(
            f"auto to the best fixed mode, {what}: over {LIMIT} in {slower} of {len(cells)} cells",
            headings,
            rows,
        )


def _numbers_of_types(text: str) -> tuple[int, ...]:
    numbers = tuple(int(number) for number in text.split(","))
    unknown = sorted(set(numbers) - set(FULL.types))
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {FULL.types}")
    return numbers


@errors_in_words()
def main() -> None:
    """The command line of this benchmark: as others have it, and ``--types``."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--types", type=_numbers_of_types, help="some numbers of types, with commas between; all"
    )
    given = parser.parse_args()
    options = options_from(given)
    result = run(options, given.types)
    record(result, options)
    if result.failures:
        sys.exit(f"{len(result.failures)} failures")


if __name__ == "__main__":
    main()
