"""Files of users, and from anybody: dumps, caches, inputs of programs, what is written."""

from __future__ import annotations

import gzip
import json
import os
import stat
import sys
import threading
import warnings
from pathlib import Path

import sharedoa as oa
from sharedoa import i32
from sharedoa.runtime import knobs
from tests.heap.crafted_dumps import CraftedDump, write_text

from .catalogue import CPU, case
from .probe import still_works
from .programs import ptxpass, sharedoa
from .verdicts import check, check_equal, refuses


class A(oa.Object):
    x: i32
    open: bool
    next: A
    data: oa.Array[i32]


class B(oa.Object):
    y: i32


class Bare(oa.Object):
    def f(self) -> i32: ...


def _dumped() -> CraftedDump:
    with oa.Heap():
        a = oa.new(A, 2, x=[1, 2], open=True)
        a.next = a[0]
        a[0].data = oa.array(i32, [1, 2, 3])
        oa.new(B, y=3)
        oa.dump("heap.dump", a=a)
    return CraftedDump.of(Path("heap.dump"))


def _refused(crafted: CraftedDump, *words: str) -> None:
    crafted.write(Path("heap.dump"))
    with oa.Heap() as heap:
        with refuses(oa.DumpError, *words):
            oa.load("heap.dump")
        check_equal(heap.stats().objects, 0, "objects after a refused dump")
        still_works()


@case(debug=False, backends=CPU, sample=True)
def a_dump_with_a_reference_of_another_class() -> None:
    """A field refers to an object of a class that it cannot have."""
    crafted = _dumped()
    place = 2 * 4 + 2  # after x and open of both
    crafted.blocks[place : place + 8] = (2 << 40).to_bytes(8, "little")
    _refused(crafted, "A.next refers to no A")


@case(debug=False, backends=CPU)
def a_dump_with_an_array_that_is_too_long() -> None:
    """A field has more elements than its array."""
    crafted = _dumped()
    place = 2 * 4 + 2 + 2 * 8 + 8
    crafted.blocks[place : place + 8] = (1 << 60).to_bytes(8, "little")
    _refused(crafted, "A.data reaches beyond")


@case(debug=False, backends=CPU)
def a_dump_with_a_bool_of_seven() -> None:
    """A bool is neither true nor false."""
    crafted = _dumped()
    crafted.blocks[2 * 4] = 7
    _refused(crafted, "A.open is neither true nor false")


@case(debug=False, backends=CPU)
def a_dump_of_more_objects_than_bytes() -> None:
    """A file of a kilobyte says that it has 10^15 objects."""
    crafted = _dumped()
    crafted.description["classes"][1]["count"] = 10**15
    _refused(crafted, "contradicts itself", "bytes of data")


@case(debug=False, backends=CPU)
def a_dump_of_an_abstract_class() -> None:
    """The objects' class has no body for a method."""
    entry = {"class": [Bare.__module__, "Bare"], "fields": [], "count": 1}
    crafted = CraftedDump({"classes": [entry], "arrays": [], "roots": {}}, bytearray(1))
    _refused(crafted, "Bare is abstract")


@case(debug=False, backends=CPU)
def a_dump_that_is_deep() -> None:
    """The description is nested a hundred thousand times."""
    write_text(Path("heap.dump"), b"[" * 100_000)
    with refuses(oa.DumpError, "contradicts itself"):
        oa.load("heap.dump")
    still_works()


@case(debug=False, backends=CPU)
def a_dump_that_is_a_fifo() -> None:
    """Nobody writes to it."""
    os.mkfifo("heap.dump")
    with refuses(oa.DumpError, "not a regular file"):
        oa.load("heap.dump")
    with refuses(oa.DumpError, "is no file"):
        oa.dump("heap.dump")


@case(debug=False, backends=CPU)
def a_link_in_place_of_the_unfinished_dump() -> None:
    """Somebody has put links where unfinished dumps could be written to."""
    victim = Path("victim")
    victim.write_text("precious")
    for name in (f"heap.dump.{os.getpid()}.part", "heap.dump.part", ".heap.dump.unfinished"):
        Path(name).symlink_to(victim)
    oa.new(A, 3)
    oa.dump("heap.dump")
    check_equal(victim.read_text(), "precious", "the file behind the links")


@case(debug=False, backends=CPU)
def a_dump_over_a_private_file() -> None:
    """The file that is replaced was for its owner's eyes."""
    Path("heap.dump").touch(mode=0o600)
    oa.dump("heap.dump")
    check_equal(stat.S_IMODE(os.stat("heap.dump").st_mode), 0o600, "the file's mode")


