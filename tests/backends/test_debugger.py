"""What debuggers are told of code for the CPU: names, lines and places, while it is there."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.backends import debugger, native_code
from sharedoa.backends.cpu import CpuBackend
from sharedoa.backends.object_file import _headers, symbols
from sharedoa.runtime import knobs

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")


class Shape(oa.Object):
    size: f32

    def area(self) -> f32: ...


class Square(Shape):
    def area(self) -> f32:
        return math.sin(self.size)


class Circle(Shape):
    def area(self) -> f32:
        return self.size * 3.0


def told() -> Iterator[bytes]:
    """Object files in the list that debuggers read, newest first."""
    found = debugger._list()
    assert found is not None and found._descriptor.version == 1
    at, previous = found._descriptor.first, 0
    while at:
        entry = debugger._Entry.from_address(at)
        assert entry.previous == previous
        yield ctypes.string_at(entry.file, entry.bytes)
        at, previous = entry.next, at


def places(file: bytes) -> dict[str, int]:
    """Addresses of symbols by what the file says of its sections."""
    begins = [int.from_bytes(file[at + 16 : at + 24], "little") for at in _headers(file)]
    return {each.name: begins[each.section] + each.offset for each in symbols(file)}


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Symbols of kernels that are loaded, and their addresses."""
    found: list[tuple[str, int]] = []
    whole = CpuBackend.load

    def load(backend, symbol, *given, **named):
        kernel = whole(backend, symbol, *given, **named)
        found.append((symbol, kernel.library.address(symbol)))
        return kernel

    monkeypatch.setattr(CpuBackend, "load", load)
    return found


def run(lines: bool) -> None:
    @oa.kernel
    def areas(shapes: oa.Array[Shape], out: oa.Array[f32]) -> None:
        out[oa.grid(1)] = shapes[oa.grid(1)].area()

    with (
        knobs.scope(lines=lines, cache_dir="off", specialise=False),
        oa.Heap(backend="cpu", capacity="64MiB"),
    ):
        shapes, out = oa.zeros(2, Shape), oa.zeros(2, f32)
        shapes[0], shapes[1] = oa.new(Square, size=2.0), oa.new(Circle, size=2.0)
        areas[2](shapes, out)
        assert out.numpy().tolist() == [pytest.approx(math.sin(2.0)), 6.0]


def test_code_with_lines_is_told_and_where_it_lies(loaded) -> None:
    run(lines=True)
    ((symbol, address),) = loaded
    file = next(each for each in told() if symbol in places(each))
    found = places(file)
    assert found[symbol] == address and found["sharedoa_state"] > 0
    assert b".debug_line\0" in file and b".debug_frame\0" in file and b"Circle.area\0" in file


@pytest.mark.parametrize("is_debugged", [False, True])
def test_other_code_is_told_to_a_debugger_that_is_there(loaded, monkeypatch, is_debugged) -> None:
    monkeypatch.setattr(debugger, "is_debugged", lambda: is_debugged)
    run(lines=False)
    ((symbol, address),) = loaded
    assert (address in [places(each).get(symbol) for each in told()]) == is_debugged


def test_entries_leave_the_list_in_any_order() -> None:
    class Library:
        pass

    two = "define i32 @six() {\n  ret i32 6\n}\ndefine i32 @seven() {\n  ret i32 7\n}"
    code = native_code.assembled(two, "two") + b".debug_line\0"
    before = [*told()]
    libraries = [Library() for _ in range(3)]
    for number, library in enumerate(libraries):
        debugger.announce(library, code, {"seven": 4096 * (number + 1)})
    del library
    assert [places(each)["seven"] for each in [*told()][:3]] == [12288, 8192, 4096]
    for at, left in ((1, [12288, 4096]), (1, [4096]), (0, [])):
        gone = weakref.ref(libraries.pop(at))
        assert gone() is None
        kept = [*told()]
        assert [places(each)["seven"] for each in kept[: len(left)]] == left
        assert kept[len(left) :] == before


def test_a_library_without_symbols_is_no_place_to_tell(tmp_path) -> None:
    assert not debugger.is_debugged()
    file = tmp_path / "stripped"
    file.write_bytes(native_code.assembled("define i32 @seven() {\n  ret i32 7\n}", "seven"))
    with file.open("rb") as opened:
        assert debugger._local_symbols(opened.fileno(), ("seven",)) == [0]
        assert debugger._local_symbols(opened.fileno(), ("seven", "eight")) is None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_gdb_stops_at_a_line_of_a_method_and_finds_its_callers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import tests.backends.test_debugger as here\nhere.run(lines=True)\n")
    lines = Path(__file__).read_text().splitlines()
    at = lines.index("        return self.size * 3.0") + 1
    commands = tmp_path / "commands"
    commands.write_text(
        "set breakpoint pending on\nset pagination off\nset confirm off\n"
        f"tbreak test_debugger.py:{at}\nrun\nbt\n"
    )
    done = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", "-x", commands, "--args", sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "hit" not in done.stdout and "ptrace" in done.stderr:
        pytest.skip("no process may be traced here")
    stack = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert f"Circle.area () at {__file__}:{at}" in stack[0], done.stdout + done.stderr
    assert f"areas () at {__file__}" in stack[1]
    # And out of our code, to where Python began.
    assert any(" call_guarded ()" in line for line in stack) and "_start ()" in stack[-1]
