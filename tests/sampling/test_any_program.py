"""Sampling ends, raises nothing, and changes nothing, whatever the program is; what an operation
does that it does not know, it does not guess."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.frontend.to_ir import to_ir
from sharedoa.ir import operations
from sharedoa.ir.core import LvalueType, operations_in
from sharedoa.ir.operations import Effects, Kind
from sharedoa.ir.rewrite import make
from sharedoa.model import scalars
from sharedoa.sampling import threads
from sharedoa.sampling.threads import Threads, sample
from tests.differential.effort import examples
from tests.differential.populations import make_history
from tests.differential.programs import Size, make_program
from tests.differential.running import SharedWorld, load
from tests.ir.kernels import Cell, Lines, Odd, kernel_of
from tests.ir.programs import program_of
from tests.ir.undeclared import Inserting
from tests.source_files import load_module

from .programs import program as random_text
from .test_memory import Watched
from .test_touches import arguments

SEEDS = st.integers(0, 1 << 20)
#: Field, element's offset, object, lane, whether it is written; and how often.
Found = dict[tuple[Any, ...], float]


def memory_of(heap: oa.Heap) -> list[bytes]:
    """All objects and arrays, byte by byte."""
    objects = [(start, end) for start, end, _ in heap.placement.ranges()]
    ranges = [*objects, *heap.memory.arrays.ranges()]
    return [ctypes.string_at(start, end - start) for start, end in ranges]


def looked_at(
    patch: pytest.MonkeyPatch, program: ir.Program, heap: oa.Heap, size: int, given: Any
) -> Found:
    """What ``sample`` finds, which leaves all memory as it is, reads nothing else, and does not run
    more operations than it may."""
    before, left = memory_of(heap), [0]
    region = Threads.run_region

    def counting(self: Threads, *more: Any) -> None:
        region(self, *more)
        left[0] = self._left

    with patch.context() as inner, heap.lock:
        Watched(heap, inner)
        inner.setattr(Threads, "run_region", counting)
        touches = sample(program, heap, (size, 1), given)
    assert memory_of(heap) == before and left[0] >= 0
    found: Found = {}
    for cls, every in touches.of_class.items():
        for touch in every:
            both = (np.broadcast_to(v, len(touch.weights)) for v in (touch.offsets, touch.objects))
            offsets, objects = both
            for lane in np.flatnonzero(touch.weights).tolist():
                where = int(offsets[lane]), int(objects[lane]), lane, touch.is_write
                key = cls, touch.name, touch.size, *where
                found[key] = max(found.get(key, 0.0), float(touch.weights[lane]))
    return found


@settings(max_examples=examples(20))
@given(SEEDS, st.booleans(), st.sampled_from(["32", "64"]))
def test_programs_that_touch_much(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int, unknown: bool, references: str
) -> None:
    module = load_module(tmp_path, random_text(seed, unknown))
    layout = ("tile", "aos")[seed % 2]
    with oa.Heap("auto", "cpu", layout, "64MiB", 32, references=references) as heap:
        given = arguments(module, heap, seed, is_run=seed % 3 == 0)
        looked_at(monkeypatch, module.run.program.translation().ir, heap, 45, given)
        # Some of the objects that others refer to are gone.
        some, one = [*given[0][::4]], given[1]._reference
        heap.delete(heap.array(module.Node, [each for each in some if each._reference != one]))
        looked_at(monkeypatch, module.run.program.translation().ir, heap, 45, given)


@settings(max_examples=examples(10))
@given(SEEDS)
def test_programs_of_the_differential_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int
) -> None:
    program = make_program(seed, Size(seed % 6, 1 + seed % 3, 1 + seed % 5))
    module = load(program, tmp_path)
    kernel = module.run

    class Sampled:
        """In the place of the kernel."""

        def __getitem__(self, size: int | tuple[int, int]) -> Any:
            count = size if isinstance(size, int) else size[0]

            def launch(*given: Any, **named: Any) -> None:
                names = kernel.program.source.signature.names[len(given) :]
                every = (*given, *(named[name] for name in names))
                looked_at(monkeypatch, kernel.program.translation().ir, heap, count, every)

            return launch

    module.run = Sampled()  # type: ignore[attr-defined]
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32) as heap:
        world = SharedWorld(program, module, heap)
        for step in make_history(program, seed, 2, 40):
            world.delete(step.delete)
            world.create(step.create)
            world.launch(step)


def cells(heap: oa.Heap, seed: int) -> Any:
    random, count = np.random.default_rng(seed), 33
    made = heap.concat(heap.new(Cell, count), heap.new(Odd, 3 * 33 - count))
    made = made[random.permutation(len(made))]
    made.f, made.g = (random.integers(-3, 9, len(made)) for _ in range(2))
    made.items = random.integers(0, 4, (len(made), 4))
    made.next = made[random.permutation(len(made))]
    numbers = heap.array(i32, random.integers(0, 5, 33))
    return made, numbers, heap.zeros(99, i32), int(random.integers(0, 4))


@settings(max_examples=examples(30))
@given(SEEDS, st.integers(1, 4))
def test_operations_that_nobody_declared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int, count: int
) -> None:
    """They may change all that follows: what is found is what comes before."""
    kernel = kernel_of(tmp_path, Lines(seed).kernel())
    known, changed = program_of(kernel), program_of(kernel)
    Inserting(changed, seed, count)
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32) as heap:
        given = cells(heap, seed)
        wanted = looked_at(monkeypatch, known, heap, 33, given)
        found = looked_at(monkeypatch, changed, heap, 33, given)
    assert found.keys() <= wanted.keys()
    assert all(weight <= wanted[key] for key, weight in found.items())


class Item(oa.Object):
    a: i32
    b: i32
    next: Item


@oa.kernel
def chain(items: oa.Array[Item]):
    this = items[oa.grid(1)]
    this.a = i32(1)
    this.next.b = i32(2)


def fields(found: Found) -> set[tuple[str, bool]]:
    return {(key[1], key[-1]) for key in found}


@pytest.mark.parametrize(
    ("effects", "wanted"),
    [
        (None, set()),
        (operations.EVERYTHING, set()),
        (Effects.CALLS, set()),
        (Effects.UNKNOWN | Effects.READS, set()),
        (Effects.READS, {("a", False), ("next", False), ("b", True)}),
        (Effects.WRITES, {("a", True), ("next", False), ("b", True)}),
        (Effects.ATOMIC | Effects.READS, {("a", False), ("a", True), ("next", False), ("b", True)}),
        (Effects.REPORTS | Effects.WAITS, {("next", False), ("b", True)}),
    ],
)
def test_new_kinds_of_operations(
    monkeypatch: pytest.MonkeyPatch, effects: Effects | None, wanted: set[tuple[str, bool]]
) -> None:
    """What they do is what they are declared to; what they make, nobody knows."""
    if effects is not None:
        monkeypatch.setitem(operations._KINDS, "exchange", Kind("exchange", effects))
    program = to_ir(chain.program.translation().program)
    body = program.kernel.body
    (place,) = (k for k, each in enumerate(body.operations) if each.kind == "store" and k < 9)
    store = body.operations[place]
    value, lvalue = store.operands
    assert isinstance(lvalue.type, LvalueType) and lvalue.source is not None
    made = make("exchange", [value, lvalue], store.location, [scalars.i32])
    body.operations[place] = made
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32) as heap:
        items = heap.new(Item, 64)
        items.next = items
        found = looked_at(monkeypatch, program, heap, 64, (items,))
        assert fields(found) == wanted
        # An object that the operation makes is none that anybody knows.
        for each in operations_in(program):
            if each.kind == "field" and each["name"] == "b":
                made.results[0].type = each.operands[0].type
                each.operands[0] = made.result
        found = looked_at(monkeypatch, program, heap, 64, (items,))
        assert fields(found) == wanted - {("b", True)}


@oa.kernel
def forever(items: oa.Array[Item]):
    this = items[oa.grid(1)]
    while this is not None:
        for _ in range(1 << 40):
            while this.a >= i32(0):
                this.b += i32(1)
                this = this.next


def test_loops_that_do_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32) as heap:
        items = heap.new(Item, 64)
        items.next = items[np.random.default_rng(1).permutation(64)]
        program = forever.program.translation().ir
        assert fields(looked_at(monkeypatch, program, heap, 64, (items,))) == {
            ("a", False), ("b", False), ("b", True), ("next", False)
        }  # fmt: skip
        monkeypatch.setattr(threads, "_MOST_OPERATIONS", 40)
        with heap.lock:
            few = sample(program, heap, (64, 1), (items,))
        assert 0 < sum(map(len, few.of_class.values())) <= 40
