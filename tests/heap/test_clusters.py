"""Objects that get other clusters while they live: no value changes, wherever it is looked at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32
from sharedoa.heap import rearrangement, residency
from sharedoa.heap.placement import FieldPath

from ..backends.pretend_device import PretendDevice
from ..differential.effort import examples
from .clustered import FEW, MANY, NONE, OTHERS, PLANT, TREE, Plant, Tree
from .shapes import Circle, Point
from .test_transfer import PIECE_BYTES, THRESHOLD, by_host, cuda_device, fetched

ALL = (NONE, FEW, OTHERS, MANY)


@pytest.fixture(scope="module", params=["pretended", pytest.param("cuda", marks=pytest.mark.gpu)])
def opened(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "cuda":
        pytest.importorskip("cuda.bindings.driver")
    backend = cuda_device() if request.param == "cuda" else PretendDevice(PIECE_BYTES)
    yield backend
    backend.close()


@pytest.fixture
def device(opened: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``moved`` notes what is prefetched. Tiles are rearranged a few at a time."""
    monkeypatch.setattr(residency, "DEVICE_BULK", THRESHOLD)
    monkeypatch.setattr(rearrangement, "_SCRATCH_BYTES", 10_000)
    opened.moved.clear()
    return opened


@pytest.fixture(params=["auto-64", "auto-32", "bits+switch-64"])
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    """A current heap of tiles on the CPU with small regions."""
    mode, references = request.param.split("-")
    with oa.Heap(
        mode, "cpu", "tile", capacity="64MiB", initial_region=32, references=references
    ) as made:
        yield made


def columns(cls: Any, count: int, seed: int) -> dict[str, Any]:
    """A value of every field but references and arrays for each object."""
    random = np.random.default_rng(seed)
    corners = [[Point(*random.integers(0, 99, 2)) for _ in range(2)] for _ in range(count)]
    found = {
        "x": random.random(count, np.float32),
        "y": random.random(count, np.float32),
        "wide": random.random(count),
        "flag": random.random(count) < 0.5,
        "tiny": random.integers(-99, 99, count, np.int8),
        "half": random.integers(-9999, 9999, count, np.int16),
        "weights": random.random((count, 3), np.float32),
        "where": [pair[0] for pair in corners],
        "corners": corners,
        "count": random.integers(0, 1 << 30, count, np.int32),
    }
    if cls is Tree:
        found |= {
            "height": random.random(count, np.float32),
            "width": random.random(count, np.float32),
            "rings": random.random((count, 5)),
        }
    return found


def contents(objects: Any) -> dict[str, list[Any]]:
    """All fields of the objects, as plain Python values."""
    found = {}
    for name in objects.cls.fields:
        values = getattr(objects, name)
        found[name] = (
            [each.numpy().tolist() if name == "data" else each for each in list(values)]
            if name in ("data", "next")
            else values.numpy().tolist()
        )
    return found


def made_of(cls: Any, count: int, seed: int = 1) -> Any:
    objects = oa.new(cls, count, **columns(cls, count, seed))
    objects.next = objects[::-1]
    lengths = np.arange(count) % 4
    objects.data = oa.split(oa.array(i32, np.arange(lengths.sum())), lengths)
    return objects


@pytest.mark.parametrize("clusters", ALL[1:], ids=["few", "others", "many"])
def test_no_value_changes(heap: oa.Heap, clusters: Any) -> None:
    plants, trees = made_of(Plant, 70), made_of(Tree, 100)
    before = contents(plants), contents(trees)
    references = trees.references().tolist()
    one, view, epoch = trees[37], trees.weights, heap.layout_epoch
    heap.rearrange(clusters)
    assert heap.layout.clusters == clusters and heap.layout_epoch > epoch
    epoch = heap.layout_epoch
    heap.rearrange(clusters)
    assert heap.layout_epoch == epoch, "nothing changed"
    assert (contents(plants), contents(trees)) == before
    assert trees.references().tolist() == references
    assert trees[37] is one and one.next is trees[62]
    assert (one.x, one.wide, one.flag) == tuple(before[1][n][37] for n in ("x", "wide", "flag"))
    one.weights[1] = 7.0
    assert view[37].tolist()[1] == 7.0
    one.weights = before[1]["weights"][37]
    heap.rearrange(NONE)
    assert (contents(plants), contents(trees)) == before


