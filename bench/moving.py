"""Objects that move: what `oa.compact` costs, and what `oa.sort` brings.

`compact`: objects with two references each, of which nine tenths are deleted at random. Bytes are
those of living objects, read and written, and of all references in fields and arrays, read; what is
looked up for each reference counts once more as much. `sort`: springs between the nodes of a square
mesh that were made in random order; nodes go into the order of rows, springs into that of their
first node. Samples are seconds of the step, which visits springs and then nodes.

Expected on an H200: references are looked up at random, a sector of 32 bytes for one of 8, so a
quarter of 4 TB/s; steps on sorted objects read what they need and take a third.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

import sharedoa as oa
from bench.harness import MILLISECONDS, Options, Result, main, show, summary
from sharedoa import f32, i32

_SEED = 7
_SHOWN = "median", "min", "max"


class Spot(oa.Object):
    x: f32
    y: f32
    next: Spot | None
    other: Spot | None


class Node(oa.Object):
    x: f32
    force: f32
    place: i32

    def move(self, dt: f32) -> None:
        self.x += dt * self.force
        self.force = 0.0


class Spring(oa.Object):
    a: Node
    b: Node
    stiffness: f32
    place: i32

    def pull(self) -> None:
        force = self.stiffness * (self.b.x - self.a.x)
        oa.atomic_add(self.a, "force", force)
        oa.atomic_add(self.b, "force", -force)


def run(options: Options) -> Result:
    """Time moves, and steps before and after them."""
    with oa.Heap(backend=options.backend) as heap:
        result = Result("moving", heap.backend.name, {"seed": _SEED})
    count, side = (1 << 24, 2048) if options.full else (1 << 14, 32)
    for layout in ("aos", "tile"):
        result.rows.append(_compacted(options, layout, count))
        result.rows += _sorted(options, layout, side)
    show(
        "Moving objects, milliseconds",
        ["what", "layout", "objects", "median", "least", "most", "GB/s"],
        [
            [
                *(row[key] for key in ("what", "layout", "objects")),
                *(MILLISECONDS * row[key] for key in _SHOWN),
                row.get("GB/s", ""),
            ]
            for row in result.rows
        ],
    )
    return result


def _compacted(options: Options, layout: str, count: int) -> dict[str, Any]:
    samples, moved = [], 0
    for turn in range(3):
        # The first time kernels are compiled.
        with oa.Heap(backend=options.backend, layout=layout) as heap:
            random = np.random.default_rng(_SEED + turn)
            objects = oa.new(Spot, count)
            objects.next = objects[random.permutation(count)]
            objects.other = objects[random.permutation(count)]
            # Nothing is to move before it is asked for.
            for _ in heap.upkeep.holding([None]):
                oa.delete(objects[np.flatnonzero(random.random(count) < 0.9)])
            living, item = len(oa.all(Spot)), heap.encoding.dtype.itemsize
            size = heap.layout.record(Spot.__sharedoa__).size
            moved = 2 * living * size + 2 * item * (2 * living + count)
            heap.synchronize()
            start = perf_counter()
            oa.compact()
            heap.synchronize()
            samples.append(perf_counter() - start)
            assert heap.placement.reserved(Spot.__sharedoa__) <= 2 * living * size
    times = summary(samples[1:])
    row = {"what": "compact", "layout": layout, "objects": count, "bytes": moved}
    return row | times | {"GB/s": moved / times["median"] / 1e9}


def _sorted(options: Options, layout: str, side: int) -> list[dict[str, Any]]:
    with oa.Heap(backend=options.backend, layout=layout) as heap:
        random = np.random.default_rng(_SEED)
        count = side * side
        places = random.permutation(count)
        nodes = oa.new(Node, count, x=random.random(count), place=places)
        by_place = nodes[np.argsort(places)]
        grid = np.arange(count).reshape(side, side)
        ends = np.concatenate(
            [
                np.stack([grid[:, :-1], grid[:, 1:]], -1).reshape(-1, 2),
                np.stack([grid[:-1], grid[1:]], -1).reshape(-1, 2),
            ]
        )
        ends = ends[random.permutation(len(ends))]
        springs = oa.new(
            Spring,
            len(ends),
            a=by_place[ends[:, 0]],
            b=by_place[ends[:, 1]],
            stiffness=0.1,
            place=ends[:, 0],
        )

        def step() -> None:
            oa.all(Spring).pull()
            oa.all(Node).move(0.01)

        rows = [_row("step, as made", layout, len(springs), heap, step, options.repeat)]
        for what, objects in (("sort nodes", nodes), ("sort springs", springs)):
            start = perf_counter()
            oa.sort(objects, "place")
            heap.synchronize()
            seconds = perf_counter() - start
            rows.append({"what": what, "layout": layout, "objects": len(objects)})
            rows[-1] |= summary([seconds])
        rows.append(_row("step, sorted", layout, len(springs), heap, step, options.repeat))
    return rows


def _row(
    what: str, layout: str, count: int, heap: oa.Heap, step: Any, repeat: int
) -> dict[str, Any]:
    samples = []
    for turn in range(repeat + 2):
        start = perf_counter()
        step()
        heap.synchronize()
        if turn >= 2:
            samples.append(perf_counter() - start)
    return {"what": what, "layout": layout, "objects": count} | summary(samples)


if __name__ == "__main__":
    main(run, __doc__)
