"""Launches that build and use grids: code for GPUs, the order of threads, the quick way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from dispatch.mode import parse_mode
from sharedoa import f32, f64, i32, u8
from sharedoa.model.object import shared_type
from sharedoa.runtime import grid_order
from sharedoa.runtime.assembly import open_target
from sharedoa.runtime.vectorised_code import CallForm, call_program
from sharedoa.targets.ptxas import assemble

from ..codegen.interpreted import InterpretedGpu
from ..modes import quick_modes


@oa.value
class Place:
    x: f64
    y: f64
    z: f64


class Star(oa.Object):
    number: i32
    pos: Place
    x: f32
    y: f32
    weight: f64
    pulled: f64

    def pull(self, grid: oa.HashGrid[Star], radius: f64) -> None:
        self.pulled = 0.0
        for other in grid.near(self.pos, radius):
            if other is not self:
                self.pulled += other.weight


class Giant(Star):
    size: f32


@pytest.mark.parametrize("mode", quick_modes("auto"))
def test_code_for_gpus(mode: str) -> None:
    """Both GPU back ends take what builds grids, and what searches them."""
    cls, listed = shared_type(Giant), shared_type(Star)
    method = cls.find_method("pull")
    assert method is not None
    programs = [
        grid_order.counting(cls, grid_order.positions_of(cls, "pos", 3)),
        grid_order.counting(cls, grid_order.positions_of(cls, None, 2)),
        grid_order.placing(cls, listed, 32),
        call_program(cls, ((cls, method),), CallForm((False, False), exact=True)),
    ]
    with oa.Heap(mode=mode, backend="cpu") as heap:
        oa.new(Giant, 3)
        for program in programs:
            made = program.compilation(heap, parse_mode(mode), False, open_target("nvptx"))
            ptx = made.products["ptx"]
            assert isinstance(ptx, str)
            report = assemble(ptx, "sm_90")
            assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
        made = program.compilation(heap, parse_mode(mode), False, open_target("amdgpu"))
        assert made.products["o"][:4] == b"\x7fELF"  # type: ignore[index]


@pytest.mark.parametrize("seed", range(3))
def test_no_order_of_threads_matters(seed: int) -> None:
    """Lanes of warps go on in any order, so objects count themselves in any order."""
    chance = random.Random(seed)
    gpu = InterpretedGpu()

    def some(lanes: Sequence[int]) -> list[int]:
        return chance.sample(list(lanes), chance.randint(1, len(lanes)))

    gpu.choose = some
    with oa.Heap(backend=gpu, capacity="64MiB"):
        numbers = np.random.default_rng(seed).permutation(70)
        stars = oa.new(Star, 70, number=numbers, x=numbers % 2 + 0.5, y=0.5)
        grid = oa.HashGrid(cell=1.0, size=(2.0, 1.0))
        grid.build(stars)
        found = [int(star.number) for star in grid.near(f32(1.0), f32(0.5), 1.0)]
        assert found == [*numbers[numbers % 2 == 0], *numbers[numbers % 2 == 1]]


def count_packing(program: Any, patch: pytest.MonkeyPatch) -> list[None]:
    """As long as the number of launches that take the careful way: no others pack by the plan."""
    careful: list[None] = []
    pack = program.plan.pack

    def noting(*given: Any) -> Any:
        careful.append(None)
        return pack(*given)

    patch.setattr(program.plan, "pack", noting)
    return careful


def test_usual_launches_take_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grids are packed once, until they have other arrays."""
    with oa.Heap(backend="cpu", capacity="64MiB"):
        stars, grid = oa.new(Star, 20, weight=1), oa.HashGrid(cell=1.0, size=(4.0, 4.0, 4.0))
        cls = shared_type(Star)
        method = cls.find_method("pull")
        assert method is not None
        program = call_program(cls, ((cls, method),), CallForm((False, False), exact=False))
        careful = count_packing(program, monkeypatch)
        for _ in range(5):
            grid.build(stars.pos)
            stars.pull(grid, 1.0)
        assert 0 < len(careful) < 4
        before = len(careful)
        more = oa.new(Star, 50, weight=1)
        for _ in range(5):
            grid.build(more.pos)
            stars.pull(grid, 1.0)
        assert len(careful) < before + 4
        assert stars.pulled.numpy().tolist() == [50.0] * 20
        oa.delete(more[0])
        with pytest.raises(oa.HeapError, match="deleted since it was built"):
            stars.pull(grid, 1.0)


@oa.value
class Inner:
    flag: bool
    small: u8


@oa.value
class Outer:
    x: f32
    inner: Inner
    y: f64


@oa.kernel
def take(value: Outer, out: oa.Array[f64], last: i32) -> None:
    out[0], out[1] = f64(value.x), value.y
    out[2], out[3] = f64(value.inner.small), 1.0 if value.inner.flag else 0.0
    out[4] = f64(last)


def test_values_of_numbers_are_packed_number_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    with oa.Heap(backend="cpu"):
        out = oa.zeros(5, f64)
        careful = count_packing(take.program, monkeypatch)
        for number, x in enumerate((0.5, np.inf, -0.25)):
            value = Outer(x, Inner(number % 2 == 0, 250 + number), 1e300 * x)
            take[1](value, out, 7)
            expected = [f64(f32(x)), 1e300 * x, 250 + number, number % 2 == 0, 7]
            assert out.numpy().tolist() == expected
        assert len(careful) <= 2
        with pytest.raises(oa.ArgumentError, match="takes Outer"):
            take[1](Inner(True, 1), out, 7)