def test_fields_lie_side_by_side(heap: oa.Heap) -> None:
    trees = made_of(Tree, 40)
    heap.rearrange(FEW)
    (region,) = heap.placement.all_regions()
    tile, record = region.memory[region.arrangement.block_bytes :], region.arrangement.record
    at = 32 * record.offsets["x"] + 8 * 3  # the fourth object of the second tile
    assert tile[at : at + 8].view(np.float32).tolist() == [trees[35].x, trees[35].y]
    at = 32 * record.offsets["weights"] + 12 * 3
    assert tile[at : at + 12].view(np.float32).tolist() == list(trees[35].weights)


def test_scattered_objects_have_no_clusters() -> None:
    with oa.Heap("cuda", "cpu", capacity="16MiB") as heap:
        plants = made_of(Plant, 5)
        heap.rearrange(FEW)
        assert heap.layout.clusters == NONE and len(plants) == 5


def test_what_was_made_before_regions_merged(heap: oa.Heap) -> None:
    first = oa.new(Tree, 32, **columns(Tree, 32, 1))
    view, wide = first.weights, first.wide
    expected = view.numpy().tolist(), wide.numpy().tolist()
    rest = oa.new(Tree, 200, **columns(Tree, 200, 2))
    assert heap.placement.region_count(TREE) == 1
    heap.rearrange(MANY)
    assert (view.numpy().tolist(), wide.numpy().tolist()) == expected
    wide[:] = 3.0
    assert first[4].wide == 3.0 and rest.wide.numpy().max() < 1


def test_debug_poisons_what_is_freed_in_clusters() -> None:
    with oa.Heap(layout="tile", debug=True, backend="cpu", mode="auto") as heap:
        heap.rearrange(MANY)
        trees = made_of(Tree, 40)
        oa.delete(trees[34])
        heap.rearrange(OTHERS)
        (region,) = heap.placement.all_regions()
        for name in TREE.fields.keys() - {"flag"}:  # NumPy makes any bool 0 or 1
            values = region.field(FieldPath(name))
            assert set(values[34].tobytes()) == {0xDD}, name
            assert set(values[33].tobytes()) != {0xDD}, name
        made = oa.new(Tree)
        assert (made.x, made.half, list(made.rings)) == (0, 0, [0] * 5)


_ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["new", "new", "field", "part", "one", "element", "add", "delete", "holes", "clusters"]
        ),
        st.integers(0, 300),
    ),
    min_size=1,
    max_size=15,
)
_FIELDS = ("x", "wide", "flag", "tiny", "half", "weights", "count", "rings", "width")


