"""Many values that the device moves itself: equal to what the host writes, and no page moves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sharedoa as oa
from sharedoa import f32, f64, i8, i32
from sharedoa.backends.bulk_transfer import PIECES, BulkTransfer
from sharedoa.errors import HeapError
from sharedoa.heap import residency
from sharedoa.heap.array_memory import FAULT_BLOCK
from sharedoa.heap.placement import FieldPath
from sharedoa.heap.residency import Residency

from ..backends.pretend_device import PretendDevice
from .shapes import Circle, Point, Shape

pytestmark = pytest.mark.in_turns("on_device", 3)

#: Bytes of a piece of the buffer: a few objects each, so that all pieces are used several times.
PIECE_BYTES = 512
THRESHOLD = 256


@oa.value
class Mixed:
    """Padding before and after."""

    small: i8
    wide: f64
    flag: bool
    near: Point


class Grain(oa.Object):
    tiny: i8
    mixed: Mixed
    places: oa.inline[Point, 3]
    number: i32
    weights: oa.inline[f64, 2]
    next: Grain
    data: oa.Array[i32]
    flag: bool

    def heavy(self) -> bool:
        return self.weights[0] > 1.0


class Light(Grain):
    x: f32

    def heavy(self) -> bool:
        return False


PATHS = [
    FieldPath(name)
    for name in ("tiny", "mixed", "places", "number", "weights", "next", "data", "flag", "x")
] + [FieldPath("mixed", ("near", "y")), FieldPath("mixed", ("small",))]


def cuda_device() -> Any:
    from sharedoa.backends.cuda import CudaBackend
    from sharedoa.backends.pinned_memory import PinnedStaging

    class Noting(CudaBackend):
        def prefetch(self, address: int, size: int, to_device: bool) -> None:
            self.moved.append((address, size, to_device))
            super().prefetch(address, size, to_device)

    backend: Any = Noting()
    backend._transfer = BulkTransfer(
        backend, lambda: PinnedStaging(backend.device, PIECES, PIECE_BYTES)
    )
    backend.moved = []
    return backend


@pytest.fixture(scope="module", params=["pretended", pytest.param("cuda", marks=pytest.mark.gpu)])
def opened(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "cuda":
        pytest.importorskip("cuda.bindings.driver")
    backend = cuda_device() if request.param == "cuda" else PretendDevice(PIECE_BYTES)
    yield backend
    backend.close()


@pytest.fixture
def device(opened: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``moved`` notes what is prefetched: address, size, whether to the device."""
    monkeypatch.setattr(residency, "DEVICE_BULK", THRESHOLD)
    opened.moved.clear()
    return opened


@pytest.fixture(
    params=[
        (mode, layout)
        for mode in ("auto", "sharedoa", "typepointer", "tag+switch")
        for layout in ("aos", "tile")
    ],
    ids="-".join,
)
def on_device(request: pytest.FixtureRequest, device: Any) -> Iterator[oa.Heap]:
    """A current heap whose memory is on a device, with small regions."""
    mode, layout = request.param
    with oa.Heap(mode, device, layout, capacity="64MiB", initial_region=32) as heap:
        yield heap


def test_what_is_cleared(on_device: oa.Heap) -> None:
    """Up to its last byte, and no further."""
    array = oa.array(i8, np.full(1000, 7))
    address = array.__array_interface__["data"][0]
    transfer = on_device.backend.transfer
    assert transfer.ready()
    for start, end in ((8, 16), (64, 576), (600, 1000)):
        transfer.clear(address + start, address + end)
        values = np.array(array)
        assert not values[start:end].any() and values[start - 1] == 7
        assert end == 1000 or values[end] == 7


class by_host:
    """Within it the host does everything."""

    def __enter__(self) -> None:
        self.before = residency.DEVICE_BULK
        residency.DEVICE_BULK = 1 << 60

    def __exit__(self, *error: object) -> None:
        residency.DEVICE_BULK = self.before


