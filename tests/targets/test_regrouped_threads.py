"""Threads of a block that stand in another order: every one there once, and those of a warp make
objects of one class."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from llvmlite import ir

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir.regrouping import threads_apart
from sharedoa.runtime import clustering
from sharedoa.runtime.geometry import parse_geometry
from sharedoa.runtime.profile import _look, profiling
from sharedoa.sampling.grouping import Touches
from sharedoa.targets.nvptx import NvptxTarget

from ..codegen.interpreted import InterpretedGpu
from ..ptxpass.interpreter.memory import Memory
from ..ptxpass.machine import HostCode

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_WARP = 32


class _Given(NvptxTarget):
    """The block, its threads, and which of them this is are parameters."""

    def emit_position(self, builder: ir.IRBuilder, axis: int) -> tuple[ir.Value, ...]:
        return tuple(builder.function.args[:3])


@pytest.fixture(scope="module")
def index() -> Any:
    """Of block, threads of a block, thread in it, and turns: the thread's index."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(_I64, [_I32] * 4), "index")
    builder = ir.IRBuilder(function.append_basic_block())
    target = _Given("sm_90")
    builder.ret(target.emit_current_thread(builder, 0, lambda builder: function.args[3]))
    code = HostCode(module, optimised=True)
    yield code.function("index", ctypes.c_uint64, *[ctypes.c_uint32] * 4)
    assert code


@pytest.mark.parametrize("size", [1, 16, 32, 48, 64, 80, 96, 128, 192, 256, 1024])
@pytest.mark.parametrize("turns", [1, 2, 3, 6, 7, 8, 12, 32, 64])
def test_blocks_are_whole_pieces(index: Any, size: int, turns: int) -> None:
    found = [index(5, size, thread, turns) - 5 * size for thread in range(size)]
    assert sorted(found) == [*range(size)]
    warps = threads_apart(turns, size, _WARP)
    piece = _WARP * warps
    for thread, place in enumerate(found):
        first, inside = thread - thread % piece, thread % piece
        assert place == first + inside % _WARP * warps + inside // _WARP


class Made(oa.Object):
    id: i32


class Other(Made): ...


@oa.kernel
def make(limit: i32) -> None:
    i = oa.grid(1)
    assert i != limit
    if i % 2 == 0:
        oa.new(Made, id=i + 1000)
    else:
        oa.new(Other, id=i + 1000)


def written(monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[int]:
    """The fields of new objects, in the order in which the interpreter's warps write them."""
    found: list[int] = []
    usual = Memory.storer

    def noting(self: Memory, space: str, size: int) -> Callable[[int, int], None]:
        store = usual(self, space, size)

        def noted(address: int, value: int) -> None:
            if 1000 <= value < 2000:
                found.append(value - 1000)
            store(address, value)

        return noted

    with oa.Heap(backend=InterpretedGpu(), **options):
        with monkeypatch.context() as patched:
            patched.setattr(Memory, "storer", noting)
            make[128](-1)
        there = [int(each.id) - 1000 for each in oa.all(Made)]
    assert there == [*range(0, 128, 2), *range(1, 128, 2)]
    return found


def test_a_warp_makes_objects_of_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [[*range(first, first + 64, 2)] for first in (0, 1, 64, 65)]
    assert written(monkeypatch) == [each for piece in pieces for each in piece]


@pytest.mark.parametrize("options", [{"debug": True}, {"mode": "cuda"}, {"mode": "coal"}], ids=str)
def test_as_they_were_written(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    """In debug mode, and in modes that are there to be compared."""
    lower, emitted = import_module("sharedoa.codegen.lower"), []
    with monkeypatch.context() as patched:
        patched.setattr(lower, "may_regroup", lambda program: emitted.append(program))
        written(monkeypatch, **options)
    assert not emitted


@oa.kernel
def make_of(numbers: oa.Array[i32]) -> None:
    i = oa.grid(1)
    number = numbers[i]
    if i % 4 == 0:
        oa.new(Made, id=number)
    else:
        oa.new(Other, id=number)


@pytest.mark.parametrize(
    ("options", "block", "apart"),
    [({}, 256, 4), ({}, 64, 2), ({}, 48, 1), ({"debug": True}, 256, 1), ({"mode": "coal"}, 256, 1)],
    ids=str,
)
def test_estimates_know_who_stands_side_by_side(
    options: dict[str, Any], block: int, apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a profile, and of what fields should lie together."""
    program, geometry = make_of.program, parse_geometry((512, block), 1)
    seen: list[int] = []

    def sampled(*given: Any) -> Touches:
        seen.append(given[4])
        return Touches()

    with oa.Heap(backend=InterpretedGpu(), **options) as heap:
        arguments = (oa.zeros(512, i32),)
        monkeypatch.setattr(clustering, "sample", sampled)
        clustering._sample(
            heap, clustering.Launched(clustering._Looks()), program, geometry, arguments
        )
        assert seen == [apart]
        with profiling() as profile:
            _look(profile, program, heap, geometry, arguments)
    assert profile.looked_at[program][1].bytes == 4 * apart


@oa.kernel
def make_some(n: i32) -> None:
    i = oa.grid(1)
    if i % n == 1:
        oa.new(Made, id=i)
    elif i % n == 2:
        oa.new(Other, id=i)


def test_every_thread_makes_its_own() -> None:
    """With blocks that are whole pieces and others, and threads behind the last."""
    with oa.Heap(backend=InterpretedGpu()):
        for n, block in ((3, 64), (4, 96), (6, 48), (8, 256), (12, 128), (64, 64)):
            make_some[300, block](n)
            found = [[int(each.id) for each in oa.all(cls)] for cls in (Made, Other)]
            ones, twos = ([i for i in range(300) if i % n == rest] for rest in (1, 2))
            assert found == [[*ones, *twos], twos]
            oa.delete([*oa.all(Made)])


def test_who_fails_has_its_own_number() -> None:
    with (
        pytest.raises(oa.DeviceError, match="thread 37"),
        oa.Heap(backend=InterpretedGpu()) as heap,
    ):
        make[128](37)
        heap.synchronize()