@case(debug=False, backends=CPU)
def dumps_of_several_threads_to_one_file() -> None:
    """Whichever is last, the file is whole."""

    def dump_often(count: int) -> None:
        with oa.Heap(capacity="16MiB") as heap:
            heap.new(A, count)
            for _ in range(10):
                heap.dump("heap.dump")

    threads = [threading.Thread(target=dump_often, args=(count,)) for count in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    oa.load("heap.dump")
    check(1 <= len(oa.all(A)) <= 4, "the dump is none of those that were written")
    left = [name for name in os.listdir() if name.endswith((".part", ".unfinished"))]
    check_equal(left, [], "what is left of unfinished files")


@oa.kernel
def _double(a: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i < len(a):
        a[i] = a[i] * 2


def _launch() -> None:
    numbers = oa.array(i32, [1, 2, 3])
    _double[3](numbers)
    check_equal(numbers.numpy(), [2, 4, 6])


@case(debug=False, backends=CPU)
def a_cache_that_all_may_write_to() -> None:
    """It is not used, and that is said."""
    folder = Path("cache")
    folder.mkdir()
    folder.chmod(0o777)
    with knobs.scope(cache_dir=folder), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        _launch()
    check(any("others may write to it" in str(each.message) for each in said), "nothing was said")
    check_equal(os.listdir(folder), [], "the folder's files")
    sharedoa("cache", SHAREDOA_CACHE_DIR=str(folder)).refused("others may write to it", "chmod")


@case(debug=False, backends=CPU)
def fifos_in_the_cache() -> None:
    """Every entry is a FIFO, and is put in order."""
    folder = Path("cache").absolute()
    with knobs.scope(cache_dir=folder):
        _launch()
        entries = list(folder.iterdir())
        check(entries, "nothing was kept")
        for entry in entries:
            entry.unlink()
            os.mkfifo(entry)
        sharedoa("cache", "list", SHAREDOA_CACHE_DIR=str(folder)).well()
        with oa.Heap():
            _launch()


@case(debug=False, backends=CPU)
def an_absurd_capacity() -> None:
    """More than any machine has."""
    with refuses(oa.ConfigurationError, "1,125,899,906,842,624", "memory"):
        oa.Heap(capacity="1024TiB")
    still_works()


def _program(name: str, program: str, content: bytes, *words: str, options: str = "") -> None:
    Path(name).write_bytes(content)
    sharedoa("run", program, "--input", name, *options.split()).refused(name, *words)


@case(debug=False, backends=CPU)
def a_matrix_that_ends_in_a_number() -> None:
    """The last line of a Matrix Market file has no end and lacks a value."""
    text = b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3"
    _program("a.mtx", "bfs", text, "2 fields instead of 3")


@case(debug=False, backends=CPU)
def a_matrix_of_a_million_million_entries() -> None:
    """The file has one."""
    text = b"%%MatrixMarket matrix coordinate pattern general\n3 3 1000000000000\n1 2\n"
    _program("a.mtx", "bfs", text, "it has 1 of 1000000000000 entries")


@case(debug=False, backends=CPU)
def a_metis_number_that_is_too_long() -> None:
    """It has 5,000 digits."""
    _program("a.graph", "bfs", b"2 1\n" + b"9" * 5000 + b"\n1\n", "not a whole number")


@case(debug=False, backends=CPU)
def a_graph_of_few_bytes_and_many_vertices() -> None:
    """One edge leads to vertex 90,000,000."""
    _program("a.txt", "bfs", b"0 1\n5 90000000\n", "vertices")


@case(debug=False, backends=CPU)
def a_compressed_graph_that_unpacks_to_much() -> None:
    """A file of 70 KB holds 68 MB."""
    _program("a.txt.gz", "bfs", gzip.compress(b"0 1\n" * (17 << 20)), "MiB of text")


@case(debug=False, backends=CPU)
def a_scene_with_a_key_of_many_parts() -> None:
    """A dotted key of 100 KB."""
    text = b"a." * 50_000 + b"b = 1\n"
    _program("a.toml", "raytracer", text, "32 parts", options="--natural")


@case(debug=False, backends=CPU)
def a_picture_of_more_pixels_than_bytes() -> None:
    """The header of a PGM picture says 16,000 x 16,000, and there are 1,000."""
    text = b"P5\n16000 16000 255\n" + bytes(1000)
    _program("a.pgm", "game_of_life", text, "truncated")


@case(debug=False, backends=CPU)
def ptx_with_long_numbers_and_deep_brackets() -> None:
    """Each is refused with its line."""
    head = ".version 8.0\n.target sm_80\n.address_size 64\n.func f() {\n"
    for line in ("mov.b64 %rd1, " + "9" * 5000, "mov.b64 %rd1, " + "(" * 9999):
        Path("a.ptx").write_text(f"{head}{line};\n}}\n")
        ptxpass("a.ptx", "--mode", "coal", "-o", "b.ptx").refused("a.ptx:5")
        check(not os.path.exists("b.ptx"), "something was written")


@case(debug=False, backends=CPU)
def a_dump_that_says_something_twice() -> None:
    """A name occurs twice in the description."""
    text = json.dumps({"classes": [], "arrays": [], "roots": {}})[:-1] + ', "roots": {}}'
    write_text(Path("heap.dump"), text.encode())
    with refuses(oa.DumpError, "occurs twice"):
        oa.load("heap.dump")


@case(debug=False, backends=CPU)
def a_short_dump_that_asks_for_much() -> None:
    """A sparse file of 4 TiB that begins like a dump."""
    Path("heap.dump").write_bytes(b"sharedoa dump 2\n" + b"\xff" * 48)
    os.truncate("heap.dump", 1 << 42 if sys.platform == "linux" else 1 << 33)
    with refuses(oa.DumpError, "truncated"):
        oa.load("heap.dump")
