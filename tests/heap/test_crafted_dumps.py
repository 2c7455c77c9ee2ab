"""Dumps from somebody who wants to do harm: they are refused, or make a heap that is whole."""

from __future__ import annotations

import dataclasses
import os
import random
import resource
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.heap.dump_file import MAGIC

from .crafted_dumps import CraftedDump, write_text
from .shapes import Circle, Empty, Node, Point, Ring, Shape, Square

CASES = 4000


@oa.value
class Link:
    weight: f32
    open: bool
    to: Circle


class Holder(oa.Object):
    link: Link
    all: oa.Array[Shape]
    flags: oa.Array[bool]
    ends: oa.inline[Link, 2]


@oa.kernel
def visit(nodes: oa.Array[Node], holders: oa.Array[Holder], out: oa.Array[i32]):
    """Follows everything that there is to follow."""
    i = oa.grid(1)
    found = 0
    if i < len(nodes):
        node = nodes[i]
        if node.shape is not None:
            found += 1 + i32(node.shape.area())
        for k in range(len(node.data)):
            found += node.data[k]
        for k in range(len(node.friends)):
            if node.friends[k] is not None:
                found += i32(node.friends[k].small)
        for k in range(2):
            if node.children[k] is not None:
                found += i32(node.children[k].small)
    if i < len(holders):
        holder = holders[i]
        for k in range(2):
            if holder.ends[k].to is not None:
                found += i32(holder.ends[k].to.radius)
        for k in range(len(holder.all)):
            if holder.all[k] is not None:
                found += i32(holder.all[k].area())
    out[i] = found


def fill() -> oa.Array:
    circles = oa.new(Circle, 3, number=range(3), radius=[1, 2, 3])
    square = oa.new(Square, side=2.0, flag=True)
    ring = oa.new(Ring, inner=0.25, next=circles[1])
    circles.next = oa.array(Shape, [ring, square, None])
    nodes = oa.new(Node, 3, where=Point(1.5, 2.5), weights=[1, 2, 3])
    nodes[0].children = [nodes[2], None]
    nodes[1].shape = ring
    nodes[0].data = oa.array(i32, range(10))
    nodes[1].data = nodes[0].data[3:6]
    nodes[2].friends = oa.array(Node, [nodes[0], None, nodes[2]])
    holder = oa.new(Holder, link=Link(0.5, True, circles[2]))
    holder.all = circles
    holder.flags = oa.array(bool, [True, False, True])
    holder.ends = [Link(1.0, False, ring), Link(2.0, True, None)]
    oa.new(Empty, 2)
    return nodes


@pytest.fixture(params=["auto", pytest.param("coal", marks=pytest.mark.slow)])
def heap(request):
    with oa.Heap(request.param, "cpu", "aos", capacity="16MiB", initial_region=8) as made:
        yield made


@pytest.fixture(scope="module")
def dumped(tmp_path_factory) -> CraftedDump:
    path = tmp_path_factory.mktemp("dump") / "heap.dump"
    with oa.Heap("auto", "cpu", "aos", capacity="16MiB", initial_region=8):
        nodes = fill()
        oa.dump(path, nodes=nodes, one=nodes[1], data=nodes[0].data)
    return CraftedDump.of(path)


def require_whole(heap: oa.Heap) -> None:
    """Every field and element of every object reads as what its type says."""
    for shape in oa.all(Shape):
        assert shape.next is None or isinstance(shape.next, Shape)
        assert type(shape) is not Shape
    for square in oa.all(Square):
        assert np.asarray(square.flag).view(np.uint8) <= 1
    for node in oa.all(Node):
        assert node.shape is None or isinstance(node.shape, Shape)
        assert all(child is None or isinstance(child, Node) for child in node.children)
        assert all(friend is None or isinstance(friend, Node) for friend in node.friends)
        assert node.data.numpy().sum() is not None
    for holder in oa.all(Holder):
        for link in (holder.link, *holder.ends):
            assert link.to is None or isinstance(link.to, Circle)
        assert all(shape is None or isinstance(shape, Shape) for shape in holder.all)
        assert holder.flags.numpy().view(np.uint8).max(initial=0) <= 1


