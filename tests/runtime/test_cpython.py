"""The python backend: CPython runs kernels, one thread after another, open to a debugger."""

from __future__ import annotations

import pytest

import sharedoa as oa
from sharedoa import i32


class Cell(oa.Object):
    value: i32

    def double(self) -> i32:
        seen.append(self.value)
        return self.value * 2


seen: list[int] = []


@oa.kernel
def visit(cells: oa.Array[Cell], out: oa.Array[i32]):
    i = oa.grid(1)
    breakpoint()
    out[i] = cells[i].double()


@oa.kernel
def order(out: oa.Array[i32]):
    x, y = oa.grid(2)
    nx, _ = oa.gridsize(2)
    seen.append(y * nx + x)


@oa.kernel
def fail_at_barrier(out: oa.Array[i32]):
    i = oa.grid(1)
    if i == 1:
        raise RuntimeError("stop")
    oa.syncthreads()
    out[i] = 1


@pytest.fixture(autouse=True)
def interpreted():
    seen.clear()
    with oa.Heap(backend="python", capacity="256MiB"):
        yield


def test_a_debugger_stops_in_kernels_and_sees_their_variables(monkeypatch):
    stops = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stops.append(oa.grid(1)))
    out = oa.zeros(3, i32)
    visit[3](oa.new(Cell, 3, value=[1, 2, 3]), out)
    assert stops == [0, 1, 2] and seen == [1, 2, 3]
    assert out.numpy().tolist() == [2, 4, 6]


def test_threads_run_in_order_of_their_index():
    order[3, 2](oa.zeros(1, i32))
    assert seen == list(range(6))


def test_a_failure_is_told_with_thread_and_line_and_has_its_cause(monkeypatch):
    monkeypatch.setattr("sys.breakpointhook", lambda: None)
    with pytest.raises(oa.DeviceError, match="kernel visit, thread 1: AttributeError") as caught:
        visit[2](oa.array(Cell, [Cell(value=1), None]), oa.zeros(2, i32))
    line = visit.function.__code__.co_firstlineno + 4
    assert f"{__file__}:{line}" in caught.value.message
    assert isinstance(caught.value.__cause__, AttributeError)
    assert "pdb" in caught.value.help


def test_a_failure_before_a_barrier_ends_the_block():
    out = oa.zeros(4, i32)
    with pytest.raises(oa.DeviceError, match="thread 1: RuntimeError: stop"):
        fail_at_barrier[4, 4](out)
    assert out.numpy().tolist() == [1, 0, 1, 1]


def test_wrong_arguments_are_refused_as_elsewhere():
    with pytest.raises(oa.ArgumentError, match=r"takes Array\[i32\]"):
        order[1, 1](3)
