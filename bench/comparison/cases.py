"""What is measured: the workloads, and the sizes of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

FEW_OBJECTS = "few objects"
CALL_EACH = "one call each"
OBJECT_GRAPH = "object graph"
MICROBENCHMARK = "microbenchmark"
LIFE = "game of life"
RAYS = "ray tracer"
TRAFFIC = "traffic"

#: Each workload, and what a step of it does.
WORKLOADS = {
    FEW_OBJECTS: "many calls of few objects: each thread calls a method of one of K objects of 3 "
    "classes, which only reads, and stores what it returns",
    CALL_EACH: "one call an object: the method of each of N objects of T classes changes one of "
    "its four fields",
    OBJECT_GRAPH: "a call in a call: the method of each object calls one of another object that it "
    "refers to, found at random, and changes a field",
    MICROBENCHMARK: "one call an object with 4 classes, in every mode and layout, beside the "
    "device's own copy of as many 4-byte words",
    LIFE: "one generation of Conway's game on a square board with an edge: what a cell refers to "
    "says whether it lives and what becomes of it",
    RAYS: "a picture of a plane and spheres, matt or mirrors, at most 4 surfaces a ray",
    TRAFFIC: "one step of the program in apps/traffic, faithful flavour: seven kernels and a "
    "prefix sum over cells, lights and cars; of a whole run, by the host's clock",
}

#: Orders of calls, seen from where objects lie. POPULATION: each object once, no references.
POPULATION, SORTED, INTERLEAVED, RANDOM = "population", "sorted", "interleaved", "random"

KI, MI = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Case:
    """``calls``: threads of a step. ``every_mode``: ours runs in each mode and layout, else in a
    few. ``steps``: of a whole run, where a program has to be run from its beginning."""

    workload: str
    calls: int
    objects: int
    types: int
    order: str = ""
    every_mode: bool = False
    steps: int = 0

    @property
    def label(self) -> str:
        """The case within its workload, in words."""
        if self.workload in (FEW_OBJECTS, CALL_EACH, OBJECT_GRAPH, MICROBENCHMARK):
            text = f"{self.objects:,} objects, {self.types} classes, {self.order}"
            return text if self.calls == self.objects else f"{self.calls:,} calls, {text}"
        if self.workload == TRAFFIC:
            return f"{self.objects:,} intersections, {self.steps:,} steps"
        if self.workload == RAYS:
            return f"{self.calls:,} pixels, {self.objects} shapes"
        return f"{self.calls:,} cells"


def cases(full: bool) -> Iterator[Case]:
    """All cases; without ``full`` those that take seconds on two cores."""
    yield from _full() if full else _small()


def _small() -> Iterator[Case]:
    for order in (SORTED, RANDOM):
        yield Case(FEW_OBJECTS, 4 * KI, 30, 3, order)
    for types in (1, 4):
        for order in (POPULATION, SORTED, INTERLEAVED, RANDOM):
            yield Case(CALL_EACH, 4 * KI, 4 * KI, types, order)
    for order in (SORTED, RANDOM):
        yield Case(OBJECT_GRAPH, 4 * KI, 4 * KI, 4, order)
    yield Case(MICROBENCHMARK, 16 * KI, 16 * KI, 4, INTERLEAVED, every_mode=True)
    yield Case(LIFE, 48 * 48, 48 * 48, 2)
    yield Case(RAYS, 32 * 32, 9, 2)
    yield Case(TRAFFIC, 20, 20, 10, steps=200)


def _full() -> Iterator[Case]:
    for objects in (3, 30, 300, 3000):
        yield Case(FEW_OBJECTS, MI, objects, 3, RANDOM)
    yield Case(FEW_OBJECTS, 16 * MI, 30, 3, RANDOM)
    # As many objects as an instance each lets Dr.Jit trace in tolerable time.
    yield Case(CALL_EACH, KI, KI, 4, INTERLEAVED)
    yield Case(CALL_EACH, 64 * KI, 64 * KI, 4, INTERLEAVED)
    for order in (POPULATION, SORTED, INTERLEAVED, RANDOM):
        yield Case(CALL_EACH, MI, MI, 4, order)
    for types in (1, 16, 64):
        for order in (POPULATION, INTERLEAVED):
            yield Case(CALL_EACH, 2 * MI, 2 * MI, types, order)
    for order in (SORTED, RANDOM):
        yield Case(OBJECT_GRAPH, MI, MI, 4, order)
    for order in (POPULATION, INTERLEAVED, RANDOM):
        every_mode = order == INTERLEAVED
        yield Case(MICROBENCHMARK, 16 * MI, 16 * MI, 4, order, every_mode)
    yield Case(LIFE, MI, MI, 2, every_mode=True)
    yield Case(RAYS, 768 * 768, 25, 2, every_mode=True)
    yield Case(TRAFFIC, 850, 850, 10, steps=1000)