def run_kernel(heap: oa.Heap) -> None:
    nodes, holders = (oa.array(cls, list(oa.all(cls))) for cls in (Node, Holder))
    out = oa.zeros(max(len(nodes), len(holders)), i32)
    visit[len(out)](nodes, holders, out, debug=True)
    heap.synchronize()


def held(heap: oa.Heap) -> object:
    """What objects and arrays take; slabs stay."""
    return dataclasses.replace(heap.stats(), slab_bytes=0)


def clear(heap: oa.Heap) -> None:
    for cls in (Shape, Node, Holder, Empty):
        oa.delete(oa.all(cls))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_thousands_of_changes(tmp_path: Path, dumped: CraftedDump, heap, seed: int):
    path = tmp_path / "crafted.dump"
    rng = random.Random(seed)
    empty, loaded = held(heap), 0
    for case in range(CASES // 12):
        dumped.changed(rng).write(path)
        before = heap.stats()
        try:
            oa.load(path)
        except (oa.DumpError, oa.HeapError) as error:
            assert error.help and len(str(error)) < 2000
            assert heap.stats() == before, f"case {case}"
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # forged numbers overflow
            require_whole(heap)
            if loaded % 20 == 0 and len(oa.all(Node)):
                run_kernel(heap)
        loaded += 1
        clear(heap)
        heap.memory.collect(thorough=True)
        assert held(heap) == empty, f"case {case}"
    assert loaded > CASES // 80, "changes that only move values are loaded"


def code(group: int, rest: int = 0) -> int:
    return ((group + 1) << 40) + rest


class TestEveryLie:
    """One lie each, told where the file is otherwise right."""

    @pytest.fixture
    def place(self, dumped: CraftedDump):
        """Where the values of a field begin in the blocks, and how many bytes an object has."""
        from sharedoa.model.layout import storage_dtype

        found, at = {}, 0
        for entry in dumped.description["classes"]:
            python_class = {c.__name__: c for c in (Circle, Square, Ring, Node, Holder, Empty)}[
                entry["class"][1]
            ]
            fields = python_class.__sharedoa__.fields
            for name, type in fields.items():
                found[python_class.__name__, name] = at
                at += entry["count"] * storage_dtype(type).itemsize
            at += 0 if fields else entry["count"]
        for number, entry in enumerate(dumped.description["arrays"]):
            found["array", number] = at
            at += entry["size"]
        assert at == len(dumped.blocks)
        return found

    def groups(self, dumped: CraftedDump) -> dict[str, int]:
        return {c["class"][1]: n for n, c in enumerate(dumped.description["classes"])}

    def refuse(self, tmp_path: Path, crafted: CraftedDump, heap, text: str) -> None:
        path = tmp_path / "crafted.dump"
        crafted.write(path)
        before = heap.stats()
        with pytest.raises(oa.DumpError, match=text):
            oa.load(path)
        assert heap.stats() == before

    def changed(self, dumped: CraftedDump, place: int, word: int, size: int = 8) -> CraftedDump:
        blocks = bytearray(dumped.blocks)
        blocks[place : place + size] = word.to_bytes(size, "little")
        return CraftedDump(dumped.description, blocks)

    def test_the_class_behind_a_reference(self, tmp_path, dumped, heap, place):
        group = self.groups(dumped)
        lies = {
            ("Node", "shape"): (code(group["Node"]), code(group["Circle"], 3), code(99), 5),
            ("Circle", "next"): (code(group["Holder"]), (1 << 64) - 1, code(group["Circle"], 3)),
            ("Node", "children"): (code(group["Circle"]),),
        }
        for field, words in lies.items():
            for word in words:
                crafted = self.changed(dumped, place[field], word)
                self.refuse(tmp_path, crafted, heap, rf"{'.'.join(field)} refers to no")

    def test_the_class_behind_a_reference_inside_a_value(self, tmp_path, dumped, heap, place):
        square = code(self.groups(dumped)["Square"])
        for at in (place["Holder", "link"], place["Holder", "ends"] + 16):
            crafted = self.changed(dumped, at + 8, square)
            self.refuse(tmp_path, crafted, heap, r"Holder\.(link|ends)\.to refers to no Circle")

    def test_the_class_behind_an_element(self, tmp_path, dumped, heap, place):
        for number, entry in enumerate(dumped.description["arrays"]):
            if entry["element"] != "i32" and entry["element"] != "bool":
                square = code(self.groups(dumped)["Square"])
                crafted = self.changed(dumped, place["array", number], square)
                self.refuse(tmp_path, crafted, heap, "an array of .* refers to no")

    def test_arrays_longer_than_their_memory(self, tmp_path, dumped, heap, place):
        for length in (11, 1 << 62, (1 << 64) - 1):
            crafted = self.changed(dumped, place["Node", "data"] + 8, length)
            self.refuse(tmp_path, crafted, heap, r"Node\.data (reaches beyond|has elements that)")

    def test_arrays_of_something_else(self, tmp_path, dumped, heap, place):
        arrays = dumped.description["arrays"]
        elements = [a["element"] for a in arrays]
        ints = elements.index("i32")
        for number in range(len(arrays)):
            if number != ints:
                crafted = self.changed(dumped, place["Node", "data"], code(number))
                self.refuse(tmp_path, crafted, heap, r"Node\.data is no Array\[i32\]")
        for rest in (1, 2, 40, 1 << 39):
            crafted = self.changed(dumped, place["Node", "data"], code(ints, rest))
            self.refuse(tmp_path, crafted, heap, r"Node\.data reaches beyond")
        for rest in (11, 13, 15):  # three elements from the middle of one
            crafted = self.changed(dumped, place["Node", "data"] + 16, code(ints, rest))
            self.refuse(tmp_path, crafted, heap, r"Node\.data reaches beyond")
        crafted = self.changed(dumped, place["Node", "data"], 0)
        self.refuse(tmp_path, crafted, heap, r"Node\.data has elements that are nowhere")

    def test_bools(self, tmp_path, dumped, heap, place):
        bools = [a["element"] for a in dumped.description["arrays"]].index("bool")
        for at in (
            place["Square", "flag"],
            place["Holder", "link"] + 4,
            place["Holder", "ends"] + 20,
            place["array", bools],
        ):
            crafted = self.changed(dumped, at, 2, size=1)
            self.refuse(tmp_path, crafted, heap, "neither true nor false")

    def test_roots(self, tmp_path, dumped, heap):
        for root in (
            {"object": 0},
            {"object": code(0, 1000)},
            {"object": 1.5},
            {"object": True},
            {"array": code(0), "length": 1 << 40, "element": "f32"},
            {"array": code(0), "length": -1, "element": "i32"},
            {"array": 0, "length": 1, "element": "i32"},
            {},
        ):
            description = {**dumped.description, "roots": {"a": root}}
            crafted = CraftedDump(description, dumped.blocks)
            self.refuse(tmp_path, crafted, heap, "contradicts itself")

    def test_abstract_classes(self, tmp_path, dumped, heap):
        fields = [["number", "i32"], ["next", {"reference": [Shape.__module__, "Shape"]}]]
        entry = {"class": [Shape.__module__, "Shape"], "fields": fields, "count": 1}
        crafted = CraftedDump({"classes": [entry], "arrays": [], "roots": {}}, bytearray(12))
        self.refuse(tmp_path, crafted, heap, "objects of Shape is abstract|Shape is abstract")

    def test_objects_that_are_not_there(self, tmp_path, dumped, heap):
        """Also of a class without fields: a short file asks for few objects."""
        for python_class in (Empty, Circle):
            for count in (10**6, 10**15, 1 << 62):
                path = tmp_path / "crafted.dump"
                crafted = CraftedDump.of(self.small(path, python_class))
                crafted.description["classes"][0]["count"] = count
                self.refuse(tmp_path, crafted, heap, "bytes of data instead of")

    def small(self, path: Path, python_class: type) -> Path:
        with oa.Heap("auto", "cpu", capacity="16MiB") as other:
            other.new(python_class, 2)
            oa.dump(path)
        return path


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 100_000,
        b'{"classes": [], "arrays": [], "roots": {}, "roots": {}}',
        b'{"classes": {}, "arrays": [], "roots": {}}',
        b'{"classes": [], "arrays": [], "roots": []}',
        b'{"classes": [3], "arrays": [], "roots": {}}',
        b'{"classes": [], "arrays": [{"element": "i32", "size": NaN}], "roots": {}}',
        b'{"classes": [], "arrays": [{"element": "i32", "size": -4}], "roots": {}}',
        b'{"classes": [], "arrays": [{"element": "i32", "size": 3}], "roots": {}}',
        b'{"classes": [], "arrays": [{"element": "i32", "size": 1e400}], "roots": {}}',
        b'{"classes": [{"class": [[], []]}], "arrays": [], "roots": {}}',
        b'{"classes": [{"class": ["a", {}]}], "arrays": [], "roots": {}}',
    ],
    ids=lambda text: repr(text[:40]),
)
def test_descriptions_of_another_shape(tmp_path: Path, heap, text: bytes):
    path = tmp_path / "crafted.dump"
    write_text(path, text)
    with pytest.raises(oa.DumpError, match="contradicts itself"):
        oa.load(path)


