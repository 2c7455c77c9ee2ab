"""Inline arrays with rows, and in value structs, on the host and in kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i8, i32
from sharedoa.errors import ArgumentError, CompileError

from .everywhere import Results, check_everywhere, world


@oa.value
class Stencil:
    weights: oa.inline[f32, 2, 3]
    offsets: oa.inline[i8, 5]
    way: oa.vec2
    on: oa.inline[bool, 2]

    def sum(self) -> f32:
        total = f32(0)
        for i in range(len(self.weights)):
            for j in range(-3, 0):
                total += self.weights[i, j] * f32(self.offsets[i + j])
        return total


class Cell(oa.Object):
    stencil: Stencil
    table: oa.inline[i32, 2, 3]
    parts: oa.inline[Stencil, 2]
    peers: oa.inline[Cell, 2, 3]
    out: f32

    def work(self, k: i32) -> None:
        for i in range(2):
            for j in range(3):
                self.table[i, j] += i * 10 - j
                self.table[i][-j] *= 2
        made = Stencil(
            ((self.out, 1, 2), (self.stencil.weights[1, k % 3], self.out, 5)),
            self.parts[k % 2].offsets,
            self.stencil.way * 2.0,
            (k > 3, self.stencil.on[k % 2]),
        )
        if made != self.parts[0] and not made.on[(k + 1) % 2]:
            self.parts[k % 2] = made
        self.out += made.sum() + self.parts[1].sum() + made.weights[k % 2, -1 - k % 3]
        self.out += f32(len(self.table) + len(made.offsets)) + f32(self.table[k % 2, k % 3])
        peer = self.peers[k % 2, 1]
        if peer is not None and peer is not self:
            self.peers[1, k % 2] = self


def some(number: int) -> Stencil:
    weights = [[number, 2, 3], [4, number, 6]]
    return Stencil(weights, range(number, number + 5), oa.vec2(number, 1), (True, number > 4))


def cells() -> Results:
    n = 9
    made = oa.new(Cell, n, stencil=[some(k) for k in range(n)], out=np.arange(n, dtype=np.float32))
    made.parts = [[some(2 * k), some(2 * k + 1)] for k in range(n)]
    made.table = np.arange(6 * n).reshape(n, 2, 3).astype(np.int32)
    made.table[2:, 1, :2] = -1
    made.table[:, :, 2] += 1
    made[1].table[1, 2] = 100
    made[1].table[0] = (7, 8, 9)
    made[2].table = [[1, 2, 3], [4, 5, 6]]
    made.peers = [[None, made[2], None], [made[1], None, None]]
    made[3].peers[0, 1] = made[4]
    made.work(oa.array(i32, np.arange(n, dtype=np.int32)))
    whole = made[0].stencil
    return {
        "table": made.table.numpy().copy(),
        "out": made.out.numpy().copy(),
        "weights": np.array([[np.asarray(s.weights) for s in cell.parts] for cell in made]),
        "offsets": np.array([[np.asarray(s.offsets) for s in cell.parts] for cell in made]),
        "on": np.array([[np.asarray(s.on) for s in cell.parts] for cell in made]),
        "whole": np.array(whole.weights),
        "peers": np.array([[[p is not None for p in row] for row in c.peers] for c in made]),
    }


def test_everywhere_as_in_cpython() -> None:
    found = check_everywhere(cells, "tiles", "headers", "one by one", "debug", "warps")
    assert found["table"].shape == (9, 2, 3) and found["weights"].shape == (9, 2, 2, 3)
    assert found["table"][1, 0].tolist() == [14, 14, 16]


def test_values_with_arrays_as_arguments_and_elements() -> None:
    @oa.kernel
    def use(given: Stencil, many: oa.Array[Stencil], out: oa.Array[f32]):
        i = oa.grid(1)
        out[i] = given.weights[i % 2, i % 3] + many[i].sum() + f32(given.offsets[-1 - i])
        many[i] = given

    def run() -> Results:
        many = oa.array(Stencil, [some(k) for k in range(4)])
        out = oa.zeros(4, f32)
        use[4](some(7), many, out)
        assert all(each == some(7) for each in many)
        return {"out": out.numpy().copy()}

    check_everywhere(run, "cpu", "warps")


def test_inline_values_on_the_host() -> None:
    one = some(3)
    assert one.weights[1, 0] == 4 and one.weights[1][-1] == 6 and len(one.weights) == 2
    assert [list(row) for row in one.weights] == [[3, 2, 3], [4, 3, 6]]
    assert one == some(3) and hash(one) == hash(some(3)) and one != some(4)
    assert np.asarray(one.offsets).tolist() == [3, 4, 5, 6, 7]
    assert repr(one.on) == "(True, False)"
    with pytest.raises(IndexError):
        one.weights[2, 0]
    with pytest.raises(IndexError, match="2 indices"):
        one.weights[0, 0, 0]
    with pytest.raises(TypeError):
        one.weights[0, 0] = 1  # type: ignore[index]
    with pytest.raises(ArgumentError, match="takes 2 rows, not 3 values"):
        Stencil([1, 2, 3], range(5), oa.vec2(0), (True, True))
    with pytest.raises(ArgumentError, match="takes i8, and 300 does not fit"):
        Stencil([[1, 2, 3]] * 2, [300] * 5, oa.vec2(0), (True, True))


def test_dumps_keep_rows_and_vectors(tmp_path: Path) -> None:
    for name in ("cpu", "tiles", "one by one"):
        with world(name) as heap:
            made = oa.new(Cell, 3, stencil=some(5), parts=[some(1), some(2)])
            made.table = np.arange(18).reshape(3, 2, 3)
            made[0].peers[1, 0] = made[2]
            heap.dump(tmp_path / "cells", root=made)
        with world("tiles"):
            found = oa.load(tmp_path / "cells")["root"]
            assert found.table.numpy().tolist() == np.arange(18).reshape(3, 2, 3).tolist()
            assert found[1].stencil == some(5) and found[2].parts[1] == some(2)
            assert found[0].peers[1, 0] is found[2]


def test_complaints() -> None:
    @oa.kernel
    def wrong(cells: oa.Array[Cell], s: Stencil):
        a = cells[0].table[2, 0]
        b = cells[0].table[0, 0, 0]
        cells[0].stencil.weights[0, 0] = 1.0
        c = cells[0].table[0]
        d = Stencil((1.0, 2.0), s.offsets, s.way, s.on)
        e = s.weights[0]

    with pytest.raises(CompileError) as caught:
        wrong.compile("host")
    text = str(caught.value)
    for part in (
        "index 2 is outside of inline[i32, 2, 3]",
        "inline[i32, 2, 3] has 2 indices",
        "values do not change",
        "an inline array is no value of its own",
        "inline[f32, 3] takes 3 items, not float",
    ):
        assert part in text, text


def test_an_index_outside_is_found_in_debug_mode() -> None:
    @oa.kernel
    def far(cells: oa.Array[Cell], s: Stencil, i: i32, j: i32, out: oa.Array[f32]):
        out[0] = s.weights[i, j] + f32(cells[0].table[i, j])

    for i, j, index in ((0, 3, 3), (2, 0, 2), (-3, 0, -3)):
        with world("debug") as heap:
            cells = oa.new(Cell, 1)
            far[1](cells, some(1), i, j, oa.zeros(1, f32))
            with pytest.raises(oa.DeviceError, match=f"index {index}"):
                heap.synchronize()
