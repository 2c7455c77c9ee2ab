"""Launches of a step that share one: exactly those that cannot meet, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, u32
from sharedoa.heap.arrays import make_array
from sharedoa.runtime import knobs
from sharedoa.runtime.fusion.grouping import Launched, Record, grouped
from sharedoa.runtime.geometry import parse_geometry
from sharedoa.runtime.population_plan import PopulationCall
from sharedoa.runtime.vectorised import geometry_of
from tests.codegen.interpreted import InterpretedGpu
from tests.differential.effort import examples

from .fused import Node, ring

SIZE = 64


@oa.kernel
def copy(to: oa.Array[f32], of: oa.Array[f32]) -> None:
    i = oa.grid(1)
    to[i] = of[i]


@oa.kernel
def first_of(to: oa.Array[f32], of: oa.Array[f32]) -> None:
    to[oa.grid(1)] = of[0]


@oa.kernel
def count(n: oa.Array[i32]) -> None:
    oa.atomic_add(n, 0, 1)


@oa.kernel
def lowest(n: oa.Array[i32]) -> None:
    oa.atomic_min(n, 0, oa.grid(1))


@oa.kernel
def lowest_bits(n: oa.Array[u32]) -> None:
    oa.atomic_min(n, 0, u32(oa.grid(1)))


@oa.kernel
def clear_bits(n: oa.Array[u32]) -> None:
    n[oa.grid(1)] = u32(0)


@oa.kernel
def collect(sums: oa.Array[f32], of: oa.Array[f32]) -> None:
    oa.atomic_add(sums, 0, of[oa.grid(1)])


@oa.kernel
def tell(of: oa.Array[f32]) -> None:
    print(of[oa.grid(1)])


@oa.kernel
def claim(of: oa.Array[i32], most: i32) -> None:
    i = oa.grid(1)
    assert of[i] <= most, f"{of[i]} is more than {most}"


@oa.kernel
def turn(to: oa.Array[f32]) -> None:
    """The element of the thread beside it in its block."""
    block = oa.shared(f32, 32)
    i = oa.grid(1)
    block[i % 32] = to[i]
    oa.syncthreads()
    to[i] = block[(i + 1) % 32]


@oa.kernel
def settle(to: oa.Array[f32]) -> None:
    to[oa.grid(1)] = 1
    oa.syncthreads()


@oa.kernel
def number(to: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        to[i] += i + oa.gridsize(1)


@oa.kernel
def number_rows(to: oa.Array[i32]) -> None:
    x, y = oa.grid(2)
    to[x] += y


@oa.kernel
def set_to(to: oa.Array[i32], value: i32) -> None:
    to[oa.grid(1)] = value


@oa.kernel
def set_x(node: Node, to: f32) -> None:
    node.x = to


@oa.kernel
def set_v(node: Node, to: f32) -> None:
    node.v = to


@oa.kernel
def read_next(to: oa.Array[f32], node: Node) -> None:
    to[oa.grid(1)] = node.next.x


def bits_of(array: Any) -> Any:
    """The same memory, as sorts take it."""
    return make_array(array._heap, u32, array._storage, array._address, len(array))


class _Things:
    def __init__(self) -> None:
        self.a, self.b, self.c, self.d = (oa.zeros(SIZE, f32) for _ in range(4))
        self.n, self.m = oa.zeros(1, i32), oa.zeros(1, i32)
        self.nodes = ring(4)
        self._threads = SIZE

    def launch(
        self, kernel: Any, *arguments: Any, threads: int = 0, block: int = 0, axes: int = 1
    ) -> Launched:
        """With as many threads as no other one, so that none are one launch."""
        self._threads -= 1
        geometry = geometry_of(threads or self._threads)
        if block or axes > 1:
            geometry = parse_geometry((self._threads, block or 2), axes)
        return Launched(kernel.program, geometry, arguments)

    def call(self, name: str) -> PopulationCall:
        method = Node.__sharedoa__.find_method(name)  # type: ignore[attr-defined]
        return PopulationCall(oa.all(Node), method, ())


_Make = Callable[[_Things], Sequence[Record]]
_CASES: dict[str, tuple[_Make, list[list[int]]]] = {
    "they read the same": (
        lambda t: [t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c)], [[0, 1]],
    ),
    "read after write": (
        lambda t: [t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.a)], [[0], [1]],
    ),
    "write after read": (
        lambda t: [t.launch(copy, t.b, t.a), t.launch(copy, t.a, t.c)], [[0], [1]],
    ),
    "both write": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(copy, t.a, t.c)], [[0], [1]],
    ),
    "parts of an array that overlap": (
        lambda t: [t.launch(copy, t.a[:40], t.b), t.launch(copy, t.a[30:], t.b)], [[0], [1]],
    ),
    "parts of an array side by side": (
        lambda t: [t.launch(copy, t.a[:32], t.b), t.launch(copy, t.a[32:], t.b)], [[0, 1]],
    ),
    "one element of what another one writes": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(first_of, t.c, t.a)], [[0], [1]],
    ),
    "the third meets the first": (
        lambda t: [
            t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c), t.launch(copy, t.d, t.a)
        ], [[0, 1], [2]],
    ),
    "the third meets none": (
        lambda t: [
            t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c), t.launch(copy, t.d, t.c)
        ], [[0, 1, 2]],
    ),
    "two rows of two": (
        lambda t: [
            t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c),
            t.launch(copy, t.c, t.a), t.launch(copy, t.d, t.b),
        ], [[0, 1], [2, 3]],
    ),
    "integer atomics of one kind": (
        lambda t: [t.launch(count, t.n), t.launch(count, t.n)], [[0, 1]],
    ),
    "integer atomics of two kinds": (
        lambda t: [t.launch(count, t.n), t.launch(lowest, t.n)], [[0], [1]],
    ),
    "atomics on two arrays": (
        lambda t: [t.launch(count, t.n), t.launch(lowest, t.m)], [[0, 1]],
    ),
    "sums of floats": (
        lambda t: [t.launch(collect, t.a, t.b), t.launch(collect, t.a, t.c)], [[0], [1]],
    ),
    "they say something": (
        lambda t: [t.launch(tell, t.a), t.launch(tell, t.b)], [[0], [1]],
    ),
    "methods of all": (lambda t: [t.call("clear"), t.launch(copy, t.a, t.b)], [[0], [1]]),
    "methods of all in between": (
        lambda t: [t.launch(copy, t.a, t.b), t.call("clear"), t.launch(copy, t.d, t.b)],
        [[0], [1], [2]],
    ),
    "the host": (
        lambda t: [t.launch(copy, t.a, t.c), None, t.launch(copy, t.b, t.c)], [[0], [1], [2]],
    ),
    "one field of two objects, for all that is known": (
        lambda t: [
            t.launch(set_x, t.nodes[0], 1.0), t.launch(set_x, t.nodes[1], 2.0)
        ], [[0], [1]],
    ),
    "two fields": (
        lambda t: [t.launch(set_x, t.nodes[0], 1.0), t.launch(set_v, t.nodes[0], 2.0)], [[0, 1]],
    ),
    "a neighbour's field": (
        lambda t: [t.launch(set_x, t.nodes[0], 1.0), t.launch(read_next, t.a, t.nodes[3])],
        [[0], [1]],
    ),
    "the third meets neither, the second meets the first": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(copy, t.c, t.a), t.launch(copy, t.d, t.b)],
        [[0], [1, 2]],
    ),
    "one between is met": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(copy, t.c, t.a), t.launch(copy, t.d, t.c)],
        [[0], [1], [2]],
    ),
    "one between waits for its own threads": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(turn, t.c), t.launch(copy, t.d, t.b)],
        [[0, 2], [1]],
    ),
    "one between waits, and has no memory of its block": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(settle, t.c), t.launch(copy, t.d, t.b)],
        [[0, 2], [1]],
    ),
    "one between waits, and is met": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(turn, t.c), t.launch(copy, t.d, t.c)],
        [[0], [1], [2]],
    ),
    "the host in between": (
        lambda t: [t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c), None,
                   t.launch(copy, t.d, t.c)],
        [[0, 1], [2], [3]],
    ),
    "they assert something": (
        lambda t: [t.launch(claim, t.n, 1), t.launch(claim, t.m, 1)], [[0, 1]],
    ),
    "one says something": (
        lambda t: [t.launch(tell, t.a), t.launch(copy, t.b, t.c), t.launch(claim, t.n, 1)],
        [[0], [1, 2]],
    ),
    "blocks of its own": (
        lambda t: [t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c, block=32)], [[0], [1]],
    ),
    "along two axes": (
        lambda t: [t.launch(set_to, t.n, 1), t.launch(number_rows, t.m, axes=2)], [[0], [1]],
    ),
    "the one with the fewest threads": (
        lambda t: [
            t.launch(count, t.n, threads=60), t.launch(lowest, t.n, threads=20),
            t.launch(count, t.n, threads=61), t.launch(copy, t.a, t.b),
        ],
        [[0], [1, 3], [2]],
    ),
    "elements of another type": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(clear_bits, bits_of(t.b))], [[0], [1]],
    ),
    "elements of another type elsewhere": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(clear_bits, bits_of(t.c))], [[0, 1]],
    ),
    "one between is met as elements of another type": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(clear_bits, bits_of(t.c)),
                   t.launch(copy, t.d, t.c)],
        [[0, 1], [2]],
    ),
    "atomics on elements of another type": (
        lambda t: [t.launch(lowest, t.n), t.launch(lowest_bits, bits_of(t.n))], [[0], [1]],
    ),
    "very many": (
        lambda t: [t.launch(count, t.n) for _ in range(10)], [[*range(8)], [8, 9]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _CASES)
def test_launches_that_cannot_meet_share_one(name: str) -> None:
    make, expected = _CASES[name]
    with oa.Heap(backend="cpu") as heap:
        things = _Things()
        records = make(things)
        found = grouped(heap, records, is_small=lambda threads: True)
        assert [group.count for group in found.groups] == [1] * len(records)
        assert [row.groups for row in found.rows] == expected
        assert len(grouped(heap, records).rows) == len(records)


class _Arrays:
    def __init__(self, heap: oa.Heap, random: Random) -> None:
        self.heap = heap
        rng = np.random.default_rng(random.randrange(1 << 30))
        self.floats = [heap.array(f32, rng.random(SIZE).astype(np.float32)) for _ in range(3)]
        self.ints = [heap.array(i32, rng.integers(0, 9, SIZE, np.int32)) for _ in range(3)]

    def state(self) -> list[bytes]:
        return [each.numpy().tobytes() for each in (*self.floats, *self.ints)]


def _launches(arrays: _Arrays, random: Random) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Kernels, threads and arguments by chance: arrays, or parts of them that may overlap."""

    def some(every: Sequence[Any], threads: int) -> Any:
        first = random.choice((0, 0, 32, random.randrange(SIZE - threads + 1)))
        first = min(first, SIZE - threads)
        return random.choice(every)[first : first + threads]

    for _ in range(random.randint(3, 6)):
        threads = random.choice((1, 20, 31, 32))
        f, n = (lambda t=threads: some(arrays.floats, t)), (lambda t=threads: some(arrays.ints, t))
        yield random.choice((
            (copy, threads, (f(), f())),
            (first_of, threads, (f(), f())),
            (number, threads, (n(),)),
            (count, threads, (n(),)),
            (lowest, threads, (n(),)),
            (set_to, threads, (n(), random.randrange(9))),
            (claim, threads, (n(), 1000)),
            (turn, (32, 32), (some(arrays.floats, 32),)),
        ))  # fmt: skip


