"""A chain of eight methods on a population, as launches by themselves and as one.

Particles with eight f32 fields; each method reads some of its object's own fields and writes one.
*apart*: eight launches; *one*: the same in ``oa.fuse()``; *captured*: in a captured step, as one;
*whole*: one method that does what all eight do, which touches the same bytes once. All run in
turns, so that what else the machine does meets all alike. *few* are 256 particles: what a block
costs the host beside the eight calls.

Expected before running, on a CPU of two cores (memory of 10 to 20 GB/s): the whole method moves 32
bytes there and 32 back; the methods apart move about 12 there and 4 back each, so twice as much in
all: one launch 0.9 to 1.3 of the whole, apart 1.8 to 2.5 of it. On a GPU, 16 Mi particles: at most
1.3 of the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import sharedoa as oa
from bench.harness import MICROSECONDS, Options, Result, main, show, summary
from sharedoa import f32
from sharedoa.runtime import knobs

MI = 1 << 20
FIELDS = ("x", "y", "z", "vx", "vy", "vz", "charge", "heat")
_FEW, _CALLS = 256, 200


class Particle(oa.Object):
    x: f32
    y: f32
    z: f32
    vx: f32
    vy: f32
    vz: f32
    charge: f32
    heat: f32

    def push_x(self, dt: f32) -> None:
        self.vx += self.charge * dt

    def push_y(self, dt: f32) -> None:
        self.vy += self.charge * dt

    def push_z(self, dt: f32) -> None:
        self.vz += self.charge * dt

    def move_x(self, dt: f32) -> None:
        self.x += self.vx * dt

    def move_y(self, dt: f32) -> None:
        self.y += self.vy * dt

    def move_z(self, dt: f32) -> None:
        self.z += self.vz * dt

    def leak(self, dt: f32) -> None:
        self.charge -= self.charge * dt

    def warm(self, dt: f32) -> None:
        self.heat += (self.vx * self.vx + self.vy * self.vy + self.vz * self.vz) * dt

    def whole(self, dt: f32) -> None:
        self.push_x(dt)
        self.push_y(dt)
        self.push_z(dt)
        self.move_x(dt)
        self.move_y(dt)
        self.move_z(dt)
        self.leak(dt)
        self.warm(dt)


METHODS = ("push_x", "push_y", "push_z", "move_x", "move_y", "move_z", "leak", "warm")
_STEP = 0.01


def run(options: Options) -> Result:
    """Every size and layout; particles that are not where they should be are failures."""
    with oa.Heap(backend=options.backend) as heap:
        backend, on_device = heap.backend.name, heap.backend.target.is_device
    sizes = ([16 * MI] if on_device else [MI, 4 * MI]) if options.full else [1 << 12]
    settings = {"repeat": options.repeat, "methods": list(METHODS)}
    result = Result("chain", backend, settings)
    for layout in ("aos", "tile"):
        for count in sizes:
            with result.attempt(f"{count} particles, layout {layout}"):
                result.rows += _measure(backend, layout, count, options.repeat)
        with result.attempt(f"tracing, layout {layout}"):
            result.rows += _trace(backend, layout, options.repeat)
    _show(result)
    return result


def _calls() -> None:
    every = oa.all(Particle)
    for name in METHODS:
        getattr(every, name)(_STEP)


def _whole() -> None:
    oa.all(Particle).whole(_STEP)


def _as_one() -> None:
    with oa.fuse():
        _calls()


def _measure(backend: str, layout: str, count: int, repeat: int) -> list[dict[str, Any]]:
    start = np.linspace(-1, 1, count, dtype=np.float32)
    with knobs.scope(fuse="always"), oa.Heap(backend=backend, layout=layout) as heap:
        made = oa.new(Particle, count, charge=start)
        with oa.capture() as step:
            _calls()
        ways: dict[str, Callable[[], None]] = {
            "whole": _whole,
            "apart": _calls,
            "one": _as_one,
            "captured": step.run,
        }
        samples: dict[str, list[float]] = {what: [] for what in ways}
        for turn in range(repeat + 2):
            for what, launch in ways.items():
                seconds = _time(heap, launch)
                if turn > 1:  # the first ones compile
                    samples[what].append(seconds)
        found = {name: getattr(made, name).numpy() for name in FIELDS}
        turns = (repeat + 2) * len(ways)
    expected = _expected(start, turns)
    for name, values in found.items():
        if not np.array_equal(values, expected[name]):
            raise AssertionError(f"particles have a wrong {name}")
    head = {"layout": layout, "particles": count}
    return [{"what": what, **head, **summary(samples[what])} for what in ways]


def _time(heap: oa.Heap, launch: Callable[[], None]) -> float:
    heap.synchronize()
    before = perf_counter()
    launch()
    heap.synchronize()
    return perf_counter() - before


def _expected(charge: np.ndarray[Any, Any], turns: int) -> dict[str, np.ndarray[Any, Any]]:
    """By NumPy, in the same order and precision."""
    now = {name: np.zeros_like(charge) for name in FIELDS} | {"charge": charge.copy()}
    dt = np.float32(_STEP)
    for _ in range(turns):
        for axis in "xyz":
            now[f"v{axis}"] += now["charge"] * dt
        for axis in "xyz":
            now[axis] += now[f"v{axis}"] * dt
        now["charge"] -= now["charge"] * dt
        x, y, z = (now[f"v{axis}"] for axis in "xyz")
        now["heat"] += (x * x + y * y + z * z) * dt
    return now


def _trace(backend: str, layout: str, repeat: int) -> list[dict[str, Any]]:
    """Seconds of the eight calls on few particles, when plans and code are there."""
    ways = {"few apart": _calls, "few as one": _as_one}
    samples: dict[str, list[float]] = {what: [] for what in ways}
    with knobs.scope(fuse="always"), oa.Heap(backend=backend, layout=layout) as heap:
        oa.new(Particle, _FEW)
        for turn in range(repeat + 1):
            for what, launch in ways.items():
                heap.synchronize()
                before = perf_counter()
                for _ in range(_CALLS):
                    launch()
                if turn:
                    samples[what].append((perf_counter() - before) / _CALLS)
    head = {"layout": layout, "particles": _FEW}
    return [{"what": what, **head, **summary(samples[what])} for what in ways]


def _show(result: Result) -> None:
    table = []
    for row in result.rows:
        same = (r for r in result.rows if r["layout"] == row["layout"])
        base = "few apart" if row["what"].startswith("few") else "whole"
        whole = next(r for r in same if r["what"] == base and r["particles"] == row["particles"])
        row["to_base"] = row["median"] / whole["median"]
        table.append(
            (
                row["what"], row["layout"], row["particles"], row["median"] * MICROSECONDS,
                row["lower_quartile"] * MICROSECONDS, row["upper_quartile"] * MICROSECONDS,
                row["to_base"],
            )
        )  # fmt: skip
    headings = ("what", "layout", "particles", "us", "lower quartile", "upper", "to base")
    show("Eight methods on every particle", headings, table)


if __name__ == "__main__":
    main(run, __doc__)
