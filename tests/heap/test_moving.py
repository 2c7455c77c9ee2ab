"""``oa.compact`` and ``oa.sort``: objects change places, and programs compute what they did."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32, u64
from sharedoa.errors import ArgumentError, ClassError, DeviceError, HeapError
from sharedoa.heap import moving
from sharedoa.heap.by_type import ByTypePlacement
from sharedoa.model.classes import ClassType

from ..codegen.interpreted import InterpretedGpu
from ..many.small import small_sizes
from ..modes import rotated
from .invariants import check_invariants
from .nodes import Named, Node, Pair, Thing

pytestmark = pytest.mark.in_turns("heap", 4)


class Loner(oa.Object):
    value: i32

    def last_first(self) -> i32:
        return -self.value

    def leave(self) -> None:
        if self.value % 3 == 0:
            oa.delete(self)


class Holder(oa.Object):
    loner: Loner


class Long(oa.Object):
    value: i32
    other: Long | None
    rest: oa.inline[u64, 6]


HEAPS = [
    ("python", "auto", "aos", False), ("cpu", "auto", "aos", False),
    ("cpu", "auto", "tile", False), ("cpu", "coal", "tile", False),
    ("cpu", "typepointer", "aos", False), ("cpu", "header+vtable", "aos", False),
    ("cpu", "auto", "tile", True), ("warps", "auto", "tile", False),
    pytest.param(("cuda", "auto", "tile", False), marks=pytest.mark.gpu),
    pytest.param(("cuda", "coal", "aos", True), marks=pytest.mark.gpu),
]  # fmt: skip


@pytest.fixture(params=HEAPS, ids=lambda each: "-".join(map(str, each)))
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    backend, mode, layout, debug = request.param
    opened: Any = InterpretedGpu() if backend == "warps" else backend
    options: Any = {"layout": layout, "debug": debug, "initial_region": 8}
    with oa.Heap(mode=mode, backend=opened, **options) as made:
        yield made


def placement_of(heap: oa.Heap) -> ByTypePlacement:
    placement = heap.placement
    assert isinstance(placement, ByTypePlacement)
    return placement


class World:
    """Objects that refer to each other everywhere, and the same as numbers."""

    def __init__(self, seed: int, count: int = 60) -> None:
        self.random = random.Random(seed)
        kinds = [self.random.choice([Node, Named]) for _ in range(count)]
        self.nodes = {number: kind(id=number) for number, kind in enumerate(kinds)}
        self.loners = oa.new(Loner, 20, value=np.arange(20))
        for node in self.nodes.values():
            node.next = self.pick()
            node.links[0], node.links[1] = self.pick(), self.pick()
            node.pair = Pair(self.pick(), 7, self.pick())
            node.others = oa.array(Node, [self.pick() for _ in range(3)])
        self.array = oa.array(Node, [self.pick() for _ in range(25)])
        self.pairs = oa.array(Pair, [Pair(self.pick(), k, self.pick()) for k in range(9)])

    def pick(self) -> Any:
        return self.random.choice([None, *self.nodes.values()])

    def remove(self, share: float) -> None:
        """Delete objects, and references to them."""
        gone = {n for n in self.nodes if self.random.random() < share}
        for node in self.nodes.values():
            keep = lambda each: None if each is None or int(each.id) in gone else each
            node.next = keep(node.next)
            node.links[0], node.links[1] = keep(node.links[0]), keep(node.links[1])
            node.pair = Pair(keep(node.pair.left), 7, keep(node.pair.right))
            node.others = oa.array(Node, [keep(each) for each in node.others])
            self.array = oa.array(Node, [keep(each) for each in self.array])
            pairs = [Pair(keep(p.left), p.weight, keep(p.right)) for p in self.pairs]
            self.pairs = oa.array(Pair, pairs)
        oa.delete([self.nodes.pop(number) for number in gone])

    def state(self) -> Any:
        name = lambda each: None if each is None else (type(each).__name__, int(each.id))
        nodes = {
            number: [
                name(node), name(node.next), name(node.links[0]), name(node.links[1]),
                name(node.pair.left), name(node.pair.right), [name(each) for each in node.others],
            ]
            for number, node in self.nodes.items()
        }  # fmt: skip
        arrays = [name(each) for each in self.array]
        pairs = [(name(p.left), int(p.weight), name(p.right)) for p in self.pairs]
        out = oa.zeros(len(nodes) + 60, i32)
        oa.all(Node).look(out)
        return nodes, arrays, pairs, out.numpy().tolist(), self.loners.value.numpy().tolist()


@pytest.mark.parametrize(("heap", "seed"), rotated(HEAPS, range(3)), indirect=["heap"])
def test_every_reference_follows(heap: oa.Heap, seed: int) -> None:
    world = World(seed)
    for turn in range(3):
        world.remove(0.4)
        before = world.state()
        order = [int(each.id) for each in oa.all(Node)]
        if turn != 1:
            oa.compact(*[Named] * (seed == 1))
        else:
            keys = {number: world.random.random() for number in world.nodes}
            oa.sort(oa.all(Node), [keys[number] for number in order])
        assert world.state() == before
        for node in oa.all(Node):
            assert node is world.nodes[int(node.id)]
        if turn != 1:
            assert [int(each.id) for each in oa.all(Node)] == order


def test_room_is_given_back(heap: oa.Heap) -> None:
    objects = oa.new(Loner, 4000, value=np.arange(4000))
    kept = objects[::11]
    oa.delete(objects[np.arange(4000) % 11 != 0])
    oa.compact()
    size = heap.layout.record(Loner.__sharedoa__).size
    assert heap.stats().bytes_reserved <= 2 * len(kept) * size
    assert kept.value.numpy().tolist() == list(range(0, 4000, 11))
    assert oa.all(Loner).value.numpy().tolist() == list(range(0, 4000, 11))
    oa.delete(kept)
    oa.compact(Loner)
    assert heap.stats().bytes_reserved == 0
    assert len(oa.new(Loner, 10)) == 10


def test_what_was_deleted_is_null_afterwards(heap: oa.Heap) -> None:
    first, second = oa.new(Node, id=1), oa.new(Node, id=2)
    first.next = second
    array = oa.array(Node, [second, first])
    oa.delete(second)
    oa.compact()
    assert first.next is None and array[0] is None and array[1] is first
    with pytest.raises(HeapError, match="deleted"):
        print(second.id)


def test_where_all_of_a_class_were_deleted_nothing_is_left(heap: oa.Heap) -> None:
    """Its memory is given back, and others may lie there before and after."""
    nodes, every = oa.new(Node, 8, id=np.arange(8)), oa.new(Named, 96)
    named = every[64:]
    array, pairs = oa.array(Thing, named), oa.array(Pair, [Pair(named[31], 1, nodes[0])])
    nodes.next = named[:8]
    nodes[0].links[1] = named[9]
    oa.delete(every)
    del named, every
    loners = oa.new(Loner, 8, value=np.arange(8))
    holders = oa.new(Holder, 8, loner=loners)
    oa.compact()
    things = oa.new(Thing, 64, id=7)
    assert [each.next for each in nodes] == [None] * 8 and nodes[0].links[1] is None
    assert [*array] == [None] * 32
    assert pairs[0].left is None and pairs[0].right is nodes[0]
    assert [int(each.loner.value) for each in holders] == [*range(8)]
    oa.compact()
    assert [int(each.loner.value) for each in holders] == [*range(8)]
    assert things.id.numpy().tolist() == [7] * 64


def test_what_regions_left_is_noted_once() -> None:
    """However often some go, of whatever size."""
    with oa.Heap(backend="cpu", initial_region=8) as heap:
        placement = placement_of(heap)
        for power in range(3, 9):
            oa.delete(oa.new(Loner, 1 << power))
        ((start, end),) = placement._left
        assert placement.places_left() == [(start, end)]
        oa.new(Loner, 8)
        ((low, high, _),) = placement.ranges()
        apart = [(start, low), (high, end)]
        assert placement.places_left() == [(a, b) for a, b in apart if a < b]


def test_runs_and_captured_steps_look_again(heap: oa.Heap) -> None:
    nodes = oa.new(Node, 40, id=np.arange(40))
    out = oa.zeros(40, i32)
    with oa.capture() as step:
        nodes.look(out)
        visit[40](nodes, out)
    step.run()
    oa.sort(nodes, -np.arange(40))
    assert [int(each.id) for each in nodes] == list(range(40))
    step.run()
    nodes.look(out)
    visit[40](nodes, out)
    assert out.numpy().tolist() == [3 * 2 * number for number in range(40)]


@oa.kernel
def visit(nodes: oa.Array[Node], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    out[i] += nodes[i].number()


def test_sorting_some_and_by_fields(heap: oa.Heap) -> None:
    objects = oa.new(Loner, 12, value=[5, 3, 9, 1, 5, 7, 3, 8, 0, 2, 6, 4])
    oa.sort(objects[2:6], "value")
    found = oa.all(Loner).value.numpy().tolist()
    assert found == [5, 3, 1, 5, 7, 9, 3, 8, 0, 2, 6, 4]
    oa.sort(oa.all(Loner), oa.array(i32, [-value for value in found]))
    assert oa.all(Loner).value.numpy().tolist() == [9, 8, 7, 6, 5, 5, 4, 3, 3, 2, 1, 0]
    for key, sign in (("value", 1), ("last_first", -1), (Loner.last_first, -1)):
        oa.sort(oa.all(Loner), key)
        assert oa.all(Loner).value.numpy().tolist() == sorted(found, reverse=sign < 0)
        oa.sort(oa.all(Loner), "value")
    assert objects.value.numpy().tolist() == [5, 3, 9, 1, 5, 7, 3, 8, 0, 2, 6, 4]


def test_a_device_sorts_populations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without and with holes that kernels have made."""
    monkeypatch.setattr(moving, "_FEW", 0)
    orders: list[Any] = []

    def noted(*given: Any) -> Any:
        orders.append(order_on_device(*given))
        return orders[-1]

    order_on_device = moving._order_on_device
    monkeypatch.setattr(moving, "_order_on_device", noted)
    keys = np.random.default_rng(4).integers(-50, 50, 90)
    with small_sizes(), oa.Heap(backend=InterpretedGpu(), initial_region=8):
        objects = oa.new(Loner, 90, value=keys)
        holders = oa.new(Holder, 90, loner=objects)
        for key, sign in (("value", 1), (Loner.last_first, -1)):
            oa.sort(oa.all(Loner), key)
            assert np.array_equal(oa.all(Loner).value, sign * np.sort(sign * keys))
            assert np.array_equal(objects.value, keys) and np.array_equal(holders.loner, objects)
            left = keys % 3 != 0
            oa.delete(holders[~left])
            objects.leave()
            holders, objects, keys = holders[left], objects[left], keys[left]
        assert not any(order is None for order in orders)