def run_history(heap: oa.Heap, actions: list[tuple[str, int]]) -> None:
    groups: list[tuple[Any, dict[str, np.ndarray]]] = []
    for action, number in actions:
        if action == "clusters":
            heap.rearrange(ALL[number % 4])
            continue
        if action == "new" or not groups:
            given_values = columns(Tree, number + 1, number)
            made = oa.new(Tree, number + 1, **given_values)
            expected = {name: np.array(given_values[name]) for name in _FIELDS}
            groups.append((made, expected))
            continue
        objects, expected = groups[number % len(groups)]
        count, name = len(objects), _FIELDS[number % len(_FIELDS)]
        values = np.array(columns(Tree, count, number + 1)[name])
        if action == "field":
            setattr(objects, name, values)
            expected[name][:] = values
        elif action == "part":
            first = number % (count + 1)
            getattr(objects[first:], name)[:] = values[first:]
            expected[name][first:] = values[first:]
        elif action == "add":
            objects.wide += 2.0
            expected["wide"] += 2.0
        elif action == "delete":
            oa.delete(objects)
            del groups[number % len(groups)]
        elif action == "holes" and count > 3:
            keep = np.arange(count) % 3 != 1
            oa.delete(objects[~keep])
            groups[number % len(groups)] = (
                objects[keep],
                {name: each[keep] for name, each in expected.items()},
            )
        elif action == "one" and count:
            place = number % count
            setattr(objects[place], name, values[place])
            expected[name][place] = values[place]
        elif action == "element" and count:
            objects[number % count].rings[number % 5] = -1.0
            expected["rings"][number % count, number % 5] = -1.0
    for objects, expected in groups:
        for name, wanted in expected.items():
            np.testing.assert_array_equal(getattr(objects, name), wanted)
        for place in range(0, len(objects), 50):
            assert objects[place].half == expected["half"][place]
            assert objects[place].next is None and len(objects[place].data) == 0


@settings(max_examples=examples(15))
@given(actions=_ACTIONS)
@pytest.mark.parametrize("references", ["64", "32"])
def test_any_history(references: str, actions: list[tuple[str, int]]) -> None:
    with oa.Heap("auto", "cpu", "tile", "64MiB", initial_region=32, references=references) as heap:
        run_history(heap, actions)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=_ACTIONS)
def test_any_history_on_a_device(device: Any, actions: list[tuple[str, int]]) -> None:
    with oa.Heap("auto", device, "tile", "64MiB", initial_region=32) as heap:
        run_history(heap, actions)


@pytest.mark.parametrize("clusters", ALL[1:], ids=["few", "others", "many"])
@pytest.mark.parametrize("mode", ["auto", "bits+switch"])
def test_a_device_rearranges_by_itself(device: Any, mode: str, clusters: Any) -> None:
    with oa.Heap(mode, device, "tile", "64MiB", initial_region=32) as heap:
        objects = oa.new(Tree, 333, **columns(Tree, 333, 5))
        before = contents(objects)
        for each in (clusters, MANY, OTHERS, NONE, clusters):
            heap.before_launch()
            device.moved.clear()
            heap.rearrange(each)
            assert fetched(device, objects) == []
            assert contents(objects) == before
        with by_host():
            heap.rearrange(NONE)
        assert contents(objects) == before


PATHS = [FieldPath(name) for name in TREE.fields] + [
    FieldPath("where", ("y",)),
    FieldPath("corners", (1, "x")),
    FieldPath("weights", (2,)),
]


@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize("clusters", [FEW, MANY], ids=["few", "many"])
def test_a_device_moves_fields_in_clusters(device: Any, clusters: Any, path: FieldPath) -> None:
    with oa.Heap("auto", device, "tile", "64MiB", initial_region=32) as heap:
        heap.rearrange(clusters)
        objects = oa.new(Tree, 150)
        selection = objects.selection()
        _, dtype = heap.layout.record(TREE).part(path.name, path.components)
        shape = (150, *dtype.shape)
        random = np.random.default_rng(3).integers(0, 2, (*shape, dtype.base.itemsize), np.uint8)
        values = random.view(dtype.base).reshape(shape)
        device.moved.clear()
        selection.write(path, values)
        (part,) = selection.parts
        np.testing.assert_array_equal(selection.read(path), values)
        assert fetched(device, objects) == []
        np.testing.assert_array_equal(part.region.field(path)[part.slots], values)
        others = [name for name in TREE.fields if name != path.name]
        assert not any(selection.read(FieldPath(name)).tobytes().strip(b"\0") for name in others)