@pytest.mark.parametrize("backend", ["cpu", "interpreted"])
def test_steps_by_chance(backend: str) -> None:
    """Whatever shares a launch, memory is the same afterwards."""
    shared = 0
    for seed in range(examples(9)):
        found = []
        for fuse in ("0", "always"):
            made = InterpretedGpu() if backend == "interpreted" else "cpu"
            with knobs.scope(fuse=fuse), oa.Heap(backend=made) as heap:
                random = Random(seed)
                arrays = _Arrays(heap, random)
                with oa.capture() as step:
                    for kernel, threads, arguments in _launches(arrays, random):
                        kernel[threads](*arguments)
                step.run(3)
                found.append(arrays.state())
                shared += "in threads of their own" in step.explain()
        assert found[0] == found[1], f"seed {seed}"
    assert shared >= examples(9) // 3


def test_each_launch_has_threads_of_its_own() -> None:
    """Numbered from 0 on, as many as it was launched with; who only stores takes four at once."""
    with knobs.scope(fuse="always"), oa.Heap(backend=InterpretedGpu()):
        a, b, c = (oa.zeros(300, i32) for _ in range(3))
        with oa.capture() as step:
            number[33](a)
            set_to[290](b, 7)
            number[70](c)
        step.run()
        text = step.explain().split("\n")
        assert ["beside number" in line for line in text[:3]] == [False, True, True]
        even = np.arange(300) % 2 == 0
        for array, threads in ((a, 33), (c, 70)):
            expected = np.where(even & (np.arange(300) < threads), np.arange(300) + threads, 0)
            np.testing.assert_array_equal(array.numpy(), expected)
        np.testing.assert_array_equal(b.numpy(), np.where(np.arange(300) < 290, 7, 0))


