"""Dump and load."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa.heap import dump_file
from sharedoa.heap.dump_types import describe_type, find_element
from sharedoa.model.types import ReferenceType

from .conftest import MODES
from .shapes import Circle, Node, Point, Ring, Shape, Square


def new_heap(mode="auto", layout="aos", **settings):
    return oa.Heap(mode, "cpu", layout, capacity="64MiB", initial_region=8, **settings)


def fill():
    """Objects of every kind that refer to each other, and two roots."""
    circles = oa.new(Circle, 5, number=range(5), radius=np.arange(5) / 2)
    squares = oa.new(Square, 3, side=[1, 2, 3], flag=[True, False, True])
    ring = oa.new(Ring, inner=0.25, next=circles[4])
    circles.next = oa.concat(squares, circles[:1], oa.array(Shape, [ring]))
    oa.delete(circles[1])
    nodes = oa.new(Node, 3, small=-3, wide=1 << 50, where=Point(1.5, 2.5), weights=[1, 2, 3])
    nodes[0].children = [nodes[2], None]
    nodes[1].shape = ring
    data = oa.array(oa.i32, range(10))
    nodes[0].data = data
    nodes[1].data = data[3:6]
    nodes[2].friends = oa.array(Node, [nodes[0], None, nodes[2]])
    return nodes, data


def check(nodes, data):
    circles = {c.number: c for c in oa.all(Circle) if type(c) is Circle}
    assert sorted(circles) == [0, 2, 3, 4]
    assert [circles[i].radius for i in sorted(circles)] == [0, 1, 1.5, 2]
    (ring,) = oa.all(Ring)
    assert ring.inner == 0.25 and ring.next == circles[4] and circles[4].next == ring
    assert type(circles[0].next) is Square and circles[0].next.side == 1 and circles[0].next.flag
    assert circles[3].next == circles[0] and circles[2].next.side == 3
    assert [(n.small, n.wide, n.where) for n in nodes] == [(-3, 1 << 50, Point(1.5, 2.5))] * 3
    assert [list(n.weights) for n in nodes] == [[1, 2, 3]] * 3
    assert list(nodes[0].children) == [nodes[2], None]
    assert nodes[1].shape == ring and nodes[0].shape is None
    assert nodes[0].data.numpy().tolist() == list(range(10)) == data.numpy().tolist()
    assert nodes[1].data.numpy().tolist() == [3, 4, 5] and len(nodes[2].data) == 0
    assert list(nodes[2].friends) == [nodes[0], None, nodes[2]]
    data[4] = 77
    assert nodes[0].data[4] == 77 == nodes[1].data[1], "one array, as before"


KINDS = [*((mode, "aos") for mode in MODES), ("auto", "tile"), ("typepointer", "tile")]


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("into", [("auto", "aos"), ("cuda", "aos"), ("coal", "tile")], ids="-".join)
def test_everything_comes_back(tmp_path, kind, into):
    path = tmp_path / "heap.dump"
    with new_heap(*kind):
        nodes, data = fill()
        oa.dump(path, nodes=nodes, data=data, second=nodes[1])
        oa.dump(path, nodes=nodes, data=data, second=nodes[1])
    with new_heap(*into):
        roots = oa.load(path)
        assert roots["second"] == roots["nodes"][1]
        check(roots["nodes"], roots["data"])
    assert os.listdir(tmp_path) == ["heap.dump"]


def test_into_a_heap_that_holds_something(tmp_path):
    path = tmp_path / "heap.dump"
    with new_heap():
        nodes, data = fill()
        oa.dump(path, nodes=nodes, data=data)
        before = len(oa.all(Node))
        other = oa.load(path)
        assert len(oa.all(Node)) == 2 * before
        assert not set(other["nodes"]) & set(nodes)
    with new_heap() as target:
        loaded = oa.load(path, target)
        assert loaded["nodes"].heap is target


def test_nothing_and_no_roots(tmp_path):
    with new_heap():
        oa.dump(tmp_path / "nothing")
        assert oa.load(tmp_path / "nothing") == {}
        oa.dump(tmp_path / "empty", a=oa.zeros(0, oa.f32), b=oa.new(Circle, 0))
        roots = oa.load(tmp_path / "empty")
        assert len(roots["a"]) == 0 and isinstance(roots["b"], oa.ObjectArray)
        oa.dump(tmp_path / "values", points=oa.array(Point, [Point(1.0, 2.0)]))
        assert oa.load(tmp_path / "values")["points"][0] == Point(1.0, 2.0)


graphs = st.integers(0, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([Circle, Square, Ring]), min_size=n, max_size=n),
        st.lists(st.none() | st.integers(0, max(n - 1, 0)), min_size=n, max_size=n),
        st.sets(st.integers(0, max(n - 1, 0))),
        st.sampled_from(KINDS),
        st.sampled_from(KINDS),
    )
)


@settings(max_examples=60)
@given(graphs)
def test_random_graphs(tmp_path_factory, graph):
    classes, targets, deleted, kind, into = graph
    path = tmp_path_factory.getbasetemp() / "graph.dump"
    gone = {i for i in deleted if i < len(classes)}
    edges = {
        i: None if t is None or t in gone else t for i, t in enumerate(targets) if i not in gone
    }
    with new_heap(*kind):
        objects = [python_class(number=i) for i, python_class in enumerate(classes)]
        for i, target in edges.items():
            objects[i].next = None if target is None else objects[target]
        for i in sorted(gone):
            oa.delete(objects[i])
        oa.dump(path)
    with new_heap(*into):
        oa.load(path)
        found = {s.number: s for s in oa.all(Shape)}
        assert found.keys() == edges.keys()
        for i, target in edges.items():
            assert type(found[i]) is classes[i]
            assert found[i].next == (None if target is None else found[target])


@pytest.fixture
def dumped(tmp_path):
    path = tmp_path / "heap.dump"
    with new_heap():
        nodes, data = fill()
        oa.dump(path, nodes=nodes, data=data)
    return path


class TestRefusals:
    def test_truncated_at_every_place(self, dumped):
        data = dumped.read_bytes()
        places = {*range(0, 80, 7), *range(80, len(data), len(data) // 40)}
        with new_heap() as heap:
            for length in sorted(places):
                dumped.write_bytes(data[:length])
                with pytest.raises(oa.DumpError, match=r"truncated|no dump of a heap|another ver"):
                    oa.load(dumped)
            assert heap.stats().objects == 0

    def test_any_bit_that_flips(self, dumped):
        data = bytearray(dumped.read_bytes())
        rng = np.random.default_rng(5)
        with new_heap() as heap:
            for place in [0, 20, 33, *rng.integers(0, len(data), 40)]:
                data[place] ^= 4
                dumped.write_bytes(data)
                with pytest.raises(oa.DumpError):
                    oa.load(dumped)
                data[place] ^= 4
            assert heap.stats().objects == 0

    @pytest.mark.parametrize("content", [b"", b"GIF89a", b"sharedoa dump 9\n" + bytes(100)])
    def test_foreign_files(self, tmp_path, content):
        path = tmp_path / "file"
        path.write_bytes(content)
        with new_heap(), pytest.raises(oa.DumpError, match=r"no dump of a heap|another version"):
            oa.load(path)

    def test_a_file_that_is_not_there(self, tmp_path):
        with new_heap(), pytest.raises(FileNotFoundError):
            oa.load(tmp_path / "none")

    def test_appended_bytes(self, dumped):
        dumped.write_bytes(dumped.read_bytes() + b"x")
        with new_heap(), pytest.raises(oa.DumpError, match="has something appended"):
            oa.load(dumped)

    def test_a_description_that_contradicts_itself(self, dumped):
        description, _ = dump_file.read(dumped)
        blocks = [np.frombuffer(dumped.read_bytes()[-400:], np.uint8)]
        description["classes"][0]["count"] = 10_000
        dump_file.write(dumped, description, blocks)
        with new_heap() as heap:
            with pytest.raises(oa.DumpError, match="contradicts itself"):
                oa.load(dumped)
            assert heap.stats().objects == 0

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            (
                lambda c: c.update({"class": ["gone", "Away"]}),
                "needs the class gone.Away.*\n.*import gone",
            ),
            (lambda c: c.update({"class": [Point.__module__, "Point"]}), "no shared class"),
            (lambda c: c["fields"].pop(), "radius is new"),
            (lambda c: c["fields"].append(["old", "f32"]), "old is gone"),
            (lambda c: c["fields"][0].__setitem__(1, "f64"), "number has another type"),
            (lambda c: c["fields"].reverse(), "another order"),
        ],
    )
    def test_other_classes(self, dumped, change, text):
        description, _ = dump_file.read(dumped)
        (circle,) = [c for c in description["classes"] if c["class"][1] == "Circle"]
        change(circle)
        dump_file.write(dumped, description, [])
        with new_heap() as heap:
            with pytest.raises(oa.DumpError, match=text):
                oa.load(dumped)
            assert heap.stats().objects == 0

    def test_no_room(self, dumped):
        with oa.Heap(mode="auto", backend="cpu", capacity=4096) as heap:
            with pytest.raises(oa.HeapError, match="no room"):
                oa.load(dumped)
            assert heap.stats().objects == 0

    def test_references_to_deleted_objects(self, tmp_path):
        with new_heap():
            circles = oa.new(Circle, 2)
            circles[0].next = circles[1]
            oa.delete(circles[1])
            with pytest.raises(oa.DumpError, match=r"a reference points to 0x.*, which was del"):
                oa.dump(tmp_path / "file")
        assert os.listdir(tmp_path) == []

    def test_roots(self, tmp_path):
        with new_heap():
            elsewhere = oa.new(Circle)
        with new_heap():
            with pytest.raises(oa.ArgumentError, match="the root x of a dump is int 3"):
                oa.dump(tmp_path / "file", x=3)
            with pytest.raises(oa.ArgumentError, match="the root x lies in another heap"):
                oa.dump(tmp_path / "file", x=elsewhere)

    def test_two_classes_of_one_name(self, tmp_path):
        def define():
            class Twin(oa.Object):
                x: oa.i32

            return Twin

        with new_heap():
            for python_class in (define(), define()):
                oa.new(python_class)
            with pytest.raises(oa.DumpError, match="two classes of this heap have the name"):
                oa.dump(tmp_path / "file")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "heap.dump"
    path.write_text("precious")

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", refuse)
    with new_heap(), pytest.raises(OSError, match="disk full"):
        oa.dump(path)
    assert path.read_text() == "precious" and os.listdir(tmp_path) == ["heap.dump"]


@pytest.mark.parametrize(
    "element", [oa.f32, ReferenceType(Circle.__sharedoa__), Point.__sharedoa_value__]
)
def test_element_types_survive_json(element):
    assert find_element(json.loads(json.dumps(describe_type(element)))) == element


def test_only_files_are_replaced_or_read_whole(tmp_path):
    with oa.Heap(mode="auto", backend="cpu") as heap:
        heap.new(Circle, 3)
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(oa.DumpError, match="is no file that a dump could take the place of"):
            oa.dump(pipe)
        with pytest.raises(oa.DumpError, match="is no file"):
            oa.dump(tmp_path)
        target, link = tmp_path / "target", tmp_path / "link"
        link.symlink_to(target)
        oa.dump(link)
        assert link.is_symlink() and target.is_file()
    with oa.Heap(mode="auto", backend="cpu"):
        oa.load(link)
        assert len(oa.all(Circle)) == 3
        with pytest.raises(oa.DumpError, match="is no dump"):
            oa.load("/dev/zero")


def test_permissions_are_kept_and_nothing_planted_is_followed(tmp_path):
    path, victim = tmp_path / "heap.dump", tmp_path / "victim"
    victim.write_text("precious")
    # What the unfinished file was once called.
    (tmp_path / f"heap.dump.{os.getpid()}.part").symlink_to(victim)
    path.touch(mode=0o600)
    with new_heap() as heap:
        heap.new(Circle, 3)
        oa.dump(path)
        oa.load(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert victim.read_text() == "precious"


def test_several_threads_dump_to_one_file(tmp_path):
    path = tmp_path / "heap.dump"

    def dump_often(count):
        with new_heap() as heap:
            heap.new(Circle, count)
            for _ in range(20):
                heap.dump(path)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(dump_often, range(1, 5)))
    assert os.listdir(tmp_path) == ["heap.dump"]
    with new_heap():
        oa.load(path)
        assert 1 <= len(oa.all(Circle)) <= 4


@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_parts_of_arrays_that_nothing_refers_to_may_refer_to_what_is_gone(tmp_path, layout):
    with new_heap(layout=layout):
        friends = oa.new(Node, 6, wide=range(6))
        nodes = oa.new(Node, 3)
        nodes.friends = oa.split(friends, [2, 3, 1])
        kept = friends[3:5]
        nodes[1].friends = oa.array(Node, [friends[0]])
        oa.delete(friends[2])
        nodes[2].friends = oa.zeros(0, Node)
        oa.delete(friends[5])
        oa.dump(tmp_path / "heap", nodes=nodes, kept=kept)
    with new_heap(layout=layout):
        found = oa.load(tmp_path / "heap")
        assert [[f.wide for f in n.friends] for n in found["nodes"]] == [[0, 1], [0], []]
        assert [f.wide for f in found["kept"]] == [3, 4]
        assert len(oa.all(Node)) == 7


def test_what_is_referred_to_still_must_be_there(tmp_path):
    with new_heap():
        friends = oa.new(Node, 6)
        nodes = oa.new(Node, 3)
        nodes.friends = oa.split(friends, [2, 3, 1])
        oa.delete(friends[4])
        with pytest.raises(oa.DumpError, match="deleted"):
            oa.dump(tmp_path / "heap", nodes=nodes)


def test_an_array_that_got_objects_of_a_class_above_its_own(tmp_path):
    with new_heap():
        circles, nodes = oa.new(Circle, 2, radius=3.0), oa.new(Holder, 2)
        nodes[0].shapes = circles
        nodes[0].shapes[1] = oa.new(Square, side=7)
        oa.dump(tmp_path / "heap", nodes=nodes)
    with new_heap():
        nodes = oa.load(tmp_path / "heap")["nodes"]
        assert [type(shape) for shape in nodes[0].shapes] == [Circle, Square]
        assert nodes[0].shapes[1].side == 7


class Holder(oa.Object):
    shapes: oa.Array[Shape]