@pytest.mark.parametrize("left", [0, 3], ids=["none", "little"])
def test_with_little_room_on_the_device(device: Any, monkeypatch: Any, left: int) -> None:
    monkeypatch.setattr(rearrangement, "_SCRATCH_BYTES", 1 << 20)
    with oa.Heap("auto", device, "tile", "256KiB", initial_region=32) as heap:
        objects = oa.new(Tree, 900, **columns(Tree, 900, 5))
        before = contents(objects)
        taken = [oa.zeros(4096, oa.i8) for _ in range(left)]
        with pytest.raises(oa.HeapError):
            while True:
                taken.append(oa.zeros(256, oa.i8))
        del taken[:left]
        heap.memory.collect(thorough=True)
        heap.before_launch()
        device.moved.clear()
        heap.rearrange(MANY)
        assert bool(fetched(device, objects)) == (left == 0), "then the host does it"
        del taken
        assert contents(objects) == before


def test_dumps_know_no_clusters(heap: oa.Heap, tmp_path: Any) -> None:
    trees, texts = made_of(Tree, 50), []
    before = contents(trees)
    before.pop("next")
    for number, clusters in enumerate((NONE, MANY, FEW)):
        heap.rearrange(clusters)
        heap.dump(tmp_path / str(number), trees=trees)
        texts.append((tmp_path / str(number)).read_bytes())
    assert texts[0] == texts[1] == texts[2]
    with oa.Heap("auto", "cpu", "tile", "64MiB") as other:
        other.rearrange(OTHERS)
        loaded = other.load(tmp_path / "1")["trees"]
        after = contents(loaded)
        assert [each is loaded[49 - n] for n, each in enumerate(after.pop("next"))] == [True] * 50
        assert after == before


def test_other_threads_see_whole_objects(heap: oa.Heap) -> None:
    """While objects get other clusters, others make, read, write and delete some."""
    problems: list[BaseException] = []
    ended = threading.Event()

    def work(seed: int) -> None:
        try:
            values = columns(Tree, 60, seed)
            mine = heap.new(Tree, 60, **values)
            while not ended.is_set():
                np.testing.assert_array_equal(mine.weights, values["weights"])
                np.testing.assert_array_equal(mine.wide, values["wide"])
                assert mine[seed].half == values["half"][seed]
                mine[seed].tiny = seed
                mine.y = values["y"][::-1]
                np.testing.assert_array_equal(mine.y, values["y"][::-1])
                assert mine[seed].tiny == seed
                heap.delete(heap.new(Tree, 5, **columns(Tree, 5, seed)))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for number in range(60):
        heap.rearrange(ALL[number % 4])
    ended.set()
    for thread in threads:
        thread.join()
    assert problems == []


def test_other_classes_stay_as_they_are(heap: oa.Heap) -> None:
    circles = oa.new(Circle, 50, radius=range(50))
    heap.rearrange(NONE.replace(PLANT, [("x", "y")]))
    assert circles.radius.numpy().tolist() == list(range(50))
    assert heap.layout.cluster(Circle.__sharedoa__, "radius") is None


def test_who_has_got_a_reader_before_reads_where_fields_are_now(heap: oa.Heap) -> None:
    """Another thread may have looked up what reads or writes a field just before all objects get
    other clusters, and call it just after."""
    given = columns(Tree, 64, seed=3)
    trees = heap.new(Tree, 64, **given)
    one, names = trees[41], ("x", "y", "wide", "flag", "tiny", "half", "count", "height")
    before = {name: getattr(one, name) for name in names}
    for name in names:
        setattr(one, name, before[name])
    readers = {name: heap.readers[Tree, name] for name in names}
    writers = {name: heap.writers[Tree, name] for name in names}
    for clusters in (FEW, OTHERS, MANY, NONE):
        heap.rearrange(clusters)
        assert {name: readers[name](one) for name in names} == before
        heap.rearrange(NONE if clusters is not NONE else MANY)
        for name in names:
            writers[name](one, before[name])
        for name in names:
            assert (np.delete(getattr(trees, name).numpy(), 41) == np.delete(given[name], 41)).all()
            assert getattr(one, name) == before[name]
        heap.rearrange(clusters)
        for name in names:  # they know the region again
            readers[name](one)