def test_what_fails_names_its_own_launch() -> None:
    with knobs.scope(fuse="always"), oa.Heap(backend=InterpretedGpu()) as heap:
        a, b = oa.zeros(40, i32), oa.zeros(40, i32)
        with oa.capture() as step:
            set_to[40](a, 1)
            claim[40](b, 5)
        step.run(2)
        heap.synchronize()
        b[37] = 9
        step.run()
        with pytest.raises(oa.DeviceError, match=r"kernel claim, thread 37: .* 9 is more than 5"):
            heap.synchronize()


def test_only_small_launches_of_devices_share_one() -> None:
    class _Device(InterpretedGpu):
        def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
            return threads[0] > 8

    for backend, threads, expected in ((_Device(), 33, 1), (_Device(), 40, 0), ("cpu", 33, 0)):
        with oa.Heap(backend=backend):
            a, b = oa.zeros(64, i32), oa.zeros(64, i32)
            with oa.capture() as step:
                number[threads](a)
                number[20](b)
            step.run(2)
            assert step.explain().count("in threads of their own") == expected


def test_what_follows_a_sort_stays_behind_it() -> None:
    """Which takes floats for unsigned numbers."""
    found = []
    for fuse in ("0", "always"):
        with knobs.scope(fuse=fuse), oa.Heap(backend=InterpretedGpu()) as heap:
            n, to = oa.zeros(4, i32), oa.zeros(8, f32)
            numbers = heap.array(f32, np.arange(40, 0, -1).astype(np.float32))
            with oa.capture() as step:
                number[4](n)
                numbers.sort()
                copy[8](to, numbers)
            step.run()
            found.append(to.numpy().tolist())
    assert found == [[*range(1, 9)]] * 2