def column(dtype: np.dtype, count: int, generator: np.random.Generator) -> np.ndarray:
    """Values of a scalar, a structure or an inline array, with zeros as padding."""
    if dtype.fields is not None:
        found = np.zeros(count, dtype)
        for name, (part, *_) in dtype.fields.items():
            found[name] = column(part, count, generator)
        return found
    if dtype.subdtype is not None:
        (length,) = dtype.shape
        return column(dtype.base, count * length, generator).reshape(count, length)
    if dtype == np.bool_:
        return generator.random(count) < 0.5
    return generator.integers(-100, 100, count).astype(dtype)


def fields(heap: oa.Heap, count: int, seed: int = 0) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    record = heap.layout.record(Light.__sharedoa__)
    given = {
        name: column(record.dtypes[name], count, generator)
        for name in ("tiny", "number", "weights", "flag", "x")
    }
    places = column(np.dtype((record.dtypes["places"].base, (3,))), count, generator)
    mixed = column(record.dtypes["mixed"], count, generator)
    pieces = oa.array(i32, np.arange(3 * count))
    return given | {
        "mixed": [
            Mixed(i8(m["small"]), f64(m["wide"]), bool(m["flag"]), Point(*m["near"].tolist()))
            for m in mixed
        ],
        "places": [[Point(*p.tolist()) for p in row] for row in places],
        "next": oa.new(Light, count),
        "data": oa.split(pieces, [3] * count),
    }


def raw(made: oa.ObjectArray) -> list[np.ndarray]:
    """All that the objects hold, headers included, as the host sees it, but what lies in padding,
    which NumPy copies or not."""
    found = []
    for part in made.selection().parts:
        region, slots, size = part.region, part.slots, made.heap.mode.header_size
        of_part = [region.arrangement.header(region.memory, size)[slots]] if size else []
        of_part += [region.field(FieldPath(name))[slots] for name in region.cls.fields]
        found.append([each for values in of_part for each in scalars(np.asarray(values))])
    return [np.concatenate(each) for each in zip(*found, strict=True)]


def scalars(values: np.ndarray) -> list[np.ndarray]:
    """The bytes of every scalar of structured values."""
    if values.dtype.names is None:
        return [np.ascontiguousarray(values).view(np.uint8)]
    return [each for name in values.dtype.names for each in scalars(values[name])]


