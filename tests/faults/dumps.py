"""Dumps that are damaged, crafted, or of other programs."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import i32

from .catalogue import CPU, case
from .probe import still_works
from .programs import program
from .verdicts import Unclear, check, check_equal, may_refuse, refuses

PATH = "heap.dump"
#: Magic, two lengths, checksum: ``sharedoa/heap/dump_file.py``.
_START = 16 + 16 + 32


class Base(oa.Object):
    x: i32
    ok: bool
    next: Base
    items: oa.Array[i32]
    friends: oa.Array[Base]


class Leaf(Base):
    leaf: Leaf


class Abstract(oa.Object):
    n: i32

    def get(self) -> i32: ...


def dumped() -> None:
    many = oa.new(Base, 10, x=range(10), ok=True)
    leaves = oa.new(Leaf, 4, x=5)
    many.next = many[0]
    leaves.next = many[1]
    leaves.leaf = leaves[0]
    many[2].items = oa.array(i32, range(50))
    many[3].friends = oa.concat(leaves, many)
    oa.dump(PATH, many=many, leaves=leaves, one=many[3])
    oa.delete(leaves)
    oa.delete(many)


def crafted(change: Callable[[dict[str, Any], bytearray], None]) -> None:
    """Change the description and the blocks, and make lengths and checksum fit again."""
    data = Path(PATH).read_bytes()
    size, rest = struct.unpack_from("<QQ", data, 16)
    description = json.loads(data[_START : _START + size])
    blocks = bytearray(data[_START + size :])
    change(description, blocks)
    text = json.dumps(description).encode()
    body = text + bytes(blocks)
    head = data[:16] + struct.pack("<QQ", len(text), len(blocks))
    Path(PATH).write_bytes(head + hashlib.sha256(body).digest() + body)


def refused_load(*words: str) -> None:
    before = oa.current_heap().stats().objects
    with refuses((oa.DumpError, oa.HeapError), *(words or ("dump",))):
        oa.load(PATH)
    check_equal(oa.current_heap().stats().objects, before, "objects after a refused load")
    still_works()


def refused_when(change: Callable[[dict[str, Any], bytearray], None], *words: str) -> None:
    dumped()
    crafted(change)
    refused_load(*words)


@case(debug=False, sample=True)
def good() -> None:
    """A dump that nobody has touched, and one that was taken apart and put together."""
    dumped()
    for _ in range(2):
        roots = oa.load(PATH)
        check_equal(roots["many"].x.numpy(), range(10))
        check_equal(len(roots["one"].friends), 14)
        crafted(lambda description, blocks: None)


@case(debug=False)
def cut_anywhere() -> None:
    """A dump is cut off at two hundred places."""
    dumped()
    whole = Path(PATH).read_bytes()
    for size in [*range(0, 120, 3), *range(120, len(whole), max(1, len(whole) // 160))]:
        Path(PATH).write_bytes(whole[:size])
        with refuses(oa.DumpError, "dump|truncated|version"):
            oa.load(PATH)
    check_equal(oa.current_heap().stats().objects, 0)
    still_works()


@case(debug=False)
def flipped_anywhere() -> None:
    """A bit of a dump is flipped at two hundred places."""
    dumped()
    whole = Path(PATH).read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 200)):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        Path(PATH).write_bytes(changed)
        with refuses(oa.DumpError, "dump|truncated|damaged|version"):
            oa.load(PATH)
    check_equal(oa.current_heap().stats().objects, 0)
    still_works()


@case(debug=False)
def length_of_an_array() -> None:
    """An array in a root is said to be longer than its memory."""
    refused_when(lambda d, b: d["roots"]["many"].update(length=10**6), "length|array|contradict")


@case(debug=False)
def negative_length() -> None:
    """An array in a root has a negative length."""
    refused_when(lambda d, b: d["roots"]["many"].update(length=-1), "length|array|contradict")


@case(debug=False)
def huge_size() -> None:
    """An array is said to have 2**60 bytes."""
    refused_when(lambda d, b: d["arrays"][0].update(size=2**60), "size|large|room|contradict|bytes")


@case(debug=False)
def huge_count() -> None:
    """A class is said to have 2**50 objects."""
    refused_when(
        lambda d, b: d["classes"][0].update(count=2**50), "count|objects|large|room|contradict"
    )


@case(debug=False)
def negative_count() -> None:
    """A class is said to have -5 objects."""
    refused_when(lambda d, b: d["classes"][0].update(count=-5), "count|objects|contradict")


@case(debug=False)
def fractional_count() -> None:
    """A class is said to have 9.5 objects."""
    refused_when(lambda d, b: d["classes"][0].update(count=9.5), "count|objects|contradict")


@case(debug=False)
def references_out_of_range() -> None:
    """References name objects that there are not."""

    def change(description: dict[str, Any], blocks: bytearray) -> None:
        # x and ok come first; then the references of ``next``.
        blocks[50:130] = np.arange(10**6, 10**6 + 10, dtype=np.uint64).tobytes()

    refused_when(change, "refer|object|contradict")


@case(debug=False)
def references_of_another_class() -> None:
    """References to Leaf name objects of Base."""

    def change(description: dict[str, Any], blocks: bytearray) -> None:
        names = [entry["class"][1] for entry in description["classes"]]
        leaf = names.index("Leaf")
        # Every value of the last field of Leaf that is not null: code 1 is the first object.
        size = sum(_bytes_of(entry) for entry in description["classes"][: leaf + 1])
        blocks[size - 32 : size] = np.full(4, 1, np.uint64).tobytes()

    refused_when(change, "class|refer|Leaf|contradict")


def _bytes_of(entry: dict[str, Any]) -> int:
    each = 0
    for _, kind in entry["fields"]:
        if kind == "i32":
            each += 4
        elif kind == "bool":
            each += 1
        else:
            each += 16 if "array" in kind else 8
    return each * int(entry["count"])


@case(debug=False)
def bytes_of_bools() -> None:
    """Bools of 2 and 255."""

    def change(description: dict[str, Any], blocks: bytearray) -> None:
        blocks[40:50] = bytes([2, 255] * 5)

    dumped()
    crafted(change)
    with may_refuse(oa.DumpError, "bool|contradict"):
        found = oa.load(PATH)["many"].ok.numpy().view(np.uint8)
        check(set(found.tolist()) <= {0, 1}, "a bool of another byte")


@case(debug=False)
def root_of_no_object() -> None:
    """A root names an object that there is not."""
    refused_when(lambda d, b: d["roots"]["one"].update(object=10**9), "one|root|object|contradict")


@case(debug=False)
def root_of_another_type() -> None:
    """A root says that an array of objects is one of numbers."""
    refused_when(lambda d, b: d["roots"]["many"].update(element="f64"), "many|root|element|contra")


@case(debug=False)
def unknown_scalar() -> None:
    """An array of a type that there is not."""
    refused_when(lambda d, b: d["arrays"][0].update(element="f128"), "f128|type|contradict")


@case(debug=False)
def description_of_other_kinds() -> None:
    """Parts of the description are of other JSON kinds."""
    for change in (
        lambda d, b: d.update(classes=5),
        lambda d, b: d.update(classes={}),
        lambda d, b: d.update(arrays=None),
        lambda d, b: d.update(roots=[]),
        lambda d, b: d.pop("roots"),
        lambda d, b: d["classes"][0].pop("fields"),
        lambda d, b: d["classes"][0].update(fields=[["x"]]),
        lambda d, b: d["classes"][0].update(fields="abc"),
        lambda d, b: d["classes"][0].update({"class": "Base"}),
        lambda d, b: d["classes"][0].update({"class": [1, 2]}),
        lambda d, b: d["classes"].append(d["classes"][0]),
        lambda d, b: d["roots"].update(many=7),
        lambda d, b: d["roots"]["many"].pop("array"),
    ):
        refused_when(change, "dump|contradict|changed")


@case(debug=False)
def not_json() -> None:
    """The description is no JSON, or nests a hundred thousand deep."""
    for text in (b"{", b"\xff\xfe", b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b"5", b""):
        head = b"sharedoa dump 1\n" + struct.pack("<QQ", len(text), 0)
        Path(PATH).write_bytes(head + hashlib.sha256(text).digest() + text)
        with refuses(oa.DumpError, "dump"):
            oa.load(PATH)


@case(debug=False)
def huge_number_in_json() -> None:
    """A number of a hundred thousand digits in the description."""
    text = b'{"classes": [], "arrays": [], "roots": ' + b"9" * 100_000 + b"}"
    head = b"sharedoa dump 1\n" + struct.pack("<QQ", len(text), 0)
    Path(PATH).write_bytes(head + hashlib.sha256(text).digest() + text)
    with refuses(oa.DumpError, "dump"):
        oa.load(PATH)


@case(debug=False)
def abstract_class() -> None:
    """A dump holds objects of a class that is abstract here."""

    def change(description: dict[str, Any], blocks: bytearray) -> None:
        description.update(
            classes=[{"class": [__name__, "Abstract"], "fields": [["n", "i32"]], "count": 2}],
            arrays=[],
            roots={},
        )
        blocks[:] = bytes(8)

    refused_when(change, "abstract")


@case(debug=False)
def other_files() -> None:
    """Files that are no dumps: empty, text, a folder, a device, nothing."""
    Path("empty").write_bytes(b"")
    Path("text").write_text("hello" * 1000)
    Path("zip").write_bytes(b"PK\x03\x04" + bytes(100))
    for name in ("empty", "text", "zip", "/dev/null"):
        with refuses(oa.DumpError, "dump"):
            oa.load(name)
    for name in (".", "missing"):
        with refuses((oa.DumpError, OSError), name):
            oa.load(name)


@case(debug=False, backends=CPU)
def endless_file() -> None:
    """``oa.load`` of /dev/zero and of a FIFO does not hang."""
    with refuses(oa.DumpError, "dump"):
        oa.load("/dev/zero")
    os.mkfifo("pipe")
    with refuses((oa.DumpError, OSError), "pipe|dump"):
        oa.load("pipe")


@case(debug=False, backends=CPU)
def sparse_file() -> None:
    """A sparse file of 40 GiB that begins like a dump."""
    dumped()
    with open(PATH, "r+b") as file:
        file.truncate(40 << 30)
    with refuses(oa.DumpError, "truncated|damaged|large|appended"):
        oa.load(PATH)


@case(debug=False)
def class_changed() -> None:
    """The class has other fields than when the heap was dumped."""
    program(
        """
