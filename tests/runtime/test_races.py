"""Races that debug mode finds, with both threads and both lines; and what is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i8, i32, i64

from ..codegen.interpreted import InterpretedGpu
from ..modes import rotated

pytestmark = pytest.mark.in_turns("heap", 2)

N = 6


@oa.value
class Pair:
    x: i32
    y: f32


class Cell(oa.Object):
    value: i32
    flag: bool
    small: i8
    items: oa.inline[i32, 4]
    pair: Pair
    mine: oa.Array[i64]
    next: Cell
    known: i32

    def touch(self, k: i32) -> None:
        self.next.value = k  # method writes

    def visit(self, k: i32) -> None: ...

    def spread(self) -> None:
        self.known = self.next.value  # spread reads
        self.value = self.known + 1  # spread writes


class Near(Cell):
    def visit(self, k: i32) -> None:
        self.next.value = k  # near writes


class Far(Near):
    extra: i32

    def visit(self, k: i32) -> None:
        super().visit(k)


@pytest.fixture(params=["cpu", "interpreted"])
def backend(request: pytest.FixtureRequest) -> Any:
    return InterpretedGpu() if request.param == "interpreted" else "cpu"


CASES = [("auto", "aos", "cpu"), ("auto", "tile", "cpu"), ("coal", "aos", "cpu"),
         ("concord", "aos", "cpu"), ("auto", "tile", "interpreted"),
         pytest.param(("auto", "tile", "cuda"), marks=pytest.mark.gpu)]  # fmt: skip


@pytest.fixture(params=CASES, ids=str)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    mode, layout, name = request.param
    backend = InterpretedGpu() if name == "interpreted" else name
    with oa.Heap(mode=mode, layout=layout, backend=backend, capacity="64MiB", debug=True) as heap:
        yield heap


def cells_in_a_circle(python_class: type = Far) -> Any:
    cells = oa.new(python_class, N)
    for place in range(N):
        cells[place].next = cells[(place + 1) % N]
    return cells


def message_of(launch: Callable[[], None]) -> str:
    with pytest.raises(oa.DeviceError) as caught:
        launch()
        oa.synchronize()
    oa.synchronize()  # reported once
    assert "atomic" in caught.value.help
    return caught.value.message


def lines_of(message: str) -> list[str]:
    """The comments on the lines that it shows."""
    return re.findall(r"# (.*)", message)


@oa.kernel
def one_field(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[0].value = 7  # first
    if i == 3:
        cells[0].value = 8  # second


@oa.kernel
def inherited_field(cells: oa.Array[Far]):
    i = oa.grid(1)
    if i == 1:
        cells[0].value = 7  # first
    if i == 3:
        cells[0].known = cells[0].value  # second


@oa.kernel
def boolean(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[0].flag = True  # first
    if i == 3 and cells[0].flag:  # second
        cells[1].value = 1


@oa.kernel
def byte(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[0].small = -1  # first
    if i == 3:
        cells[0].small = 2  # second


@oa.kernel
def inline_constant(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[2].items[3] = 7  # first
    if i == 3:
        cells[2].items[3] = 8  # second


@oa.kernel
def inline_variable(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[2].items[i + 1] = 7  # first
    if i == 3:
        cells[2].items[i - 1] += 8  # second


@oa.kernel
def member(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[1].known = i32(cells[2].pair.y)  # first
    if i == 3:
        cells[2].pair = Pair(0, f32(8.0))  # second


@oa.kernel
def array_of_field(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[0].mine[1] = 7  # first
    if i == 3:
        cells[0].mine[1] = 8  # second


@oa.kernel
def reference(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[0].next = cells[3]  # first
    if i == 3:
        cells[1].known = cells[0].next.value  # second


@oa.kernel
def read_before_write(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[1].known = cells[0].value  # first
    if i == 3:
        cells[0].value = 8  # second


@oa.kernel
def atomic_before_write(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        oa.atomic_add(cells[0], "value", 2)  # first
    if i == 3:
        cells[0].value = 0  # second


@oa.kernel
def write_before_atomic(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[0].value = 0  # first
    if i == 3:
        oa.atomic_max(cells[0], "value", 2)  # second


@oa.kernel
def many_readers(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1 or i == 4:
        cells[1].known = 0 * cells[0].value  # first
    if i == 4:
        cells[0].value = 9  # second


@oa.func
def put(cells: oa.Array[Cell], value: i32):
    cells[5].value = value  # second


@oa.kernel
def in_a_function(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i == 1:
        cells[5].value = i  # first
    if i == 3:
        put(cells, i)


KERNELS = [one_field, inherited_field, boolean, byte, inline_constant, inline_variable, member,
           array_of_field, reference, read_before_write, atomic_before_write, write_before_atomic,
           many_readers, in_a_function]  # fmt: skip


@pytest.mark.parametrize(("kernel", "heap"), rotated(KERNELS, CASES), indirect=["heap"])
def test_a_race_is_told_with_both_threads_and_lines(heap: oa.Heap, kernel: Any) -> None:
    cells = cells_in_a_circle()
    if kernel is array_of_field:
        cells[0].mine = oa.zeros(3, i64)
    message = message_of(lambda: kernel[N](cells))
    threads = (1, 4) if kernel is many_readers else (1, 3)
    orders = [(lines_of(message), threads)]
    if heap.backend.name == "cuda":  # either comes first
        orders.append((lines_of(message)[::-1], threads[::-1]))
    assert any(
        lines == ["second", "first"]
        and f", thread {second}: " in message
        and f"thread {first} of the same launch" in message
        for lines, (first, second) in orders
    )
    assert message.count(__file__) == 2
    named = "element 1 of an array" if kernel is array_of_field else "of the object at 0x"
    assert named in message


@oa.kernel
def one_element(numbers: oa.Array[f32], pairs: oa.Array[Pair], which: i32):
    i = oa.grid(1)
    if which == 0:
        numbers[i // 2] = f32(i)  # number
    else:
        pairs[i // 2] = Pair(i + 1, f32(0.0))  # pair


@pytest.mark.parametrize(("which", "line", "what"),
                         [(0, "number", "element 0 of an array"),
                          (1, "pair", "x of element 0 of an array")])  # fmt: skip
def test_elements_of_arrays(heap: oa.Heap, which: int, line: str, what: str) -> None:
    numbers, pairs = oa.zeros(N, f32), oa.zeros(N, Pair)
    message = message_of(lambda: one_element[N](numbers, pairs, which))
    assert lines_of(message) == [line, line] and what in message


@oa.kernel
def in_two_dimensions(cells: oa.Array[Cell]):
    x, y = oa.grid(2)
    cells[x].value = y + 1  # here


def test_threads_of_two_dimensions_are_told_apart(heap: oa.Heap) -> None:
    message = message_of(lambda: in_two_dimensions[N, 3](cells_in_a_circle()))
    if heap.backend.name == "cuda":
        assert re.search(r"thread \(\d+, \d+\)", message), message
    else:
        assert ", thread (0, 1): " in message and "thread 0 of the same launch" in message


@oa.kernel
def visit_all(cells: oa.Array[Cell]):
    i = oa.grid(1)
    cells[i % 2].visit(i)


@oa.kernel
def touch_all(cells: oa.Array[Cell]):
    i = oa.grid(1)
    cells[i % 2].touch(i)


@pytest.mark.parametrize(("kernel", "line"), [(visit_all, "near writes"),
                                              (touch_all, "method writes")])  # fmt: skip
@pytest.mark.parametrize("python_class", [Near, Far])
def test_methods(heap: oa.Heap, kernel: Any, line: str, python_class: type) -> None:
    cells = cells_in_a_circle(python_class)
    assert lines_of(message_of(lambda: kernel[N](cells))) == [line, line]


def test_calls_on_many_objects(heap: oa.Heap) -> None:
    cells = cells_in_a_circle()
    for launch in (cells.spread, oa.all(Cell).spread, oa.all(Far).spread):
        found = lines_of(message_of(launch))
        assert set(found) == {"spread reads", "spread writes"}


def test_captured_steps(heap: oa.Heap) -> None:
    cells = cells_in_a_circle()
    with oa.capture() as step:
        touch_all[2](cells)
        one_field[N](cells)
    assert sorted(lines_of(message_of(lambda: step.run(3)))) == ["first", "second"]
    with oa.capture() as fine:
        touch_all[2](cells)
        touch_all[1](cells)
    fine.run(20)
    oa.synchronize()


# ---------------------------------------------------------------- what is no race


@oa.kernel
def own_only(cells: oa.Array[Cell], numbers: oa.Array[i32]):
    i = oa.grid(1)
    cell = cells[i]
    cell.value += 1
    cell.items[i % 4] = cell.value
    cell.pair = Pair(cell.items[0], cell.pair.y)
    cell.flag = not cell.flag
    cell.small = i8(i)
    numbers[i] = cell.value + numbers[i]


@oa.kernel
def one_value(cells: oa.Array[Cell], numbers: oa.Array[i32]):
    cells[0].flag = True
    numbers[0] = 5


@oa.kernel
def nothing_new(cells: oa.Array[Cell]):
    i = oa.grid(1)
    cells[0].value = cells[i].value * 0
    cells[i].known = cells[0].value


@oa.kernel
def atomics(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if cells[0].value < 100:
        oa.atomic_add(cells[0], "value", i)


@oa.kernel
def different_members(cells: oa.Array[Cell]):
    i = oa.grid(1)
    if i < 4:
        cells[0].items[i] = i
    if i == 4:
        cells[0].known = i32(cells[0].pair.x)
    if i == 5:
        cells[0].pair = Pair(cells[0].pair.x, f32(i))


@oa.kernel
def one_then_other(cells: oa.Array[Cell], which: i32):
    if oa.grid(1) == which:
        cells[0].value = which


def test_what_is_no_race(heap: oa.Heap) -> None:
    cells, numbers = cells_in_a_circle(), oa.zeros(N, i32)
    for _ in range(3):
        own_only[N](cells, numbers)
        one_value[N](cells, numbers)
        atomics[N](cells)
        different_members[N](cells)
        for which in range(N):  # other threads, in other launches
            one_then_other[N](cells, which)
        cells.value = 0
        nothing_new[N](cells)
        oa.synchronize()


class Level(oa.Object, unordered=("distance",)):
    distance: i32
    other: i32


@oa.kernel
def relax(levels: oa.Array[Level], counted: i32):
    i = oa.grid(1)
    levels[i].distance = levels[(i + 1) % len(levels)].distance + 1
    if counted > 0:
        levels[0].other = i  # counted


def test_fields_whose_order_is_all_the_same(heap: oa.Heap) -> None:
    levels = oa.new(Level, N)
    relax[N](levels, 0)
    oa.synchronize()
    assert lines_of(message_of(lambda: relax[N](levels, 1))) == ["counted", "counted"]


@pytest.mark.parametrize("given", [("distance", "nothing"), "other", 5, ("distance_of_base",)])
def test_unordered_names_own_fields(given: Any) -> None:
    class Base(oa.Object):
        distance_of_base: i32

    with pytest.raises(oa.ClassError, match="unordered"):

        class Wrong(Base, unordered=given):
            distance: i32


# ---------------------------------------------------------------- barriers


@oa.kernel
def reverse(numbers: oa.Array[i32], out: oa.Array[i32], waits: i32):
    i = oa.grid(1)
    numbers[i] = i + 1  # before
    if waits > 0:
        oa.syncthreads()
    out[i] = numbers[len(numbers) - 1 - i]  # after
    if waits > 1:
        oa.syncthreads()
    numbers[i] = 0  # at the end


@pytest.mark.parametrize("count", [4, 8])
def test_barriers_part_what_a_block_does(backend: Any, count: int) -> None:
    """With blocks of 4 threads; with two of them a barrier is not enough."""
    with oa.Heap(backend=backend, capacity="64MiB", debug=True):
        numbers, out = oa.zeros(count, i32), oa.zeros(count, i32)
        for _ in range(3):
            if count == 4:
                reverse[count, 4](numbers, out, 2)
                oa.synchronize()
                assert out.numpy().tolist() == [4, 3, 2, 1]
            else:
                found = lines_of(message_of(lambda: reverse[count, 4](numbers, out, 2)))
                assert "after" in found and found != ["after", "after"]
        found = lines_of(message_of(lambda: reverse[count, 4](numbers, out, 1)))
        assert "after" in found and found != ["after", "after"]
        message_of(lambda: reverse[count, 4](numbers, out, 0))


@oa.kernel
def fail_after_barrier(numbers: oa.Array[i32]):
    i = oa.grid(1)
    oa.syncthreads()
    if i == 2:
        numbers[9] = 1


def test_errors_after_barriers_name_their_thread(backend: Any) -> None:
    with oa.Heap(backend=backend, capacity="64MiB", debug=True):
        numbers = oa.zeros(4, i32)
        for _ in range(5):
            with pytest.raises(oa.DeviceError, match=r"thread 2: index 9"):
                fail_after_barrier[4, 4](numbers)
                oa.synchronize()


# ---------------------------------------------------------------- the table


@oa.kernel
def fill(numbers: oa.Array[i32], distance: i64):
    i = oa.grid(1)
    numbers[i] = i
    numbers[(i + distance) % len(numbers)] = i


def test_more_scalars_than_the_table_holds_give_no_false_report() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB", debug=True):
        numbers = oa.zeros(1_000_000, i32)
        for _ in range(2):
            fill[1_000_000](numbers, 0)
            oa.synchronize()
        message_of(lambda: fill[1_000_000](numbers, 1))


def test_without_memory_for_the_table_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from sharedoa.backends.cpu import CpuBackend
    from sharedoa.runtime import unit

    monkeypatch.setattr(unit, "TABLE_BYTES", 1 << 60)
    backend = CpuBackend()
    with oa.Heap(backend=backend, capacity="64MiB", debug=True):
        cells = oa.new(Near, N)
        with pytest.warns(UserWarning, match="does not look for races"):
            one_field[N](cells)
        one_field[N](cells)
        oa.synchronize()


def test_normal_code_knows_nothing_of_it() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB", debug=False):
        one_field[N](oa.new(Near, N))
        oa.synchronize()
        text = one_field.asm["ll"]
        assert "sharedoa_note_access" not in text and "sharedoa_check" not in text


def test_code_for_gpus_holds_it_once() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB", debug=True):
        ptx = one_field.compile("nvptx", debug=True).products["ptx"]
    assert isinstance(ptx, str)
    for name in ("sharedoa_note_access", "sharedoa_visit_entry", "sharedoa_check_reference"):
        assert ptx.count(f".func {name}(") + ptx.count(f") {name}(") == 1, name