def assert_equal(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def fetched(device: Any, made: oa.ObjectArray) -> list[tuple[int, int, bool]]:
    """What came to the host of the memory of these objects, and of the references to them."""
    ranges = [(part.region.start, part.region.end) for part in made.selection().parts]
    ranges.append((made.address, made.address + 8 * len(made)))
    return [
        (address, size, to_device)
        for address, size, to_device in device.moved
        if not to_device and any(address < end and start < address + size for start, end in ranges)
    ]


@pytest.mark.parametrize("count", [64, 333])
def test_new_objects_are_those_that_the_host_makes(on_device, device, count):
    given = fields(on_device, count)
    with by_host():
        expected = oa.new(Light, count, **given)
    device.moved.clear()
    made = oa.new(Light, count, **given)
    assert fetched(device, made) == []
    assert_equal(raw(made), raw(expected))
    references = made.references()
    np.testing.assert_array_equal(references, made.selection().references)
    assert on_device.placement.select(references).count == count
    assert made[count - 1].number == given["number"][-1]


def test_one_value_for_all_and_fields_left_out(on_device, device):
    given = {"number": -7, "x": 1.5, "flag": True, "weights": [1.0, 2.0], "tiny": 3}
    with by_host():
        expected = oa.new(Light, 200, **given)
    device.moved.clear()
    made = oa.new(Light, 200, **given)
    assert fetched(device, made) == []
    assert_equal(raw(made), raw(expected))
    assert (made.number.numpy() == -7).all() and made.flag.numpy().all()


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_fields_go_there_and_back(on_device, device, path):
    count = 150
    objects = oa.new(Light, count)
    device.moved.clear()
    selection = objects.selection()
    _, dtype = on_device.layout.record(Light.__sharedoa__).part(path.name, path.components)
    values = column(dtype, count, np.random.default_rng(1))
    selection.write(path, values)
    (part,) = selection.parts
    if part.region.arrangement.is_tiled:
        np.testing.assert_array_equal(selection.read(path), values)
        assert fetched(device, objects) == []
    np.testing.assert_array_equal(part.region.field(path)[part.slots], values)

    def turn(some: np.ndarray, where: slice) -> None:
        some[...] = values[::-1][where]

    on_device.before_launch()
    device.moved.clear()
    selection.change(path, turn)
    assert fetched(device, objects) == []
    np.testing.assert_array_equal(part.region.field(path)[part.slots], values[::-1])


def test_what_is_read_shows_nothing_of_what_lay_there_before(on_device):
    first = oa.new(Light, 100, number=-1, weights=[-1.0, -1.0])
    oa.new(Circle, 100)
    oa.new(Light, 200, number=-1)
    assert first.weights.numpy().all()
    found = oa.all(Light).mixed.numpy()
    assert found.shape == (300,)
    assert not any(each.any() for each in scalars(found))


def test_objects_in_several_regions(on_device, device):
    first = oa.new(Light, 64, number=np.arange(64))
    between = oa.new(Circle, 64)
    with by_host():
        few = oa.new(Light, 20, number=np.arange(64, 84))
    rest = oa.new(Light, 400, number=np.arange(84, 484))
    everything = oa.all(Light)
    np.testing.assert_array_equal(everything.number, np.arange(484))
    everything.x = np.arange(484)
    for part in (first, few, rest):
        np.testing.assert_array_equal(part.x, part.number)
    everything.x += 1
    np.testing.assert_array_equal(np.asarray(rest.x), np.arange(85, 485))
    assert not between.number.numpy().any() and not between.radius.numpy().any()


@oa.kernel
def double(objects: oa.Array[Grain]):
    i = oa.grid(1)
    objects[i].number = 2 * objects[i].number


def test_launches_and_transfers_are_in_order(on_device):
    objects = oa.new(Light, 300, number=np.arange(300))
    for _ in range(3):
        double[300](objects)
        objects.number += 1
        double[300](objects)
    expected = np.arange(300)
    for _ in range(3):
        expected = 2 * (2 * expected + 1)
    np.testing.assert_array_equal(objects.number, expected)


def test_what_the_host_holds_goes_back_first(on_device, device):
    objects = oa.new(Light, 400, number=1)
    objects[7].number = 5
    device.moved.clear()
    objects.x = np.arange(400)
    ((_, size, to_device),) = device.moved
    assert to_device and size <= 32 * on_device.layout.record(Light.__sharedoa__).size
    assert objects[7].number == 5 and objects[7].x == 7.0
    assert int(np.sum(objects.number.numpy())) == 404


def test_what_the_host_has_most_of_it_keeps(device):
    with oa.Heap("range+switch", device, "aos", capacity="64MiB") as heap:
        objects = oa.new(Light, 400, number=1)
        seen = objects.number.numpy()
        device.moved.clear()
        objects.number = np.arange(400)
        assert device.moved == []
        np.testing.assert_array_equal(seen, np.arange(400))
        assert heap.residency.on_host


def test_reused_memory_is_zero(on_device):
    for round in range(3):
        objects = oa.new(Light, 300)
        assert not objects.number.numpy().any() and not objects.weights.numpy().any()
        objects.number = round + 1
        objects.weights = [5.0, 6.0]
        oa.delete(objects)
        numbers = oa.zeros(1000, f64)
        assert not numbers.numpy().any()
        numbers[:] = 3.0
        del numbers, objects
        oa.synchronize()


def test_numbers_of_another_type_are_converted_as_the_host_does(on_device):
    given = np.arange(-100, 900, dtype=np.int64)
    made = on_device.array_of(oa.u64, given)
    np.testing.assert_array_equal(made.numpy(), given.astype(np.uint64))


def test_arrays(on_device, device):
    values = np.random.default_rng(2).random(3000)
    made = oa.array(f64, values)
    assert not any(move[0] <= made.address < move[0] + move[1] for move in device.moved)
    np.testing.assert_array_equal(made.numpy(), values)
    points = oa.array(Point, [Point(i, -i) for i in range(100)])
    assert points[99].x == 99 and points[99].y == -99
    references = oa.concat(oa.new(Circle, 50), oa.new(Circle, 50))
    assert len(set(references)) == 100


def test_large_arrays_share_no_block_with_what_the_host_reads_by_itself(device):
    sizes = (1, 5 * FAULT_BLOCK + 5, 70, 4 * FAULT_BLOCK, 4 * FAULT_BLOCK - 1, 1)
    with oa.Heap("auto", device, capacity="1GiB"):
        made = [oa.zeros(size, i8) for size in sizes]
        blocks = [
            set(range(a.address // FAULT_BLOCK, (a.address + len(a) - 1) // FAULT_BLOCK + 1))
            for a in made
        ]
    for large in (1, 3):
        others = [blocks[place] for place in range(len(made)) if place != large]
        assert not blocks[large] & set().union(*others)


def test_in_small_heaps_arrays_take_no_more_than_they_need(device):
    with oa.Heap("auto", device, capacity="1280KiB"):
        # In whole blocks there would be room for four.
        made = [oa.zeros(4 * FAULT_BLOCK - 256, i8) for _ in range(5)]
        assert len({each.address for each in made}) == 5


def test_without_a_buffer_the_host_does_it(on_device, monkeypatch):
    def refuse() -> Any:
        raise HeapError("no page-locked memory")

    monkeypatch.setattr(on_device.backend.transfer, "_staging", None)
    monkeypatch.setattr(on_device.backend.transfer, "_open_staging", refuse)
    made = oa.new(Light, 100, number=np.arange(100))
    np.testing.assert_array_equal(made.number, np.arange(100))
    assert made.selection().parts[0].region.start in on_device.residency.on_host


def test_values_larger_than_a_piece_are_moved_by_the_host(device):
    class Large(oa.Object):
        values: oa.inline[f64, PIECE_BYTES // 8 + 1]

        def first(self) -> f64:
            return self.values[0]

    with oa.Heap("auto", device, capacity="64MiB"):
        values = np.random.default_rng(0).random((40, PIECE_BYTES // 8 + 1))
        made = oa.new(Large, 40, values=values)
        np.testing.assert_array_equal(made.values, values)


def test_a_failed_move_leaves_the_buffer_unused(on_device, monkeypatch):
    objects = oa.new(Light, 300)
    transfer = on_device.backend.transfer
    move, calls = transfer._move, []

    def failing(*arguments: Any, **named: Any) -> None:
        calls.append(1)
        if len(calls) == 5:
            raise HeapError("stopped")
        move(*arguments, **named)

    monkeypatch.setattr(transfer, "_move", failing)
    with pytest.raises(HeapError, match="stopped"):
        objects.weights = np.ones((300, 2))
    monkeypatch.undo()
    monkeypatch.setattr(residency, "DEVICE_BULK", THRESHOLD)
    objects.weights = np.full((300, 2), 2.0)
    assert (objects.weights.numpy() == 2).all()


def test_while_launches_are_recorded_it_is_refused(on_device):
    objects = oa.new(Light, 100)
    with pytest.raises(HeapError, match="inside a block"), oa.capture():
        objects.number = np.arange(100)
    with pytest.raises(HeapError, match="inside a block"), oa.capture():
        oa.new(Light, 100)


def test_heaps_in_several_threads_share_one_buffer(device):
    problems = []

    def work(seed: int) -> None:
        try:
            with oa.Heap("auto", device, "tile", capacity="16MiB") as heap:
                values = np.random.default_rng(seed).random(500)
                for _ in range(5):
                    made = heap.new(Light, 500, weights=np.stack([values, -values], axis=1))
                    np.testing.assert_array_equal(made.weights[:, 0], values)
                    made.x = 1.0
                    assert made.x.numpy().sum() == 500
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


_ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["new", "assign", "part", "add", "one", "launch", "delete", "scattered"]),
        st.integers(0, 400),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("layout", ["aos", "tile"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=_ACTIONS)
def test_any_history_gives_what_numpy_gives(device, layout, actions):
    with oa.Heap("auto", device, layout, capacity="64MiB", initial_region=32):
        groups: list[tuple[Any, np.ndarray]] = []
        for action, number in actions:
            if action == "new" or not groups:
                values = np.arange(number) % 97
                groups.append((oa.new(Light, number, number=values), values.copy()))
                continue
            objects, expected = groups[number % len(groups)]
            if action == "assign":
                expected[:] = np.arange(len(expected))[::-1]
                objects.number = expected
            elif action == "part":
                start = number % (len(expected) + 1)
                expected[start:] = number
                objects[start:].number = number
            elif action == "add":
                expected += 3
                objects.number += 3
            elif action == "one" and len(expected):
                expected[number % len(expected)] = -1
                objects[number % len(expected)].number = -1
            elif action == "launch" and len(expected):
                expected *= 2
                double[len(expected)](objects)
            elif action == "delete":
                oa.delete(objects)
                del groups[number % len(groups)]
            elif action == "scattered" and len(expected):
                places = np.random.default_rng(number).permutation(len(expected))
                expected[places] = np.arange(len(expected))
                objects[places].number = np.arange(len(expected))
        for objects, expected in groups:
            np.testing.assert_array_equal(objects.number, expected)


@given(
    values=arrays.arrays(
        st.sampled_from([np.int8, np.float32, np.float64, np.bool_]), st.integers(1, 300)
    )
)
@settings(max_examples=30)
def test_any_array_keeps_its_values(device, values):
    with oa.Heap("auto", device, capacity="64MiB") as heap:
        made = (
            heap.array({1: i8, 4: f32, 8: f64}[values.itemsize], values.astype(values.dtype))
            if (values.dtype != np.bool_)
            else heap.array(bool, values)
        )
        np.testing.assert_array_equal(made.numpy(), values)


class Counting:
    """A transfer that is always, or never, ready."""

    largest_item = 1 << 20

    def __init__(self, is_ready: bool) -> None:
        self.is_ready = is_ready

    def ready(self) -> bool:
        return self.is_ready


def test_who_moves_values():
    bulk, moved = residency.DEVICE_BULK, []
    transfer: Any = Counting(True)
    known = Residency(lambda *move: moved.append(move), transfer)
    assert known.transfer_between(0, bulk) is transfer
    assert known.transfer_between(0, bulk - 1) is None
    known.host_uses(0, 100, 200)
    known.host_uses(bulk, bulk, bulk + 10)
    assert known.transfer_between(0, bulk) is transfer
    assert moved == [(100, 100, True)] and list(known.on_host) == [bulk]
    known.host_uses(0, 0, bulk // 2 + 1)
    assert known.transfer_between(0, bulk) is None
    assert known.transfer_between(bulk // 4, 2 * bulk) is transfer
    assert not known.on_host
    assert Residency(None).transfer_between(0, bulk) is None
    never: Any = Counting(False)
    unready = Residency(lambda *move: moved.append(move), never)
    unready.host_uses(0, 0, 10)
    assert unready.transfer_between(0, bulk) is None and unready.on_host == {0: (0, 10)}


def test_a_base_class_has_the_field_at_the_same_place(on_device):
    class_of = Shape.__sharedoa__
    circles = oa.new(Circle, 100, number=np.arange(100), radius=2.0)
    assert circles.cls.is_subclass_of(class_of)
    np.testing.assert_array_equal(oa.all(Shape).number, np.arange(100))


def test_slots_that_are_used_again_are_known_to_be_on_the_host(on_device):
    """The host clears them; kernels would fetch them page by page."""
    objects = oa.new(Light, 8, number=1)
    kept = objects[:3]
    oa.delete(objects[3:])
    on_device.before_launch()
    assert not on_device.residency.on_host
    made = oa.new(Light, 4)
    (part,) = made.selection().parts
    start, end = part.region.span(*part.extremes())
    low, high = on_device.residency.on_host[part.region.start]
    assert low <= start and end <= high
    assert not made.number.numpy().any() and kept.number.numpy().all()
