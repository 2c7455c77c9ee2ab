"""New objects stand in the order of the threads that made them, where nobody knows how many each
makes, and whatever refers to them follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.errors import HeapError
from sharedoa.heap.births import Places
from sharedoa.heap.extents import NoRoom

from .. import forked
from ..backends.pretend_device import PretendDevice
from ..codegen.interpreted import InterpretedGpu
from ..heap.invariants import check_invariants
from ..heap.nodes import Bud, Named, Node, Pair, Thing
from ..source_files import environment
from .evolution import Animal, Plant, evolving

WIDTH, HEIGHT = 5, 7


@oa.kernel
def grow(
    counts: oa.Array[i32],
    rounds: i32,
    roots: oa.Array[Node],
    tops: oa.Array[Node],
    pairs: oa.Array[Pair],
) -> None:
    """Threads take turns: after each round they wait for one another."""
    x, y = oa.grid(2)
    width, height = oa.gridsize(2)
    i = y * width + x
    last: Node | None = None
    for k in range(rounds):
        if k < counts[i]:
            made: Node = oa.new(Node, id=i * 100 + k)
            if k % 2 == 1:
                oa.delete(made)
                made = oa.new(Named, id=i * 100 + k)
            made.next = last
            made.links[1] = made
            made.pair = Pair(roots[i], k, last)
            last = made
        oa.syncthreads()
    bud = Bud(owner=last)
    if last is not None:
        last.end = bud
    roots[i].next = last
    tops[i] = last
    pairs[i] = Pair(last, i, roots[i])


Shape = tuple[Any, ...]


def expected(counts: Sequence[int]) -> tuple[list[int], dict[int, Shape], list[int]]:
    """The numbers of new nodes and of named ones, as populations have them; what each refers to;
    the last of each thread, -1 for none."""
    orders: tuple[list[int], list[int]] = ([], [])
    shapes: dict[int, Shape] = {}
    for i, count in enumerate(counts):
        for k in range(count):
            number, before = i * 100 + k, i * 100 + k - 1 if k else -1
            orders[k % 2 == 1].append(number)
            shapes[number] = before, number, -i - 2, k, before, k == count - 1
    tops = [100 * i + count - 1 if count else -1 for i, count in enumerate(counts)]
    return orders[0] + orders[1], shapes, tops


def number(node: Any) -> int:
    return -1 if node is None else int(node.id)


OPENED = [
    ("python", "auto", "aos", False), ("cpu", "auto", "tile", False),
    ("cpu", "coal", "aos", False), ("cpu", "typepointer", "tile", True),
    ("cpu", "concord", "aos", False), ("lists", "header+vtable", "aos", False),
    pytest.param(("cuda", "auto", "tile", False), marks=pytest.mark.gpu),
    pytest.param(("cuda", "typepointer", "aos", False), marks=pytest.mark.gpu),
    pytest.param(("cuda", "concord", "aos", True), marks=pytest.mark.gpu),
]  # fmt: skip


def opened(backend: str) -> Any:
    devices: dict[str, Any] = {"warps": InterpretedGpu, "lists": lambda: PretendDevice(1 << 16)}
    return devices[backend]() if backend in devices else backend


@pytest.fixture(params=OPENED, ids=lambda each: "-".join(map(str, each)))
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    backend, mode, layout, debug = request.param
    options: Any = {"layout": layout, "debug": debug, "initial_region": 8}
    with oa.Heap(backend=opened(backend), mode=mode, **options) as made:
        yield made
        if not debug:  # which keeps what was deleted
            check_invariants(made)


class Garden:
    """Regions with holes in them, a root for each thread, and what ``grow`` writes to."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.counts = random.integers(0, 5, WIDTH * HEIGHT).tolist()
        self.threads = len(self.counts)
        old = oa.new(Node, 2 * self.threads, id=-1)
        self.roots = oa.concat(oa.new(Node, self.threads, id=-np.arange(self.threads) - 2))
        oa.delete(old[random.permutation(len(old))[: self.threads]])
        self.tops = oa.zeros(self.threads, Node)
        self.pairs = oa.zeros(self.threads, Pair)
        for cls in (Node, Named):
            oa.reserve(cls, sum(self.counts))

    def grow(self) -> None:
        counts = oa.array(i32, self.counts)
        grow[WIDTH, HEIGHT](counts, 5, self.roots, self.tops, self.pairs)

    def check(self) -> None:
        order, shapes, tops = expected(self.counts)
        new = [each for each in oa.all(Node) if each.id >= 0]
        assert [number(each) for each in new] == order
        for each in new:
            i, pair = int(each.id) // 100, each.pair
            found = number(each.next), number(each.links[1]), number(pair.left), pair.weight
            assert (*found, number(pair.right), each.end is not None) == shapes[each.id]
            assert each.links[0] is None and each.links[1] is each and pair.left is self.roots[i]
            assert isinstance(each, Named) == (each.id % 100 % 2 == 1)
            assert each.end is None or each.end.owner is each
        assert [number(root.next) for root in self.roots] == tops
        assert [number(each) for each in self.tops] == tops
        assert [number(pair.left) for pair in self.pairs] == tops
        assert all(pair.right is root for pair, root in zip(self.pairs, self.roots, strict=True))
        assert [number(bud.owner) for bud in oa.all(Bud)] == tops


