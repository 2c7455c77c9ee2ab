"""What a kernel's code is found by: everything that changes it, nothing else; in any process."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import sharedoa as oa
from sharedoa.runtime import code_cache
from sharedoa.targets import libdevice
from sharedoa.targets.nvptx import NvptxTarget
from tests import forked

ROOT = Path(__file__).parents[2]

_PROGRAM = """
import sharedoa as oa
from sharedoa import f32, f64, i32
SCALE = 2.0
FIXED = 7

def unrelated(x):
    return x + 1

@oa.func
def rounded(x: f32) -> f32:
    return x + 0.5

class Shape(oa.Object):
    def area(self) -> f32: ...

class Square(Shape):
    size: f32

    def area(self) -> f32:
        return rounded(self.size * self.size)

class Strip(Shape):
    pieces: i32
    size: f32

    def area(self) -> f32:
        return self.pieces * self.size

# more classes

@oa.kernel
def total(shapes: oa.Array[Shape], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    out[i] = shapes[i].area() * SCALE
"""

#: Each is one component of the key: what is replaced in the program, or how it is compiled.
_ANOTHER_CODE = {
    "a field's type": ("size: f32\n\n    def area(self) -> f32:\n        return self.pieces",
                       "size: f64\n\n    def area(self) -> f32:\n        return self.pieces"),
    "the order of fields": ("    pieces: i32\n    size: f32\n", "    size: f32\n    pieces: i32\n"),
    "one more field": ("    pieces: i32\n", "    before: i32\n    pieces: i32\n"),
    "a method's body": ("self.pieces * self.size", "self.pieces + self.size"),
    "a constant in a method of a callee": ("x + 0.5", "x + 0.25"),
    "a global": ("SCALE = 2.0", "SCALE = 3.0"),
    "the kernel's body": ("shapes[i].area()", "shapes[0].area()"),
    "the kernel's parameters": ("out: oa.Array[f32]", "out: oa.Array[f64]"),
    "a subclass": ("# more classes",
                   "class Dot(Shape):\n    def area(self) -> f32:\n        return 0.0"),
    "the mode": {"mode": "coal"},
    "another header": {"mode": "tag+switch"},
    "the debug setting": {"debug": True},
    "the architecture": {"architecture": "sm_80"},
    "the target": {"target": "amdgpu"},
}  # fmt: skip
_SAME_CODE = {
    "nothing": ("", ""),
    "another file": {"file": "copied.py"},
    "lines above": ("import sharedoa", "# a comment\n\nimport sharedoa"),
    "an unrelated function": ("x + 1", "x + 2"),
    "an unrelated global": ("FIXED = 7", "FIXED = 8"),
}

#: One process, a child of it for each variant: a class gets the same type index in each.
_COMPILE_VARIANTS = """
import importlib.util, json, os, sys
import sharedoa as oa
from sharedoa.runtime import launch
from sharedoa.targets.amdgpu import AmdgpuTarget
from sharedoa.targets.nvptx import NvptxTarget

def compile(file, target="nvptx", architecture="sm_90", mode="sharedoa", debug=False):
    compiled = 0

    def compile_nothing(self, text):
        nonlocal compiled
        compiled += 1
        return {"opt.ll": "", "ptx": ""}

    NvptxTarget.compile = AmdgpuTarget.compile = compile_nothing
    chosen = NvptxTarget(architecture) if target == "nvptx" else AmdgpuTarget()
    specification = importlib.util.spec_from_file_location("variant", file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    with oa.Heap(backend="cpu", mode=mode, debug=debug, capacity="128MiB") as heap:
        oa.new(module.Square, 3)
        module.total.program.compilation(heap, heap.mode, heap.debug, chosen)
    return compiled

for file, settings in json.loads(sys.argv[1]):
    read, write = os.pipe()
    if os.fork() == 0:
        status = 1
        try:
            os.write(write, str(compile(file, **settings)).encode())
            status = 0
        finally:
            os._exit(status)
    os.wait()
    os.close(write)
    print(os.read(read, 1).decode())
"""


def run(code, cache, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={
            **os.environ, "PYTHONPATH": str(ROOT), "SHAREDOA_CACHE_DIR": str(cache), **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_component_alone_makes_another_key_and_nothing_else_does(tmp_path):
    jobs = []

    def add(file, program, settings):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(program)
        jobs.append((str(path), settings))

    add("base/program.py", _PROGRAM, {})
    changes = {**_ANOTHER_CODE, **_SAME_CODE}
    for number, change in enumerate(changes.values()):
        program, settings, file = _PROGRAM, {}, "program.py"
        if isinstance(change, tuple):
            program = program.replace(*change)
            assert program != _PROGRAM or change == ("", "")
        else:
            settings = {name: value for name, value in change.items() if name != "file"}
            file = change.get("file", file)
        add(f"variant{number}/{file}", program, settings)
    file = tmp_path / "compile.py"
    file.write_text(_COMPILE_VARIANTS)
    cache = {"PYTHONPATH": str(ROOT), "SHAREDOA_CACHE_DIR": str(tmp_path / "c")}
    done = forked.run([file, json.dumps(jobs)], {**os.environ, **cache})
    assert done.returncode == 0, done.stderr
    compiled = [int(line) for line in done.stdout.split()]
    assert compiled[0] == 1
    found = dict(zip(changes, compiled[1:], strict=True))
    assert found == {**dict.fromkeys(_ANOTHER_CODE, 1), **dict.fromkeys(_SAME_CODE, 0)}


_LAUNCH = """
import sys
sys.path.insert(0, sys.argv[1])
import sharedoa as oa
from sharedoa.targets.host import HostTarget
from program import Square, total
from sharedoa.backends import thread_pool
from sharedoa.runtime import pipeline

if sys.argv[2] == "second":
    def refuse(self, *more):
        raise AssertionError("compiled again")

    HostTarget.compile = HostTarget.assemble = refuse
    pipeline.optimised = pipeline.lower = refuse
with oa.Heap(backend="cpu", capacity="128MiB"):
    if sys.argv[2] == "first":
        thread_pool._pool()  # whose code a launch that takes long needs
    squares, out = oa.new(Square, 3, size=2.0), oa.zeros(3, oa.f32)
    total[3](squares, out)
    print(out.numpy().tolist())
"""


def test_a_second_process_launches_without_compiling(tmp_path):
    (tmp_path / "program.py").write_text(_PROGRAM)
    for number, which in enumerate(("first", "second")):
        # Hashes of text differ between processes, and with them the order of sets.
        told = run(_LAUNCH, tmp_path / "c", str(tmp_path), which, PYTHONHASHSEED=str(number + 1))
        assert told.strip() == "[9.0, 9.0, 9.0]"


_INSIST = """
import sharedoa as oa

@oa.kernel
def insist(limit: oa.i32) -> None:
    assert oa.grid(1) < limit, "{text}"
"""
_FAIL = """
import sys
sys.path.insert(0, sys.argv[1])
import sharedoa as oa
from sharedoa.targets.host import HostTarget
from program import insist

if sys.argv[2] == "second":
    def refuse(self, text):
        raise AssertionError("compiled again")

    HostTarget.compile = refuse
with oa.Heap(backend="cpu", capacity="128MiB"):
    try:
        insist[1](0)
        oa.synchronize()
    except oa.DeviceError as error:
        print(error.message.splitlines()[0].partition("an assertion failed: ")[2])
"""


def test_code_from_the_cache_says_what_the_assertions_of_now_say(tmp_path):
    for which, text in (("first", "too far"), ("second", "far too far")):
        (tmp_path / "program.py").write_text(_INSIST.format(text=text))
        assert run(_FAIL, tmp_path / "c", str(tmp_path), which).strip() == text


@oa.kernel
def _sine(out: oa.Array[oa.f32]) -> None:
    i = oa.grid(1)
    out[i] = math.sin(out[i])


@oa.kernel
def _twice(out: oa.Array[oa.f32]) -> None:
    i = oa.grid(1)
    out[i] = out[i] * 2.0


def _dispatched(kernel: Any) -> str:
    with oa.Heap(backend="cpu"):
        return str(kernel.compile("nvptx").products["dispatch.ll"])


def test_code_for_nvidia_depends_on_the_math_library(monkeypatch):
    sine, none = (_dispatched(kernel) for kernel in (_sine, _twice))
    target = NvptxTarget()
    before = code_cache.key_of(target, sine), code_cache.key_of(target, none)
    monkeypatch.setattr(libdevice, "fingerprint", lambda: "another")
    assert code_cache.key_of(target, sine) != before[0]
    # What takes no function of the library is the same code with any.
    assert code_cache.key_of(target, none) == before[1]


def test_without_the_math_library_there_is_a_fingerprint_still(monkeypatch):
    monkeypatch.setattr(libdevice, "_candidate_folders", lambda: iter(()))
    libdevice.find_libdevice.cache_clear()
    libdevice.fingerprint.cache_clear()
    try:
        assert libdevice.fingerprint() == "none"
    finally:
        libdevice.fingerprint.cache_clear()
