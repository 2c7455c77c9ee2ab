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


class Plain(oa.Object):
    value: i32

    def double(self) -> i32:
        return self.value * 2


class Base(oa.Object):
    value: i32

    def double(self) -> i32: ...


class Careful(Base):
    def double(self) -> i32:
        return self.value * 2


class Forgetful(Base):
    def double(self) -> i32:  # type: ignore[return]  # on purpose
        if self.value > 0:
            return self.value


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


def test_a_null_receiver_of_a_vectorised_call_is_told_in_the_words_of_compiled_kernels():
    cells = oa.array(Cell, [Cell(value=1), None])
    with pytest.raises(oa.DeviceError) as caught:
        cells.double()
    line = Cell.double.__wrapped__.__code__.co_firstlineno
    assert caught.value.message == (
        f"kernel Cell.double, thread 1: a null reference is used\nat {__file__}:{line}"
    )
    with oa.Heap(backend="cpu", capacity="256MiB", debug=True):
        with pytest.raises(oa.DeviceError) as compiled:
            oa.array(Plain, [Plain(), None]).double()
            oa.synchronize()
    assert ": a null reference is used\n" in compiled.value.message
    assert caught.value.help == compiled.value.help


def test_a_missing_result_of_a_vectorised_call_names_the_method_that_was_called():
    cells = oa.array(Base, [Careful(value=1), Forgetful(value=0)])
    with pytest.raises(oa.DeviceError) as caught:
        cells.double()
    line = Forgetful.double.__wrapped__.__code__.co_firstlineno
    assert "kernel Base.double, thread 1: " in caught.value.message
    assert "method Forgetful.double: the result takes i32, not None" in caught.value.message
    assert caught.value.message.endswith(f"\nat {__file__}:{line}")


def test_a_failure_before_a_barrier_ends_the_block():
    out = oa.zeros(4, i32)
    with pytest.raises(oa.DeviceError, match="thread 1: RuntimeError: stop"):
        fail_at_barrier[4, 4](out)
    assert out.numpy().tolist() == [1, 0, 1, 1]


def test_wrong_arguments_are_refused_as_elsewhere():
    with pytest.raises(oa.ArgumentError, match=r"takes Array\[i32\]"):
        order[1, 1](3)