def test_they_stand_in_the_order_of_the_threads(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that take turns never make theirs side by side."""
    orders: list[Any] = []
    thread_order = Places.thread_order

    def note(places: Places) -> Any:
        orders.append(thread_order(places))
        return orders[-1]

    monkeypatch.setattr(Places, "thread_order", note)
    garden = Garden(1)
    garden.grow()
    garden.check()
    assert [order is not None for order in orders[:2]] == [True, True]


class Taken(Places):
    """Places that threads of these numbers took, one after another."""

    def __init__(self, *makers: int) -> None:
        super().__init__(Thing.__sharedoa__, 1, makers=makers)

    @property
    def room(self) -> int:
        return len(self.makers)

    def at(self, number: int) -> int | None:
        return None


@pytest.mark.parametrize(
    ("makers", "order"),
    [
        ((0, 1, 1, 3), None),
        ((3, 2, 1), [2, 1, 0]),
        ((2, 0, 2, 1), [1, 3, 0, 2]),
    ],
)
def test_the_order_of_those_who_took_places(makers: tuple[int, ...], order: Any) -> None:
    """As on a GPU, in any order; several of one thread stay as they are."""
    found = Taken(*makers).thread_order()
    assert (None if found is None else found.tolist()) == order


def test_a_heap_that_is_not_ordered_has_the_same_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is moved; which object lies where depends on who comes first."""
    asked: list[None] = []
    monkeypatch.setattr(Places, "thread_order", lambda places: asked.append(None))
    with oa.Heap(backend="cpu", initial_region=8, ordered=False):
        garden = Garden(1)
        garden.grow()
        assert not asked
        orders, _, tops = expected(garden.counts)
        made = [each for each in oa.all(Node).id.numpy().tolist() if each >= 0]
        assert sorted(made) == sorted(orders)
        assert [number(each) for each in garden.tops] == tops


def test_the_same_places_everywhere() -> None:
    """Also where objects were ended as soon as they were made, and in the next launch."""
    found = set()
    for backend in ("python", "cpu", "cpu", "warps", "lists"):
        with oa.Heap(backend=opened(backend), layout="tile", references="64", initial_region=8):
            garden = Garden(2)
            garden.grow()
            oa.delete([each for each in oa.all(Node) if each.id >= 0 and each.id % 3 == 0])
            garden.grow()
            placed = [(type(each).__name__, each.id, each._reference) for each in oa.all(Thing)]
            first = min(reference for _, _, reference in placed)
            links = np.concatenate([garden.tops.numpy(), oa.concat(oa.all(Node)).next.numpy()])
            relative = np.where(links > 0, links - first, 0).tolist()
            found.add((*((name, int(id), at - first) for name, id, at in placed), *relative))
    assert len(found) == 1


@oa.kernel
def ask(roots: oa.Array[Node], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if roots[i].next is not None:
        out[i] = 1 + (2 if oa.is_alive(roots[i].next) else 0)


@pytest.mark.parametrize("backend", ["python", "cpu", "lists"])
def test_references_to_those_who_were_there_before(backend: str) -> None:
    """They lead to nobody, as far as that can be said, and are not None."""
    with oa.Heap(backend=opened(backend), initial_region=8) as heap:
        dead, roots = oa.new(Node, 20), oa.new(Node, 20)
        roots.next = dead
        oa.delete(dead)
        oa.reserve(Node, 120)
        before = {reference for each in range(2) for reference in _branched()}
        out = oa.zeros(20, i32)
        ask[20](roots, out)
        assert out.numpy().tolist() == [1] * 20
        assert not before.intersection(roots.next.numpy().tolist())
        check_invariants(heap)


def _branched() -> list[int]:
    """The references to those who have come."""
    branch[20](oa.array(i32, [6] * 20), oa.zeros(20, Node))
    return [each._reference for each in oa.all(Node)]


@oa.kernel
def branch(counts: oa.Array[i32], tops: oa.Array[Node]) -> None:
    i = oa.grid(1)
    for k in range(counts[i]):
        made = oa.new(Node, id=i * 8 + k, next=tops[i])
        if k % 3 == 2:
            oa.delete(made)
        else:
            tops[i] = made


_DIGEST = """
import hashlib, sys
import numpy as np
import sharedoa as oa
from sharedoa.backends import thread_pool
from tests.runtime.test_birth_order import Node, branch
thread_pool.worker_count = lambda: int(sys.argv[1])
thread_pool.WAKING_SECONDS = -1.0
counts = np.random.default_rng(3).integers(0, 7, 8_000).astype(np.int32)
with oa.Heap(backend="cpu", references="64", layout="tile"):
    oa.reserve(Node, int(counts.sum()))
    for _ in range(3):  # where others were, to whom there are references
        tops = oa.zeros(len(counts), Node)
        branch[len(counts)](oa.array(oa.i32, counts), tops)
        oa.delete(oa.concat(oa.all(Node))[::7])
    nodes = oa.concat(oa.all(Node))
    first = nodes[0]._reference
    found = hashlib.sha256((nodes.numpy() - first).tobytes())
    found.update(nodes.id.numpy().tobytes())
    following = nodes.next.numpy()
    found.update(np.where(following > 0, following - first, 0).tobytes())
print(len(nodes), found.hexdigest())
"""


@pytest.mark.parametrize(
    "runs",
    [(1, 2, 16, 16), pytest.param((1, *[2] * 7, *[16] * 12), marks=pytest.mark.slow)],
    ids=["few", "twenty"],
)
def test_the_same_bytes_on_any_number_of_processors(tmp_path: Path, runs: tuple[int, ...]) -> None:
    program = tmp_path / "program.py"
    program.write_text(_DIGEST)
    found = set()
    for processors in runs:
        ended = forked.run([program, processors], environment())
        assert ended.returncode == 0, ended.stderr
        found.add(ended.stdout)
    assert len(found) == 1


KEPT: list[tuple[int, Any]] = []


def test_objects_that_python_knows() -> None:
    """CPython runs what is no kernel, and threads that wait for one another take turns."""

    @oa.kernel
    def keep(out: oa.Array[i32]) -> None:
        i = oa.grid(1)
        for k in range(3):
            KEPT.append((10 * i + k, Node(id=10 * i + k)))
            oa.syncthreads()

    KEPT.clear()
    with oa.Heap(backend="python"):
        oa.reserve(Node, 12)
        keep[4](oa.zeros(1, i32))
        expected = [10 * i + k for i in range(4) for k in range(3)]
        assert [int(each.id) for each in oa.all(Node)] == expected
        assert len(KEPT) == 12 and all(each.id == id for id, each in KEPT)
        there = {int(each.id): each for each in oa.all(Node)}
        assert all(there[id] is each for id, each in KEPT)
        KEPT.clear()


def test_no_room_to_put_them_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them live, and whoever refers to one does."""
    with oa.Heap(backend=opened("lists"), initial_region=8) as heap:
        garden = Garden(3)

        work_memory = heap.memory.work_memory

        asked = []

        def fail(size: int) -> Any:
            asked.append(size)
            if len(asked) == 1:
                return work_memory(size)  # before the launch
            raise NoRoom(size, 0, 0)

        with monkeypatch.context() as patch:
            patch.setattr(heap.memory, "work_memory", fail)
            with pytest.raises(HeapError, match=r"no room for putting .* in the order of their"):
                garden.grow()
        check_invariants(heap)
        assert len(oa.all(Bud)) == garden.threads
        order, _, tops = expected(garden.counts)
        assert sorted(each.id for each in oa.all(Node) if each.id >= 0) == sorted(order)
        assert [number(each) for each in garden.tops] == tops
        oa.delete([each for each in oa.all(Thing) if each.id >= 0])
        oa.delete(oa.all(Bud))
        garden.grow()
        garden.check()


def orders(device: str, mode: str) -> list[Any]:
    """Of plants and animals, while captured runs and the host make and end some."""
    found: list[Any] = []
    for heap, _, step in evolving(device, mode, "auto"):
        for turn in range(8):
            step.run(3)
            heap.new(Plant, 3, number=turn)
            plants = [*heap.all(Plant)]
            oa.delete(plants[5])
            oa.delete(plants[2])
            heap.new(Animal, 2, number=-turn)
            found += [heap.all(cls).number.numpy().tolist() for cls in (Plant, Animal)]
    return found


@pytest.mark.parametrize("mode", ["auto", "coal"])
@pytest.mark.parametrize("device", ["python", "late", "eager"])
def test_what_the_host_makes_lies_the_same_everywhere(device: str, mode: str) -> None:
    """How much room a device has for runs to come depends on how soon those before them end."""
    assert orders(device, mode) == orders("cpu", mode)


def test_the_host_takes_the_lowest_places_first() -> None:
    with oa.Heap(backend="cpu", initial_region=32) as heap:
        plants = [*heap.new(Plant, 20, number=np.arange(20))]
        for gone in (7, 2, 11):
            oa.delete(plants[gone])
        heap.new(Plant, number=100)
        oa.delete(plants[1])
        oa.delete(oa.array(Plant, [plants[15], plants[4]]))
        heap.new(Plant, number=101)
        heap.new(Plant, 3, number=np.arange(102, 105))
        found = {int(each.number): place for place, each in enumerate(heap.all(Plant))}
    assert [found[number] for number in range(100, 105)] == [2, 1, 4, 7, 11]