def test_names_that_terminals_obey_are_shown_as_text(tmp_path: Path, heap):
    path = tmp_path / "crafted.dump"
    entry = '{"class": ["m", "\\u001b[2J%s"], "fields": [], "count": 1}' % ("x" * 10_000)
    write_text(path, f'{{"classes": [{entry}], "arrays": [], "roots": {{}}}}'.encode())
    with pytest.raises(oa.DumpError, match="needs the class") as caught:
        oa.load(path)
    assert "\x1b" not in str(caught.value) and len(str(caught.value)) < 1000


def test_lengths_that_the_file_does_not_have(tmp_path: Path, heap):
    path = tmp_path / "crafted.dump"
    for lengths in ((1 << 63, 0), ((1 << 64) - 1, 1), (0, 1 << 62)):
        path.write_bytes(MAGIC + struct.pack("<QQ", *lengths) + bytes(32) + b"{}")
        with pytest.raises(oa.DumpError, match="truncated"):
            oa.load(path)


def test_a_short_file_takes_little_memory(tmp_path: Path):
    """Files of kilobytes that promise much, in a process that may take 1.5 GiB more."""
    files = []
    for number, text in enumerate((b"[" * 1_000_000, b"[[],[],", b'{"classes": [' + b"{}," * 9999)):
        files.append(tmp_path / f"{number}.dump")
        write_text(files[-1], text)
    files.append(tmp_path / "sparse.dump")
    with open(files[-1], "wb") as file:
        file.truncate(1 << 42)
    code = (
        "import sys, sharedoa as oa\n"
        "heap = oa.Heap('auto', 'cpu', capacity='16MiB')\n"
        "for path in sys.argv[1:]:\n"
        "    try: heap.load(path)\n"
        "    except oa.DumpError as error: print('refused', error.message[:60])\n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, files)],
        capture_output=True, text=True, timeout=120, preexec_fn=limit, check=True,
    )  # fmt: skip
    assert done.stdout.count("refused") == len(files)


def test_a_fifo_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    code = "import sys, sharedoa as oa\noa.Heap('auto', 'cpu', capacity='1MiB').load(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "fifo")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "DumpError" in done.stderr and "not a regular file" in done.stderr
