"""Functions that methods and branches have in common are run by all of a warp's threads together,
and give the same results as if each way had run them by itself."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir.core import Program
from sharedoa.ir.passes.call_melding import meld_calls
from sharedoa.ir.passes.unused import remove_unused
from sharedoa.ir.verify import verify
from sharedoa.targets.nvptx import NvptxTarget
from tests.codegen.interpreted import InterpretedGpu
from tests.differential.effort import examples
from tests.ir.interpreter import Machine, Thing
from tests.ir.programs import program_of
from tests.source_files import PRELUDE, load_module

GPU = InterpretedGpu()
GPU.unwritten = partial(Random(1).getrandbits, 1)
#: A number that is nowhere but in the common function, once.
MARK = 77_731

_HEAD = f"""\
import sharedoa as oa
from sharedoa import i32


@oa.func
def common(x: i32, n: i32) -> i32:
    for k in range(n):
        x = x * 3 + ({MARK} ^ x)
        if x % 7 == k:
            x -= 5
    return x


class Base(oa.Object):
    seed: i32

    def go(self, x: i32) -> i32:
        return x

"""
_TAIL = """\

@oa.kernel
def run(items: oa.Array[Base], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = items[i].go(i32(i) * 37 - 11)
"""


def program(folder: Path, bodies: list[str]) -> ModuleType:
    """A module with a class for each body of ``go``, which has ``self`` and ``x``."""
    text = _HEAD
    for number, body in enumerate(bodies):
        lines = "\n".join(f"        {line}" for line in body.splitlines())
        text += f"\nclass C{number}(Base):\n    def go(self, x: i32) -> i32:\n{lines}\n\n"
    return load_module(folder, text + _TAIL)


def results(module: ModuleType, backend: object, classes: int, count: int) -> tuple[list[int], str]:
    """What the kernel computes on objects whose classes alternate, and its PTX."""
    with oa.Heap("auto", backend, capacity="16MiB") as heap:
        kinds = [getattr(module, f"C{number}") for number in range(classes)]
        items = heap.array(
            module.Base, [heap.new(kinds[n % classes], seed=n * n - 40) for n in range(count)]
        )
        out = heap.zeros(count, i32)
        module.run[count](items, out)
        found = out.numpy().tolist()
        kernel = module.run.program
        made = kernel.compilation(heap, heap.mode, False, NvptxTarget("sm_90"))
        return found, str(made.products["ptx"])


def check(bodies: list[str], count: int = 40) -> str:
    """Compare the interpreted GPU with the CPU; the PTX."""
    with TemporaryDirectory() as folder:
        module = program(Path(folder), bodies)
        found, ptx = results(module, GPU, len(bodies), count)
        assert found == results(module, "cpu", len(bodies), count)[0]
    return ptx


def places(ptx: str) -> int:
    """In how many places threads meet."""
    return len(re.findall(r"inline asm\n\tmov\.b32", ptx))


CALL = "return common(x, 4)"
MIXED = "x += self.seed\nx = common(x * 5, 6) - self.seed\nself.seed = x\nreturn x"


@pytest.mark.parametrize(
    ("bodies", "meetings"),
    [
        pytest.param([CALL, MIXED], 1, id="two methods"),
        pytest.param([CALL, MIXED, "return x + 1", "self.seed = 3\nreturn common(7, x % 5)"], 1,
            id="four methods, one without it"),
        pytest.param(["y = common(x, 3)\nreturn common(y, 2)", CALL], 1, id="one method twice"),
        pytest.param(["for k in range(x % 4):\n    x = common(x, k)\nreturn x", "return x"], 0,
            id="one method"),
        pytest.param(["for k in range(3):\n    x = common(x, k)\nreturn x", CALL, MIXED], 1,
            id="in a loop, and two others"),
        pytest.param(
            ["if x % 2 == 0:\n    x = common(x, 2)\nelse:\n    x = common(x, 3) + 1\nreturn x"], 1,
            id="branches"),
        pytest.param(
            ["if x % 2 == 0:\n    return common(x, 2)\nself.seed = 1\nreturn common(x, 3) - x"], 1,
            id="a branch that returns"),
        pytest.param(
            ["for k in range(4 + x % 2):\n    if x % 3 == 0:\n        x = common(x, 2) + k\n"
             "    elif x % 3 == 1:\n        x += 2\n    else:\n        x = common(x + 1, k)\n"
             "return x"], 1, id="branches in a loop"),
        pytest.param(["if x % 2 == 0:\n    x = common(x, 2)\nreturn common(x, 3)"], 0,
            id="one after the other"),
    ],
)  # fmt: skip
def test_calls_that_exclude_one_another_are_one(bodies, meetings):
    assert places(check(bodies)) == meetings


def test_a_call_behind_another_stays_where_it_is():
    one, other = (
        "n = x % 5\nif x % 2 == 0:\n    x = common(x, n)\n",
        "else:\n    x = common(n, x)\n",
    )
    again = "    if x > 3:\n        x = common(x, self.seed) + n\n"
    twice = check([f"{one}{again}{other}return x - n"])
    once = check([f"{one}{other}return x - n"])
    assert places(once) == places(twice) == 1
    assert twice.count(f", {MARK};") == 2 * once.count(f", {MARK};") > 0


def test_many_classes_that_are_told_by_windows_meet():
    ptx = check([CALL, MIXED, "return x"] * 3, count=90)
    assert "brx.idx" in ptx and places(ptx) == 1


@pytest.mark.parametrize("names", [("twice", "twice_2"), ("größe", "weite")])
def test_names_that_begin_alike_or_are_not_ascii_meet(tmp_path, names):
    loops = (
        f"    def {name}(self, x: i32, n: i32) -> i32:\n        for k in range(n):\n"
        f"            x = x * {3 + number} + (k ^ x)\n        return x\n"
        for number, name in enumerate(names)
    )
    text = _HEAD + "\n".join(loops)
    for number, calls in enumerate(
        ("self.{}(x, 3) + self.{}(x, 2)", "self.{}(x, 2) - self.{}(x, 4)")
    ):
        text += f"\nclass C{number}(Base):\n    def go(self, x: i32) -> i32:\n"
        text += f"        return {calls.format(*names)}\n"
    module = load_module(tmp_path, text + _TAIL)
    found, ptx = results(module, GPU, 2, 40)
    assert found == results(module, "cpu", 2, 40)[0]
    assert places(ptx) == 2


def test_explain_names_the_function(tmp_path):
    module = program(tmp_path, [CALL, MIXED])
    with oa.Heap("auto", GPU, capacity="16MiB") as heap:
        items = heap.array(module.Base, [heap.new(module.C0), heap.new(module.C1)])
        module.run[2](items, heap.zeros(2, i32))
        text = module.run.explain()
    line = 1 + (PRELUDE + _HEAD).split("def common")[0].count("\n")
    assert f".py:{line}: threads that come to this function from different methods" in text


PIECES = st.sampled_from([
    "x = common(x, 3)",
    "x = common(x + self.seed, x % 5)\nself.seed = x",
    "self.seed -= common(self.seed, 2)",
    "x = x * 3 + 1",
    "self.seed += x",
    "if x % 3 == 0:\n    return x - self.seed",
    "if x % 2 == 0:\n    x = common(x, 2)\n    x += 1\nelse:\n    x -= common(3, x % 4)",
    "if self.seed % 2 == 0:\n    x = common(x, 4)\nelif x % 5 == 1:\n    x += 9",
    "for k in range(x % 3):\n    if k == 1:\n        x += common(x, k)\n    else:\n"
    "        x = common(k, 2) ^ x\n    if x % 4 == 0:\n        break",
    "while x % 4 != 0:\n    x = common(x, 1) + 1\n    self.seed += 1\n    if self.seed > 9:\n"
    "        break",
])  # fmt: skip
METHODS = st.lists(PIECES, max_size=4).map(lambda pieces: "\n".join([*pieces, "return x"]))


@settings(max_examples=examples(5), deadline=None)
@given(st.lists(METHODS, min_size=1, max_size=4))
def test_random_methods_give_the_same(bodies):
    check(bodies)


#: What an arm passes on stands beside what was made before its branch; by chance that is rare.
SLOTS = [
    "self.seed -= common(self.seed, 2)\nreturn x",
    "self.seed -= common(self.seed, 2)\nx = common(x, 3)\nreturn x",
    "if self.seed % 2 == 0:\n    x = common(x, 4)\nelif x % 5 == 1:\n    x += 9\n"
    "if x % 3 == 0:\n    return x - self.seed\nself.seed -= common(self.seed, 2)\nreturn x",
]
#: Threads leave the last one from within a loop, beside a way that calls.
LEAVING = [
    "x = common(x, 2)\nreturn x + 1",
    "x = common(x, 3)\nreturn x",
    "if x % 2 == 0:\n    x = common(x, 1)\nelse:\n    for k in range(3):\n"
    "        if x % 5 == k:\n            return x - k\n        x += k\nreturn x",
]


@settings(max_examples=examples(60), deadline=None)
@example(SLOTS)
@example(LEAVING)
@given(st.lists(METHODS, min_size=1, max_size=4))
def test_random_methods_mean_the_same(bodies):
    """In the IR's interpreter, which knows values that nobody may look at."""
    with TemporaryDirectory() as folder:
        module = program(Path(folder), bodies)
    written = program_of(module.run)
    remove_unused(written, debug=False)
    expected = observed(written, module, len(bodies))
    meld_calls(written)
    verify(written)
    assert observed(written, module, len(bodies)) == expected


def observed(program: Program, module: ModuleType, classes: int) -> tuple[list[int], list[Any]]:
    """What the kernel leaves in an array and in the objects."""
    kinds = [getattr(module, f"C{n % classes}").__sharedoa__ for n in range(6 * classes)]
    things = [Thing(cls, {"seed": n * n - 40}) for n, cls in enumerate(kinds)]
    out = [0] * len(things)
    Machine(program).run([things, out], len(things))
    return out, [thing.fields["seed"] for thing in things]


@pytest.mark.gpu
@settings(max_examples=25, deadline=None)
@given(st.lists(METHODS, min_size=2, max_size=4))
def test_random_methods_give_the_same_on_a_gpu(bodies):
    with TemporaryDirectory() as folder:
        module = program(Path(folder), bodies)
        expected, _ = results(module, "cpu", len(bodies), 3000)
        assert results(module, "cuda", len(bodies), 3000)[0] == expected
        assert results(module, "cuda", len(bodies), 3000)[0] == expected


@pytest.mark.parametrize("in_a_branch", [False, True])
def test_lists_that_are_made_before_and_used_behind(in_a_branch: bool) -> None:
    """A list is memory of a function that would have returned by then."""
    body = (
        "z = [x, {0}, 3]\n"
        "z[x % 3] += {0}\n"
        "w = [z[(x + k) % 3] * k for k in range(2)]\n"
        "y = common(z[1], 4)\n"
        "z[(y + 1) % 3] += y\n"
        "w[y % 2] += z[0]\n"
        "return y + z[0] * 3 + z[1] + z[2] * 5 + w[0] + w[1]"
    )
    if in_a_branch:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        body = f"if x % 5 < 3:\n{lines}\nreturn common(x, {{0}})"
    check([body.format(number) for number in (2, 9, 4)])
