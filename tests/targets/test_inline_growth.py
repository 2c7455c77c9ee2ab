"""Kernels of a few small classes stay small, however their methods call each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import sharedoa as oa
from apps.raytracer.natural import kernels as rays
from sharedoa.targets.inline_growth import ATTRIBUTE, MOST_INSTRUCTIONS, grown
from tests.apps import vehicle_kernels as roads
from tests.modes import rotated
from tests.source_files import load_module


def _text(calls: int, statements: int, rounds: int) -> str:
    """Four classes with three methods; each of the first two calls the next one ``calls`` times."""
    lines = ["class Base(oa.Object):", "    x: f32", "    other: Base"]
    lines += [f"    def m{level}(self, a: f32) -> f32: ..." for level in range(3)]
    for number in range(4):
        lines += [f"class C{number}(Base):", f"    z{number}: f32"]
        for level in range(3):
            lines += [f"    def m{level}(self, a: f32) -> f32:", f"        t = a * f32({number}.5)"]
            for each in range(statements):
                lines += [f"        t = t * self.x + f32({each}.25) / (self.z{number} + t)"]
            lines += [f"        for j in range({rounds}):"]
            for each in range(calls if level < 2 else 0):
                lines += [f"            t += self.other.m{level + 1}(t + f32({each}))"]
            lines += ["            t += f32(j)", "        self.x = t", "        return t"]
    lines += ["@oa.kernel", "def run(objects: oa.Array[Base], out: oa.Array[f32]):"]
    lines += ["    i = oa.grid(1)", "    out[i] = objects[i].m0(f32(1))"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("shape", "target"),
    rotated(
        [(6, 2, 1), (8, 4, 1), (10, 1, 1), pytest.param((8, 4, 4), marks=pytest.mark.slow)],
        ["nvptx", "amdgpu"],
    ),
)
def test_calls_of_calls_do_not_multiply(
    tmp_path: Path, shape: tuple[int, int, int], target: str
) -> None:
    module = load_module(tmp_path, _text(*shape))
    with oa.Heap("auto", "cpu", "tile", references="64", capacity="64MiB"):
        products = module.run.compile(target).products
    before, after = (str(products[each]).count("\n") for each in ("dispatch.ll", "opt.ll"))
    assert after < max(MOST_INSTRUCTIONS, 2 * before)
    assert ATTRIBUTE in str(products["dispatch.ll"])


@pytest.mark.parametrize("kernel", [rays.add_path, roads.prepare_paths], ids=lambda k: k.name)
def test_what_stays_small_is_left_to_llvm(kernel: oa.Kernel) -> None:
    with oa.Heap("auto", "cpu", "tile", references="64", capacity="64MiB"):
        text = str(kernel.compile("nvptx").products["dispatch.ll"])
    assert ATTRIBUTE not in text


def test_what_calls_add_up_to() -> None:
    functions = {
        "leaf": (100, Counter({"library": 3})),
        "middle": (10, Counter({"leaf": 4})),
        "top": (5, Counter({"middle": 10, "top": 2})),
        "odd": (1, Counter({"even": 1})),
        "even": (1, Counter({"odd": 1})),
    }
    assert grown(functions, 225) == 100 + 410 + (5 + 4100) + 3
    assert grown(functions, 16) == 100 + 410 + 5 + 3
    assert grown(functions, 4) == 100 + 10 + (5 + 100) + 3


def test_long_chains_of_calls() -> None:
    chain = {f"f{n}": (1, Counter({f"f{n + 1}": 1})) for n in range(5000)}
    assert grown(chain, 4) > 5000
