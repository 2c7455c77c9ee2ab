"""Fields that are loaded with the first one of an object: the same as CPython finds, whatever is
stored in between; and in the machine code no branch stands between the loads."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, i64, u8
from sharedoa.targets.ptxas import assemble
from tests.codegen.interpreted import InterpretedGpu
from tests.runtime.everywhere import Results, check_everywhere, check_narrow_references

NUMBER = 24


class Stop(oa.Object):
    ways: oa.inline[Stop, 2]
    many: i32
    is_last: bool
    guest: Stop | None
    weight: f32
    long: i64
    kind: u8

    def is_free(self) -> bool:
        return self.guest is None

    def enter(self, guest: Stop) -> None:
        assert self.guest is not guest, "it is there"
        self.guest = guest


class Rest(Stop):
    extra: i32


class Walker(oa.Object):
    at: Stop
    path: oa.inline[Stop, 6]
    length: i32
    speed: i32
    total: f32
    sum: i64


@oa.func
def plan(walker: Walker) -> None:
    stop = walker.at
    for _ in range(walker.speed):
        if stop.many == 0 or stop.is_last:
            break
        stop = stop.ways[(walker.length + i32(stop.kind)) % stop.many]
        if not stop.is_free() and stop.weight < 0.5:
            break
        walker.path[walker.length] = stop
        walker.length += 1


@oa.kernel
def walk(walkers: oa.Array[Walker], others: oa.Array[Stop], marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    walker = walkers[i]
    plan(walker)
    k = walker.length - 1
    while k >= 0:
        stop = walker.path[k]
        if stop.kind > 1:
            walker.total = walker.total * f32(0.5) + stop.weight
            # What was loaded with the first field is another value from here on.
            walker.speed = i32(stop.kind)
        if walker.speed > 3 and isinstance(stop, Rest):
            walker.sum += i64(stop.extra)
        walker.sum += stop.long
        k -= 1
    for j in range(walker.length):
        if others[j].guest is None:
            marks[i] += 1
            continue
        marks[i] += 10 * others[j].many


@oa.kernel
def move(walkers: oa.Array[Walker], marks: oa.Array[i32]) -> None:
    """One thread: stops are written to, and read again."""
    for i in range(len(walkers)):
        walker = walkers[i]
        stop = walker.at
        while stop is not None and stop.many > 0:
            stop.many -= 1
            stop.weight = stop.weight + f32(1)
            if stop.weight > 3:
                stop.ways[0].enter(stop)
                marks[i] += 1
            marks[i] += 100 * stop.many
            stop = stop.guest


def _run() -> Results:
    random = np.random.default_rng(11)
    stops = oa.new(Stop, NUMBER)
    rests = oa.new(Rest, NUMBER, extra=np.arange(NUMBER))
    every = [*stops, *rests]
    for each in every:
        each.many = int(random.integers(3)) if random.random() < 0.2 else 2
        each.is_last = bool(random.random() < 0.03)
        each.weight, each.long = float(random.random()), int(random.integers(2**40))
        each.kind = int(random.integers(5))
        for k in range(2):
            each.ways[k] = every[int(random.integers(len(every)))]
        if random.random() < 0.15:
            each.guest = every[int(random.integers(len(every)))]
    walkers = oa.new(Walker, NUMBER, speed=random.integers(2, 7, NUMBER))
    for walker in walkers:
        walker.at = every[int(random.integers(len(every)))]
    marks = oa.zeros(NUMBER, i32)
    walk[NUMBER](walkers, oa.array(Stop, every[:6]), marks)
    found = {"total": np.array(walkers.total), "length": np.array(walkers.length)}
    found |= {"sum": np.array(walkers.sum), "marks": marks.numpy().copy()}
    move[1](walkers, marks)
    for name, each in (("stops", stops), ("rests", rests)):
        found |= {f"many of {name}": np.array(each.many)}
        found |= {f"weight of {name}": np.array(each.weight)}
    return found | {"moved": marks.numpy().copy()}


def test_the_same_everywhere() -> None:
    found = check_everywhere(_run, "cpu", "warps", "warps in debug mode")
    assert all(values.any() for values in found.values())
    assert found["length"].max() == 6


@pytest.mark.parametrize("layout", ["tile", "aos"])
def test_narrow_references(layout: str) -> None:
    check_narrow_references(_run, layout)


def _ptx() -> str:
    with oa.Heap(backend=InterpretedGpu(), layout="tile", references="64", capacity="64MiB"):
        _run()
        assert "with the first field of an object" in walk.explain()
        return str(walk.asm["ptx"])


def _most_loads(code: str, load: str, branch: str) -> int:
    """In one block."""
    blocks = re.split(rf"^[.$\w]+:|{branch}", code, flags=re.MULTILINE)
    return max(len(re.findall(load, block)) for block in blocks)


def test_no_branch_between_loads(tmp_path: Path) -> None:
    nvidia = pytest.importorskip("nvidia")
    ptx = _ptx()
    # The guest of the next stop, with its weight, how many ways there are, which, its kind, and
    # whether it is the last; the way to it before.
    assert _most_loads(ptx, r"\bld\.global", r"\bbra\b") >= 8
    nvdisasm = next(Path(nvidia.__path__[0]).glob("cu*/bin/nvdisasm"))
    cubin = tmp_path / "walk.cubin"
    cubin.write_bytes(assemble(ptx, "sm_90").cubin)
    code = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True)
    assert _most_loads(code.stdout, r"\bLDG", r"\bBRA\b") >= 8
