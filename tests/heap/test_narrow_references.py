"""References of 32 bits: which heaps have them, and that nothing but their size can be seen."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32
from sharedoa.heap.extents import Extents, NoRoom
from sharedoa.heap.provider import HostProvider, Slab
from sharedoa.heap.residency import Residency
from sharedoa.model.reference import BASE_ALIGNMENT, NarrowReference

from ..modes import rotated
from .shapes import Circle, Shape, Square


class Link(oa.Object):
    """Every way to hold a reference."""

    next: Link | None
    near: oa.inline[Shape, 3]
    far: oa.Array[Shape]
    number: i32


def heap_of(references: str, layout: str = "aos", mode: str = "auto") -> oa.Heap:
    return oa.Heap(mode, "cpu", layout, capacity="64MiB", initial_region=8, references=references)


def test_auto_is_narrow_where_it_pays_and_fits(monkeypatch):
    # Tests of C++ may have gone before.
    monkeypatch.setattr("sharedoa.model.foreign._declared", [])

    def name(**settings):
        return oa.Heap(backend="cpu", **settings).encoding.name

    assert name(capacity="8GiB") == "narrow"
    assert name(capacity="9GiB") == "plain", "the first slab may lie anywhere in what grows"
    assert name(capacity="1GiB", mode="coal") == "plain", "the paper's objects"
    assert name(capacity="1GiB", mode="typepointer") == "tagged"
    assert name(capacity="1GiB", mode="coal", references="32") == "narrow"
    assert name(references="64") == "plain"
    assert name(capacity="100GiB", references="32") == "narrow"
    free = oa.Heap(backend="cpu").backend.free_memory()
    assert oa.Heap(backend="cpu").stats().capacity <= min(free, 8 << 30)
    assert oa.Heap(backend="python", capacity="1GiB").encoding.name == "plain"
    monkeypatch.setattr("sharedoa.model.foreign._declared", [Circle.__sharedoa__])
    assert name(capacity="1GiB") == "plain", "C++ has pointers"


@pytest.mark.parametrize("mode", ["typepointer", "bits+switch", "cuda", "concord"])
def test_modes_that_cannot_have_them_say_why(mode):
    with pytest.raises(oa.ConfigurationError, match=rf"mode {re.escape(mode)} (carries|places)"):
        oa.Heap(mode, "cpu", references="32")


def test_an_unknown_width_is_refused():
    with pytest.raises(oa.ConfigurationError, match="32, 64, auto"):
        oa.Heap(backend="cpu", references="16")


@given(
    slots=st.lists(st.integers(1, (1 << 32) - 1), max_size=20), start=st.integers(1 << 20, 1 << 46)
)
def test_references_give_their_address_back(slots, start):
    encoding = NarrowReference()
    start = start // BASE_ALIGNMENT * BASE_ALIGNMENT
    encoding.base = next(encoding.bases(start))
    assert encoding.admit(start, start + 64)
    assert encoding.base < start
    addresses = np.array([encoding.base + 4 * slot for slot in slots], np.uint64)
    references = encoding.encode(addresses, 7)
    assert references.tolist() == slots
    stored = references.astype(encoding.dtype)
    assert encoding.address(stored).tolist() == addresses.tolist()
    for slot, address in zip(slots, addresses.tolist(), strict=True):
        assert encoding.encode(address, 7) == slot and encoding.address(slot) == address
        assert encoding.order(address) == slot
    assert encoding.address(0) == 0
    assert encoding.address(np.zeros(2, np.uint32)).tolist() == [0, 0]


class FarAway(HostProvider):
    """Hands out addresses at a given distance from each other; nobody writes there."""

    def __init__(self, distance: int) -> None:
        super().__init__()
        self.distance, self.next, self.out = distance, 1 << 40, 0

    def allocate(self, size: int) -> Slab:
        slab = Slab(self.next, size, np.zeros(0, np.uint8))
        self.next += self.distance
        self.out += 1
        return slab

    def free(self, slab: Slab) -> None:
        self.out -= 1


def test_memory_out_of_reach_is_given_back_and_named():
    provider = FarAway(5 << 30)
    extents = Extents(provider, 16 << 30, Residency(None), within=NarrowReference())
    extents._add_slab(1 << 20)
    extents._add_slab(1 << 20)
    assert provider.out == 2
    with pytest.raises(NoRoom) as caught:
        extents._add_slab(1 << 20)
    assert "references of 32 bits reach" in caught.value.reason
    assert provider.out == 2, "what lies outside goes back"


@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_fields_and_elements_take_half_the_room(layout):
    sizes = {}
    for references in ("64", "32"):
        with heap_of(references, layout) as heap:
            links = oa.new(Link, 3)
            sizes[references] = heap.layout.record(Link.__sharedoa__).size
            assert links.dtype.itemsize == int(references) // 8
            assert oa.concat(links).numpy().nbytes == 3 * int(references) // 8
    assert sizes == {"64": 56, "32": 40}


@oa.kernel
def turn(links: oa.Array[Link], shapes: oa.Array[Shape], counts: oa.Array[i32]) -> None:
    """Reads and writes references everywhere that they can be."""
    i = oa.grid(1)
    link = links[i]
    following = link.next
    if following is not None:
        counts[i] += following.number
    first = link.near[0]
    link.near[0] = link.near[1]
    link.near[1] = link.near[2]
    link.near[2] = first
    link.far[0], link.far[1] = link.far[1], link.far[0]
    if isinstance(link.far[0], Circle):
        counts[i] += 1000
    if oa.atomic_cas(link, "next", None, links[0]) is None:
        counts[i] += 100
    if oa.atomic_exch(shapes, i, link.near[0]) is not None:
        counts[i] += 10000


def observe(references: str, layout: str, mode: str) -> list[object]:
    with heap_of(references, layout, mode) as heap:
        circles, squares = oa.new(Circle, 40, number=range(40)), oa.new(Square, 9, number=range(9))
        shapes = oa.concat(circles, squares)
        links = oa.new(Link, 40, number=range(40), near=[circles[3], squares[2], circles[1]])
        links.next[1:] = links[:39]
        links.far = oa.split(oa.array(Shape, [shapes[k % 49] for k in range(80)]), [2] * 40)
        out, counts = oa.array(Shape, [None] * 40), oa.zeros(40, i32)
        for _ in range(2):
            turn[40](links, out, counts)
        return [
            counts.numpy().tolist(),
            [None if s is None else (type(s).__name__, s.number) for s in out],
            [None if n is None else n.number for n in links.next],
            [[s.number for s in link.near] + [s.number for s in link.far] for link in links],
            (links.next == links[3]).tolist(),
            heap.stats().objects,
        ]


@pytest.mark.parametrize(
    ("mode", "layout"),
    rotated(["auto", "coal", "sharedoa", "tag+switch", "range+switch"], ["aos", "tile"]),
)
def test_programs_see_no_difference(layout, mode):
    assert observe("32", layout, mode) == observe("64", layout, mode)


@pytest.mark.parametrize(("written", "read"), [("32", "64"), ("64", "32"), ("32", "32")])
def test_dumps_fit_either_width(tmp_path, written, read):
    file = tmp_path / "dump"
    with heap_of(written) as heap:
        circles = oa.new(Circle, 5, number=range(5))
        links = oa.new(Link, 4, number=range(4), near=circles[2])
        links.next[1:] = links[:3]
        every = oa.array(Shape, [circles[k] for k in (4, 3, 2, 1, 0, 4)])
        links.far = oa.split(every, [1, 2, 0, 3])
        heap.dump(file, links=oa.concat(links), tail=every[2:], one=links[3])
    with heap_of(read, "tile") as heap:
        found = heap.load(file)
        links = found["links"]
        assert [None if n is None else n.number for n in links.next] == [None, 0, 1, 2]
        assert [[s.number for s in link.far] for link in links] == [[4], [3, 2], [], [1, 0, 4]]
        assert [s.number for s in found["tail"]] == [2, 1, 0, 4]
        assert found["one"] == links[3] and links[0].near[1].number == 2


def test_debug_names_addresses():
    @oa.kernel
    def touch(links: oa.Array[Link], out: oa.Array[i32]) -> None:
        i = oa.grid(1)
        out[i] = links[i].next.number  # type: ignore[union-attr]

    for references in ("64", "32"):
        with oa.Heap("coal", "cpu", debug=True, references=references) as heap:
            links = oa.new(Link, 2)
            touched = links[1]
            links.next = touched
            out = oa.zeros(2, i32)
            touch[2](links, out)
            heap.synchronize()
            address = heap.encoding.address(touched._reference)
            oa.delete(touched)
            touch[1](links, out)
            with pytest.raises(oa.DeviceError, match=f"{address:#x}"):
                heap.synchronize()
            links[:1].next = None
            touch[1](links, out)
            with pytest.raises(oa.DeviceError, match="null reference"):
                heap.synchronize()
