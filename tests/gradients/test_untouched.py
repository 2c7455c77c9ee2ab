"""What launches leave in memory for their way back: it is loaded again, whatever happens to memory
meanwhile, and afterwards memory is as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import Context
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.runtime.heap_state import Saved

from ..codegen.interpreted import InterpretedGpu


class Leaf(oa.Object):
    weight: f64
    hits: i32


class Tree(oa.Object):
    level: f64
    scale: f64
    sum: f64
    leaf: Leaf
    leaves: oa.Array[Leaf]

    def part(self, weight: f64) -> f64:
        return self.level * weight * weight

    def gather(self) -> None:
        for leaf in self.leaves:
            self.sum += self.part(leaf.weight) * self.leaf.weight

    def grow(self, by: f64) -> None:
        self.level = self.level * self.scale + self.sum * self.sum * by

    def hop(self) -> None:
        """Changes no float; what others have loaded references from."""
        self.leaf = self.leaves[len(self.leaves) - 1]


class Shrub(Tree):
    def part(self, weight: f64) -> f64:
        return self.level + weight


@pytest.fixture(params=["cpu", "interpreted"])
def heap(request: Any) -> Iterator[oa.Heap]:
    backend = InterpretedGpu() if request.param == "interpreted" else request.param
    with oa.Heap("auto", backend, capacity="64MiB", initial_region=16) as made:
        yield made


class World:
    def __init__(self) -> None:
        self.leaves = oa.new(Leaf, 9, weight=np.linspace(0.5, 1.3, 9))
        self.trees: oa.Array[Tree] = oa.concat(oa.new(Tree, 3), oa.new(Shrub, 1))
        self.trees.level, self.trees.scale = [0.5, 1.0, 1.5, 2.0], 0.9
        self.trees.leaf, self.trees.leaves = self.leaves[4], oa.split(self.leaves, [3, 0, 4, 2])

    def steps(self) -> None:
        for number in range(3):
            oa.all(Tree).gather()
            oa.all(Tree).grow(0.1 * (number + 1))

    def record(self, steps: Callable[[], None] | None = None) -> tuple[Any, Any]:
        with oa.tape() as tape:
            (steps or self.steps)()
            loss = (self.trees.level * [1.0, 2.0, 3.0, 4.0]).sum()
        return tape, loss

    def gradients(self) -> list[np.ndarray]:
        found = self.trees.grad.level, self.trees.grad.scale, self.leaves.grad.weight
        return [np.array(each) for each in found]

    def seen(self) -> list[Any]:
        trees, leaves = self.trees, self.leaves
        fields = trees.level, trees.scale, trees.sum, leaves.weight, leaves.hits, trees.leaf
        arrays = [[int(r) for r in each._references()] for each in trees.leaves]
        return [*(np.array(each).tolist() for each in fields), arrays]


def by_differences(steps: Callable[[World], None] = World.steps) -> list[np.ndarray]:
    """Derivatives by the same fields."""
    values = [np.array([0.5, 1.0, 1.5, 2.0]), np.full(4, 0.9), np.linspace(0.5, 1.3, 9)]

    def loss() -> float:
        with oa.Heap("auto", "python", capacity="64MiB", initial_region=16):
            world = World()
            world.trees.level, world.trees.scale, world.leaves.weight = values
            steps(world)
            return float((world.trees.level.numpy() * [1.0, 2.0, 3.0, 4.0]).sum())

    found = []
    for numbers in values:
        slopes = np.zeros_like(numbers)
        for index, before in enumerate(numbers):
            ends = []
            for step in (1e-6, -1e-6):
                numbers[index] = before + step
                ends.append(loss())
            numbers[index] = before
            slopes[index] = (ends[0] - ends[1]) / 2e-6
        found.append(slopes)
    return found


@pytest.fixture(scope="module")
def expected() -> list[np.ndarray]:
    return by_differences()


def check(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def copies(tape: Any) -> int:
    """How often the tape has copied memory that was about to change."""
    return sum(isinstance(each, Saved) for each in tape._events)


@pytest.mark.usefixtures("heap")
def test_what_is_loaded_again_is_as_it_was(expected: list[np.ndarray]) -> None:
    """Levels change between launches; everything does after the block."""
    world = World()
    tape, loss = world.record()
    # Of what methods of one step change that those of the same one or the one before have loaded.
    assert copies(tape) == 5
    world.trees.level = world.trees.scale = world.leaves.weight = -7.0
    world.trees.leaf, world.trees.leaves = world.leaves[0], oa.split(world.leaves, [0, 9, 0, 0])
    changed = world.seen()
    for factor in (1.0, 2.0):
        tape.backward(loss)
        check(world.gradients(), [factor * each for each in expected])
        assert world.seen() == changed
    oa.all(Tree).gather()
    assert float(world.trees.sum[1]) != 0.0  # of all nine


@pytest.mark.usefixtures("heap")
def test_launches_that_change_no_floats(expected: list[np.ndarray]) -> None:
    def steps(world: World) -> None:
        oa.all(Tree).gather()
        world.trees[2:3].hop()
        world.trees[3:].hop()
        oa.all(Tree).gather()
        oa.all(Tree).grow(0.2)

    world = World()
    tape, loss = world.record(lambda: steps(world))
    after = world.seen()
    tape.backward(loss)
    check(world.gradients(), by_differences(steps))
    assert world.seen() == after


@oa.kernel
def mix(x: oa.Array[f64], index: oa.Array[i32], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    total = 0.0
    for k in range(index[i], -index[i] - 1, -2):
        total += x[(k + 8) % 4] * x[i]
    for k in range(index[i], 3 * index[i]):
        for j in range(k, 5, 3):
            total += x[j % 4] * x[i] * f64(k)
        total += 1.0
    y[i] = y[i] + total * total


def mixed(x: np.ndarray, index: list[int]) -> np.ndarray:
    total = np.zeros(len(x))
    for i, n in enumerate(index):
        total[i] += sum(x[(k + 8) % 4] * x[i] for k in range(n, -n - 1, -2))
        for k in range(n, 3 * n):
            total[i] += 1.0 + sum(x[j % 4] * x[i] * k for j in range(k, 5, 3))
    return total


def test_rounds_are_counted_again(heap: oa.Heap) -> None:
    """Up and down, by more than one, within others, and none at all."""
    start, index = np.array([0.5, -1.0, 1.5, 0.75]), [2, 0, 1, 3]
    x, n, y = oa.array(f64, start), oa.array(i32, index), oa.zeros(4, f64)
    with oa.tape() as tape:
        mix[4](x, n, y)
        loss = y.sum()
    kept = tape.bytes
    tape.backward(loss)
    slopes = np.zeros(4)
    for k in range(4):
        ends = []
        for step in (1e-6, -1e-6):
            moved = start.copy()
            moved[k] += step
            ends.append((mixed(moved, index) ** 2).sum())
        slopes[k] = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(oa.grad(x), slopes, rtol=1e-6)
    # Of 64 bits what the last line asks for, and copies of the arrays.
    lanes = 32 if heap.backend.target.is_device else 1
    assert kept <= 8 * max(4, lanes) + 4 * 8 + 4 * 4


@oa.kernel
def until(x: oa.Array[f64], y: oa.Array[f64], n: i32) -> None:
    i = oa.grid(1)
    for _ in range(6):
        y[i] = y[i] * 0.5 + x[i]
        if x[i] >= n:  # in the first round, or never
            break


@pytest.mark.usefixtures("heap")
@pytest.mark.parametrize("n", [0, 100])
def test_rounds_that_keep_nothing_and_end_early(n: int) -> None:
    x, y = oa.array(f64, [1.0, 2.0]), oa.array(f64, [3.0, 4.0])
    with oa.tape() as tape:
        until[2](x, y, n)
        loss = y.sum()
    tape.backward(loss)
    rounds = 1 if n == 0 else 6
    assert oa.grad(x).tolist() == [sum(0.5**k for k in range(rounds))] * 2
    assert oa.grad(y).tolist() == [0.5**rounds] * 2


@oa.kernel
def square(x: oa.Array[f64], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[i] = x[i] * x[i]


@pytest.mark.usefixtures("heap")
def test_only_arrays_that_are_stored_to_are_copied() -> None:
    x, y, z = oa.array(f64, [1.0, 2.0]), oa.zeros(2, f64), oa.zeros(2, f64)
    with oa.tape() as tape:
        square[2](x, y)
        square[2](y, z)
        assert copies(tape) == 0
        square[2](x, y)  # is about to change y
        assert copies(tape) == 1
        square[2](z, x)
        loss = x.sum()
    tape.backward(loss)
    np.testing.assert_allclose(oa.grad(x), 8 * np.array([1.0, 2.0]) ** 7)


@pytest.mark.usefixtures("heap")
def test_an_array_that_is_stored_to_by_another_name() -> None:
    x = oa.array(f64, [1.0, 2.0, 3.0])
    with oa.tape() as tape:
        square[3](x, x)
        square[3](x, x[:])
        loss = x.sum()
    tape.backward(loss)
    assert oa.grad(x).tolist() == [4.0, 32.0, 108.0]


@oa.kernel
def weigh(leaves: oa.Array[Leaf], out: oa.Array[f64]) -> None:
    total = 0.0
    for leaf in leaves:
        total += leaf.weight * leaf.weight
    oa.atomic_add(out, 0, total * f64(oa.grid(1) + 1))


@pytest.mark.usefixtures("heap")
def test_references_that_the_host_changes() -> None:
    leaves = oa.new(Leaf, 6, weight=np.arange(1.0, 7.0))
    some, out = leaves[[4, 1, 2]], oa.zeros(1, f64)
    with oa.tape() as tape:
        weigh[2](some, out)
    some[0] = leaves[0]
    tape.backward(out)
    assert leaves.grad.weight.numpy().tolist() == [0.0, 12.0, 18.0, 0.0, 30.0, 0.0]
    assert [int(each.weight) for each in some] == [1, 2, 3]
    assert some[0] == leaves[0]
    out[0] = 0.0
    weigh[1](some, out)
    assert float(out[0]) == 1.0 + 4.0 + 9.0


def test_a_few_threads_keep_what_they_load() -> None:
    """Instead of copies of all that they might have met."""
    with oa.Heap("auto", "cpu", capacity="64MiB"):
        leaves = oa.new(Leaf, 100_000, weight=2.0)
        out = oa.zeros(1, f64)
        with oa.tape() as tape:
            pick[1](leaves[5:6], out)
        assert 0 < tape.bytes < 1000
        leaves.weight = 0.0
        tape.backward(out)
        assert leaves.grad.weight[5] == 4.0


@oa.kernel
def pick(leaves: oa.Array[Leaf], out: oa.Array[f64]) -> None:
    out[0] = leaves[0].weight * leaves[0].weight


def test_where_several_threads_use_the_heap(expected: list[np.ndarray]) -> None:
    """Others might look at memory while it is as it was: everything is kept."""
    with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=16) as heap:
        world = World()
        thread = threading.Thread(target=world.seen)
        thread.start()
        thread.join()
        assert heap.upkeep.is_shared
        tape, loss = world.record()
        assert copies(tape) == 0 and tape._untouched.bytes == 0
        tape.backward(loss)
        check(world.gradients(), expected)


@oa.kernel
def scale(leaves: oa.Array[Leaf], by: f64) -> None:
    leaves[oa.grid(1)].weight *= by


def _in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def _in_a_task(work: Callable[[], None]) -> None:
    Context().run(work)


@pytest.mark.parametrize("is_step", [False, True], ids=["kernel", "captured"])
@pytest.mark.parametrize("elsewhere", [_in_a_thread, _in_a_task])
def test_where_others_launch_within_the_block(
    elsewhere: Callable[[Callable[[], None]], None], is_step: bool
) -> None:
    """Without looking at anything, what was launched before."""
    with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=16):
        leaves, out = oa.new(Leaf, 4, weight=2.0), oa.zeros(1, f64)
        scale[4](leaves, 1.0)
        with oa.capture() as step:
            scale[4](leaves, 3.0)
        with oa.tape() as tape:
            pick[1](leaves, out)
            elsewhere(step.run if is_step else lambda: scale[4](leaves, 3.0))
        with pytest.raises(oa.HeapError, match="another thread or task of Python launched"):
            tape.backward(out)
        assert leaves.weight[0] == 6.0


@pytest.mark.parametrize("checkpoints", [2, None])
@pytest.mark.parametrize("elsewhere", [_in_a_thread, _in_a_task])
def test_blocks_at_the_same_time(
    elsewhere: Callable[[Callable[[], None]], None], checkpoints: int | None
) -> None:
    with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=16) as heap:
        leaves, out, tapes = oa.new(Leaf, 4, weight=2.0), oa.zeros(1, f64), []

        def other() -> None:
            with heap, oa.tape(checkpoints=checkpoints) as tape:
                tapes.append(tape)
                scale[4](leaves, 3.0)
                pick[1](leaves, out)

        with oa.tape(checkpoints=checkpoints) as tape:
            pick[1](leaves, out)
            elsewhere(other)
            pick[1](leaves, out)
        with pytest.raises(oa.HeapError, match="another thread or task of Python launched"):
            tape.backward(out)
        if checkpoints or elsewhere is _in_a_task:
            with pytest.raises(oa.HeapError, match="another thread or task of Python launched"):
                tapes[0].backward(out)


def test_where_others_change_memory_within_the_block() -> None:
    """A tape with checkpoints launches again, on memory as it was before."""
    with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=16):
        leaves, out = oa.new(Leaf, 4, weight=2.0), oa.zeros(1, f64)
        for elsewhere in (_in_a_task, _in_a_thread, _in_a_thread):
            for checkpoints in (2, None):
                leaves.weight = 2.0
                with oa.tape(checkpoints=checkpoints) as tape:
                    pick[1](leaves, out)
                    elsewhere(lambda: setattr(leaves, "weight", 3.0))
                    pick[1](leaves, out)
                if checkpoints is None and tape._untouched._copies is None:
                    tape.backward(out)  # all was kept
                    assert leaves.grad.weight[0] == 6.0
                    tape.zero()
                    continue
                with pytest.raises(oa.HeapError, match="another thread or task of Python"):
                    tape.backward(out)
        assert elsewhere is _in_a_thread and checkpoints is None and tape._untouched._copies is None


@pytest.mark.parametrize("checkpoints", [2, None])
@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_where_a_task_changes_one_object_within_the_block(
    backend: str, checkpoints: int | None
) -> None:
    """Which takes no look at launches where there is nothing to wait for."""
    with oa.Heap("auto", backend, capacity="64MiB", initial_region=16):
        leaves, out = oa.new(Leaf, 4, weight=2.0), oa.zeros(1, f64)

        def change() -> None:
            leaves[0].weight += 1.0

        with oa.tape(checkpoints=checkpoints) as tape:
            pick[1](leaves, out)
            _in_a_task(change)
        with pytest.raises(oa.HeapError, match="another thread or task of Python"):
            tape.backward(out)


@oa.kernel
def add_squares(values: oa.Array[f64], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    out[i] = out[i] * 1.5 + values[i] * values[i]


def in_a_thread(call: Callable[[], Any]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


@pytest.mark.parametrize("launches", [True, False])
def test_where_a_thread_comes_within_the_block(launches: bool) -> None:
    """What it changes nobody has copied, be it by a launch or where a NumPy array of it lies."""
    with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=16):
        values, out = oa.array(f64, np.arange(1.0, 5.0)), oa.zeros(4, f64)

        def change() -> None:
            if launches:
                add_squares[4](out, values)
            else:
                values.numpy()[:] = 7.0

        with oa.tape() as tape:
            add_squares[4](values, out)
            in_a_thread(change)
            loss = out.sum()
        with pytest.raises(oa.HeapError, match="another thread"):
            tape.backward(loss)


def test_a_way_back_in_another_thread(expected: list[np.ndarray]) -> None:
    """As PyTorch's engine has it."""
    with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=16):
        world = World()
        tape, loss = world.record()
        in_a_thread(lambda: tape.backward(loss))
        check(world.gradients(), expected)


def test_a_way_back_that_fails_leaves_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from sharedoa.runtime import gradients

    with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=16):
        world = World()
        tape, loss = world.record()
        before = world.seen()
        reverse, calls = gradients.TapedLaunch.reverse, []

        def failing(launch: Any, distance: int) -> None:
            calls.append(1)
            if len(calls) == 5:
                raise MemoryError
            reverse(launch, distance)

        monkeypatch.setattr(gradients.TapedLaunch, "reverse", failing)
        with pytest.raises(MemoryError):
            tape.backward(loss)
        assert world.seen() == before
