"""Local arrays in functions that kernels call, some of them recursively."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import i8, i16, i32, u8
from sharedoa.targets.ptxas import assemble

from ..differential.aliasing import places
from ..differential.programs import Size, make_program
from ..differential.running import load
from ..differential.test_programs import agree

#: Its program had such a loop.
SPOILT = 21675, Size(10, 4, 8)
BACKENDS = ("python", "cpu", "interpreted", pytest.param("cuda", marks=pytest.mark.gpu))


class Shape(oa.Object):
    next: Shape
    size: i8
    place: u8

    def depth(self, left: i32) -> i32: ...


class Listed(Shape):
    def depth(self, left: i32) -> i32:
        sizes = [i16(self.size) for k in range(40)]
        sizes[i32(self.place) % 40] += i16(left)
        found = i32(sizes[i32(self.place) // 2])
        if left > 0 and self.next is not None:
            found += self.next.depth(left - 1)
        return found + i32(sizes[i32(self.place) % 40])


class Plain(Shape):
    def depth(self, left: i32) -> i32:
        if left > 0 and self.next is not None:
            return self.next.depth(left - 1) + 1
        return i32(self.size)


@oa.kernel
def deep(shapes: oa.Array[Shape], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i < len(shapes):
        out[i] = shapes[i].depth(3)


def depth(shapes: list[tuple[bool, int, int]], at: int, left: int) -> int:
    """Of the shape there; each is followed by the next one."""
    is_listed, size, place = shapes[at]
    below = depth(shapes, at + 1, left - 1) if left and at + 1 < len(shapes) else None
    if not is_listed:
        return size if below is None else below + 1
    last = size + left
    return (last if place % 40 == place // 2 else size) + (below or 0) + last


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_call_has_its_own(backend: str) -> None:
    shapes = [(bool(k % 3), k % 50 - 25, k % 79) for k in range(70)]
    with oa.Heap("auto", places.backend(backend)):
        made = [
            (Listed if is_listed else Plain)(size=size, place=place)
            for is_listed, size, place in shapes
        ]
        for shape, following in pairwise(made):
            shape.next = following
        out = oa.zeros(len(made), i32)
        deep[len(made)](oa.array(Shape, made), out)
        assert out.numpy().tolist() == [depth(shapes, at, 3) for at in range(len(made))]


def test_ptxas_has_no_uniform_register_for_its_address() -> None:
    with oa.Heap("auto", "cpu"):
        ptx = deep.compile("nvptx").products["ptx"]
    (body,) = (body for body in re.split(r"^\}$", ptx, flags=re.M) if "__local_depot" in body)
    assert ".entry" not in body
    (address,) = re.findall(r"add\.u64 \t(%rd\d+), %SPL?, \d+;", body)
    assert f"add.s64 \t{address}, {address}, %no_lane;" in body


@pytest.mark.slow
def test_machine_code_has_no_uniform_register_for_its_address(tmp_path: Path) -> None:
    nvidia = pytest.importorskip("nvidia")
    nvdisasm = next(Path(nvidia.__path__[0]).glob("cu*/bin/nvdisasm"))
    with oa.Heap("cuda", "cpu"):
        ptx = load(make_program(*SPOILT), tmp_path).run.compile("nvptx").products["ptx"]
    cubin = tmp_path / "run.cubin"
    cubin.write_bytes(assemble(ptx, "sm_90").cubin)
    code = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True)
    functions = re.split(r"^\s*\.type\s+", code.stdout, flags=re.M)
    called = [text for text in functions if text.startswith("$kernel_run$")]
    assert len(called) > 20 and any("STL" in text for text in called)
    assert not re.findall(r"\b(?:STL|LDL)\S* .*\+UR.*", "".join(called))


@pytest.mark.gpu
def test_a_program_that_ptxas_spoilt(tmp_path: Path) -> None:
    agree(tmp_path, *SPOILT, "cuda", "cuda")