@pytest.mark.parametrize("sign", [1, -1])
def test_new_places_are_the_same_every_time(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever order sets of classes have in a process."""
    kinds = [type(f"Kind{number}", (Thing,), {"__annotations__": {}}) for number in range(4)]
    monkeypatch.setattr(ClassType, "__hash__", lambda self: sign * self.type_index)
    with oa.Heap(backend="cpu", mode="coal", initial_region=8) as heap:
        for kind in kinds:
            heap.new(kind, 5, id=np.arange(5))
        objects = oa.concat(*(heap.all(kind)[:] for kind in kinds))
        oa.sort(objects, -np.arange(20))
        found = [region.cls for region in placement_of(heap).all_regions()]
    assert found == [kind.__sharedoa__ for kind in kinds]


def test_views_of_fields_are_taken_again(heap: oa.Heap) -> None:
    objects = oa.new(Loner, 30, value=np.arange(30))
    kept = objects[::3]
    view, first, population = kept.value, kept[1:4], oa.all(Loner)
    oa.delete(objects[np.arange(30) % 3 != 0])
    assert view[2] == 6
    oa.compact()
    oa.new(Loner, 40, value=-1)
    for use in (lambda: view[2], view.numpy, lambda: view.__setitem__(1, 3), lambda: view[1:]):
        with pytest.raises(HeapError, match=r"before objects moved.*\n?.*"):
            use()
    assert kept.value[2] == 6 and first.value.numpy().tolist() == [3, 6, 9]
    assert sorted(population.value.numpy().tolist()) == [-1] * 40 + list(range(0, 30, 3))


class Hermit(Loner):
    pass


class Keeper(oa.Object):
    number: i32
    hermit: Hermit


def test_views_of_classes_that_did_not_move(heap: oa.Heap) -> None:
    """Another thread may have objects of its own move at any time."""
    loners, hermits = oa.new(Loner, 3, value=range(3)), oa.new(Hermit, 30, value=7)
    keepers = oa.new(Keeper, 30, number=range(30), hermit=hermits[29])
    kept, hers, every = keepers.number, hermits[20:].value, oa.concat(loners, hermits[20:]).value
    oa.delete(hermits[:20])
    oa.compact(Hermit)
    assert kept[25] == 25 and kept.numpy().tolist() == list(range(30))
    assert keepers[25].hermit.value == 7
    for view in (hers, every):  # which has objects of a subclass
        with pytest.raises(HeapError, match="before objects moved"):
            view.numpy()
    oa.delete(keepers[:20])
    oa.compact(Keeper)
    with pytest.raises(HeapError, match="before objects moved"):
        kept[20:].numpy()


@oa.kernel
def work(objects: oa.Array[Loner], rounds: i32) -> None:
    i = oa.grid(1)
    if i < len(objects):
        for _ in range(rounds):
            objects[i].value += (objects[i].value & 1) + 1


@pytest.mark.parametrize("turns", [40])
def test_launches_of_another_thread_have_ended(turns: int) -> None:
    """Nothing that a launch writes while objects move is lost."""
    with oa.Heap(backend="cpu") as heap:
        objects = oa.new(Loner, 20_000, value=0)
        expected = oa.new(Loner, 1, value=0)
        launched = 0
        is_over = threading.Event()

        def launch() -> None:
            nonlocal launched
            while not is_over.is_set():
                work[20_000](objects, 50)
                launched += 1

        thread = threading.Thread(target=launch)
        thread.start()
        try:
            for turn in range(turns):
                moving.sort(heap, objects, np.arange(20_000) * (-1) ** turn)
        finally:
            is_over.set()
            thread.join()
        for _ in range(launched):
            work[1](expected, 50)
        assert launched
        assert (objects.value.numpy() == expected.value.numpy()[0]).all()


def test_births_after_it(heap: oa.Heap) -> None:
    @oa.kernel
    def make(out: oa.Array[Loner]) -> None:
        i = oa.grid(1)
        out[i] = Loner(value=100 + i)

    objects = oa.new(Loner, 30, value=np.arange(30))
    oa.delete(objects[::2])
    made = oa.zeros(20, Loner)
    make[20](made)
    oa.compact()
    make[20](made)
    oa.delete(objects[1::4])
    oa.compact()
    values = oa.all(Loner).value.numpy().tolist()
    rest = [value for value in range(1, 30, 2) if (value - 1) % 4]
    assert sorted(values) == sorted(rest + 2 * list(range(100, 120)))
    assert [int(each.value) for each in made] == list(range(100, 120))


def test_without_memory_nothing_moves() -> None:
    with oa.Heap(backend="cpu", capacity="1MiB") as heap:
        objects = oa.new(Loner, 50_000, value=np.arange(50_000))
        oa.delete(objects[:10])
        before = heap.stats()
        with pytest.raises(HeapError, match="a second place"):
            oa.compact()
        assert heap.stats() == before
        assert objects[10:].value.numpy().tolist() == list(range(10, 50_000))


@pytest.mark.parametrize("by_itself", [False, True])
def test_what_goes_for_want_of_memory_goes_once(by_itself: bool) -> None:
    """The second place may be where an empty region was, to which a reference leads."""
    with oa.Heap(backend="cpu", capacity="1MiB", initial_region=128) as heap:
        parts = []
        for count in (1 << 10, 1 << 11, 1 << 10):  # apart from each other
            parts.append(oa.new(Long, count, value=np.arange(count)))
            oa.new(Loner, 1 << 10)
        parts[0][0].other, parts[0][1].other = parts[1][5], parts[2][5]
        placement, cls = placement_of(heap), Long.__sharedoa__
        amid = placement.regions(cls)[1]
        with heap.upkeep.still():
            oa.delete(parts[1])
        filled = []
        while heap.memory.extents.free_bytes >= amid.memory.nbytes:
            filled.append(oa.zeros(1 << 10, i32))
        assert not amid.used and len(placement.regions(cls)) == 3
        if by_itself:
            moving.put_together(heap, placement, [cls], keeps_deleted=True)
        else:
            oa.compact(Long)
            assert parts[0][0].other is None
        assert [region.start for region in placement.regions(cls)] == [amid.start]
        check_invariants(heap)
        assert parts[0][1].other.value == 5
        assert oa.all(Long).value.numpy().tolist() == 2 * list(range(1 << 10))


def test_a_fault_in_the_middle_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with oa.Heap(backend="cpu", initial_region=8) as heap:
        world = World(5)
        world.remove(0.5)
        before = world.state()

        def fail(*_: Any) -> Any:
            raise MemoryError

        for stage in ("columns_of", "forwarding", "numbers_of"):
            heap.memory.collect(thorough=True)
            held = heap.stats()
            with monkeypatch.context() as patch:
                patch.setattr(moving, stage, fail)
                with pytest.raises(MemoryError):
                    oa.compact()
            assert heap.stats() == held and world.state() == before
        oa.compact()
        assert world.state() == before


def test_in_a_block_of_capture_and_in_kernels() -> None:
    with oa.Heap(backend="python"):
        objects = oa.new(Loner, 3)
        with pytest.raises(HeapError, match="inside a block"), oa.capture():
            oa.compact()

        @oa.kernel
        def inside(objects: oa.Array[Loner]) -> None:
            oa.compact()

        with pytest.raises(DeviceError, match="HeapError: compacting in a kernel"):
            inside[1](objects)


@pytest.mark.parametrize("mode", ["cuda", "concord"])
def test_where_objects_are_placed_one_by_one(mode: str) -> None:
    with oa.Heap(backend="cpu", mode=mode):
        objects = oa.new(Loner, 3)
        for work in (oa.compact, lambda: oa.sort(objects, "value")):
            with pytest.raises(HeapError, match="one by one"):
                work()


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda objects: oa.compact(3), "is not a shared class"),
        (lambda objects: oa.sort([1, 2], "value"), "oa.sort takes an array or a population"),
        (lambda objects: oa.sort(objects, [1, 2]), "one number an object"),
        (lambda objects: oa.sort(objects, ["a", "b", "c"]), "one number an object"),
        (lambda objects: oa.sort(objects, "colour"), "no field or method 'colour'"),
        (lambda objects: oa.sort(objects[[0, 0, 1]], [1, 2, 3]), "occurs twice"),
        (lambda objects: oa.sort(oa.concat(objects, objects[:2]), range(5)), "occurs twice"),
        (lambda objects: oa.sort(oa.zeros(3, Loner), [1, 2, 3]), "null"),
    ],
)
def test_refused(call: Any, complaint: str) -> None:
    with oa.Heap(backend="cpu"):
        objects = oa.new(Loner, 3, value=[3, 1, 2])
        with pytest.raises((ArgumentError, ClassError, HeapError, AttributeError), match=complaint):
            call(objects)
        assert oa.all(Loner).value.numpy().tolist() == [3, 1, 2]


def test_the_population_is_dense() -> None:
    with oa.Heap(backend="cpu", initial_region=8) as heap:
        objects = oa.new(Loner, 100)
        oa.delete(objects[::3])
        oa.compact()
        (region,) = placement_of(heap).regions(Loner.__sharedoa__)
        assert region.unused_from == region.used == 66


@pytest.mark.parametrize("slot", [100, 101, 500, 5_000])
def test_what_is_left_of_deleted_objects_may_refer_to_any_slot(slot: int) -> None:
    """Memory that was another region before may hold references to slots behind those that a region
    has had: what lay behind its forwarding words was taken for one, or the process was killed."""
    with oa.Heap(backend="cpu", layout="aos", capacity="64MiB") as heap:
        behind = oa.array(u64, np.full(10_000, 0x5555))  # what is made next lies before it
        oa.reserve(Loner, 100_000)
        loners = oa.new(Loner, 100, value=range(100))
        holders = oa.new(Holder, 10, loner=loners[:10])
        oa.delete(holders[4])
        (holding,) = placement_of(heap).regions(Holder.__sharedoa__)
        place = 4 * holding.arrangement.block_bytes + holding.arrangement.record.part("loner")[0]
        left = holding.memory[place : place + 8].view(np.uint64)
        first, second = loners.numpy()[:2]
        assert left[0] == loners.numpy()[4]
        left[0] = first + slot * (second - first)
        oa.sort(loners, "last_first")
        assert left[0] == 0
        assert np.all(behind.numpy() == 0x5555)
        assert holders[5:].loner.value.numpy().tolist() == list(range(5, 10))