import sys
import sharedoa as oa
from sharedoa import i32, f32
class C(oa.Object):
    x: i32
oa.new(C, 3, x=7)
oa.dump("c.dump")
class C(oa.Object):
    x: f32
    y: i32
try:
    oa.load("c.dump")
except oa.DumpError as error:
    assert "x has another type" in str(error) and "y is new" in str(error), error
    print("good")
"""
    ).well("good")


@case(debug=False)
def class_missing() -> None:
    """The class of dumped objects does not exist in the program."""
    dumped()
    program(
        """
import sharedoa as oa
try:
    oa.load("heap.dump")
except oa.DumpError as error:
    assert "dumps.Base" in str(error) and "import" in str(error), error
    print("good")
"""
    ).well("good")


@case(debug=False, backends=CPU)
def planted_link() -> None:
    """Somebody has planted links where a temporary file might be written."""
    victim = Path("victim")
    victim.write_text("precious")
    folder = Path("shared")
    folder.mkdir()
    for name in (f"{PATH}.{os.getpid()}.part", f"{PATH}.part", f".{PATH}.tmp", f"{PATH}.tmp"):
        (folder / name).symlink_to(victim.absolute())
    oa.new(Base, 10, x=1)
    oa.dump(folder / PATH)
    check_equal(victim.read_text(), "precious", "the file behind the link")
    check((folder / PATH).is_file() and not (folder / PATH).is_symlink(), "no dump")


@case(debug=False, backends=CPU)
def by_two_threads() -> None:
    """Threads dump to one file."""
    import threading

    many = oa.new(Base, 1000, x=1)
    heap = oa.current_heap()
    errors: list[str] = []

    def work() -> None:
        with heap:
            for _ in range(15):
                try:
                    heap.dump(PATH, many=many)
                except Exception as error:
                    errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Unclear(f"{len(errors)} dumps failed: {errors[0]}")
    with oa.Heap():
        check_equal(len(oa.load(PATH)["many"]), 1000)
    check(not [n for n in os.listdir(".") if "part" in n or "tmp" in n], "temporary files are left")


@case(debug=False, backends=CPU)
def mode_of_the_file() -> None:
    """A dump over a file of mode 0600 stays 0600; a new one follows the umask."""
    oa.new(Base, 3)
    Path(PATH).write_text("")
    os.chmod(PATH, 0o600)
    oa.dump(PATH)
    check_equal(oct(os.stat(PATH).st_mode & 0o777), "0o600")
    os.umask(0o027)
    oa.dump("new.dump")
    check_equal(oct(os.stat("new.dump").st_mode & 0o777), "0o640")


@case(debug=False, backends=CPU)
def into_a_full_disk() -> None:
    """The disk fills while a dump is written: the old one stays."""
    import resource

    many = oa.new(Base, 100_000, x=1)
    oa.dump(PATH, many=many[:10])
    before = Path(PATH).read_bytes()
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    with refuses((OSError, oa.DumpError), "large|space|written"):
        oa.dump(PATH, many=many)
    check(Path(PATH).read_bytes() == before, "the old dump has changed")
    check(not [n for n in os.listdir(".") if "part" in n or "tmp" in n], "temporary files are left")
    still_works()


@case(debug=False)
def deleted_objects_in_it() -> None:
    """A heap with references to deleted objects is dumped: refused, with a cure."""
    one, other = oa.new(Base, x=1), oa.new(Base, x=2)
    one.next = other
    oa.delete(other)
    with refuses(oa.DumpError, "deleted", "None"):
        oa.dump(PATH)


@case(debug=False)
def great_heaps() -> None:
    """Half a million objects with references, there and back."""
    many = oa.new(Base, 500_000, x=np.arange(500_000))
    many.next = many[::-1]
    oa.dump(PATH, many=many)
    with oa.Heap():
        loaded = oa.load(PATH)["many"]
        check((loaded.next.x.numpy() == np.arange(499_999, -1, -1)).all(), "another order")
