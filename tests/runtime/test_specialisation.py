"""Numbers that are given to captured steps are constants of their code: results are the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, i64, u8
from sharedoa.ir.job import Job
from sharedoa.runtime import knobs
from sharedoa.runtime.facts import Given
from sharedoa.runtime.kernel import Kernel
from sharedoa.runtime.specialisation import MOST_VARIANTS
from sharedoa.targets.amdgpu import AmdgpuTarget
from tests.codegen.interpreted import InterpretedGpu

from ..modes import rotated

COUNT = 8
BACKENDS: dict[str, Callable[[], Any]] = {
    "cpu": lambda: "cpu", "python": lambda: "python", "interpreted": InterpretedGpu,
}  # fmt: skip


class Shape(oa.Object):
    size: f32

    def area(self, way: i32, by: f32) -> f32:
        return self.size


class Square(Shape):
    def area(self, way: i32, by: f32) -> f32:
        if way == 1:
            return self.size * self.size * by
        return power(self.size, way) + by


class Circle(Shape):
    def area(self, way: i32, by: f32) -> f32:
        return 3.0 * self.size if way > 1 else -by


@oa.func
def power(x: f32, n: i32) -> f32:
    """Passes on another number than it is given."""
    return x if n <= 1 else x * power(x, n - 1)


@oa.func
def down(x: f32, n: i32, by: i32) -> f32:
    """Passes ``by`` on as it is."""
    if n <= 0:
        return x
    return down(x + f32(by), n - by, by) if by != 0 else x


@oa.kernel
def measure(
    shapes: oa.Array[Shape], out: oa.Array[f32], way: i32, by: f32, twice: bool, rounds: u8
) -> None:
    i = oa.grid(1)
    total = f32(0.0)
    for k in range(rounds):
        total += shapes[i].area(way, by) + f32(k)
        if twice and k == 2:
            break
    if twice:
        total *= 2.0
    elif by < 0.0:
        total = down(total, 6, way)
    out[i] = total


@oa.kernel
def widths(out: oa.Array[i64], narrow: i32, wide: i64) -> None:
    out[0] = i64(narrow * narrow) - wide * wide
    out[1] = i64(narrow << 30) + (wide << 30)


@oa.kernel
def signs(out: oa.Array[f32], x: f32, y: f64) -> None:
    out[0] = 1.0 / x
    out[1] = f32(np.copysign(1.0, y))
    out[2] = 1.0 if x == 0.0 else 2.0
    out[3] = x * f32(2.5)


@oa.kernel
def waves(out: oa.Array[f32], x: f32, n: i32) -> None:
    out[0] = np.sin(x) + f32(n)


@oa.kernel
def unused(out: oa.Array[f32], n: i32) -> None:
    out[0] = 1.0


KERNELS: tuple[Kernel, ...] = (measure, widths, signs, waves, unused)


@pytest.fixture(autouse=True)
def no_code() -> None:
    for kernel in KERNELS:
        kernel.program._drop_units()


def constants(jobs: list[Job]) -> list[dict[str, Any]]:
    """What each job knows, by parameter."""
    return [
        {job.program.kernel.parameters[n].name: x for n, x in job.facts.constants.items()}
        for job in jobs
    ]


def bits(array: Any) -> bytes:
    found: bytes = array.numpy().tobytes()
    return found


def captured(kernel: Kernel, threads: int, *arguments: Any, out: int = 0) -> bytes:
    """What a step leaves behind that launches the kernel; twice, as it may be bound anew."""
    found = []
    with oa.capture() as step:
        kernel[threads](*arguments)
    for _ in range(2):
        step.run()
        found.append(bits(arguments[out]))
    assert found[0] == found[1]
    return found[0]


def launched(kernel: Kernel, threads: int, *arguments: Any, out: int = 0) -> bytes:
    kernel[threads](*arguments)
    return bits(arguments[out])


CHOICES = [
    (1, 0.5, True, 4), (2, -0.0, False, 3), (3, -2.5, False, 200), (0, -1.0, False, 1),
    (-1, math.inf, True, 0),
]  # fmt: skip


@pytest.mark.parametrize(("backend", "mode"), rotated(BACKENDS, ["auto", "coal"]))
def test_steps_do_what_launches_do(backend: str, mode: str, compiled: list[Job]) -> None:
    with oa.Heap(mode, BACKENDS[backend](), capacity="64MiB") as heap:
        squares = heap.new(Square, COUNT // 2, size=[0.25, 1.0, -3.0, 1e20])
        circles = heap.new(Circle, COUNT // 2, size=[0.0, 7.5, 2.0, 1e-20])
        shapes, out = oa.concat(squares, circles), heap.zeros(COUNT, f32)
        for choice in CHOICES:
            step = captured(measure, COUNT, shapes, out, *choice, out=1)
            assert step == launched(measure, COUNT, shapes, out, *choice, out=1), choice
        assert shapes.area(2, 1.5).numpy().tolist() == _areas(shapes)
    names = ("way", "by", "twice", "rounds")
    expected = [dict(zip(names, choice, strict=True)) for choice in CHOICES[:MOST_VARIANTS]]
    if backend != "python":
        of_kernel = [job for job in compiled if job.name == "measure"]
        assert [each for each in constants(of_kernel) if each] == expected


def _areas(shapes: Any) -> list[float]:
    """By a method that is called in a step."""
    with oa.capture() as step:
        found = shapes.area(2, 1.5)
    step.run()
    areas: list[float] = found.numpy().tolist()
    return areas


def test_what_is_decided_is_gone(compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        shapes, out = heap.new(Square, COUNT, size=2.0), heap.zeros(COUNT, f32)
        captured(measure, COUNT, shapes, out, 1, 0.5, True, 1, out=1)
        (variant,) = measure.program.variants(heap, heap.mode, False)
        functions = {each.name for each in variant.program.functions.values()}
        assert not functions & {"power", "down"}
        usual = measure.program.compilation(heap, heap.mode, False, heap.backend.target)
        assert {"power", "down"} <= {each.name for each in usual.program.functions.values()}
        explained = measure.explain()
        assert (
            "\nwith way = 1, by = 0.5, twice = True, rounds = 1: code of its own" in explained
            and "; captured steps run it\n" in explained
        )
        assert "by: always 0.5" in str(variant.job) and "always" not in str(usual.job)


def test_a_few_variants_then_what_all_run(compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(2, i64)
        for number in range(100):
            expected = [number * number - 1, (number << 30) + (1 << 30)]
            captured(widths, 1, out, number, 1)
            assert out.numpy().tolist() == [expected[0], _wrapped(number << 30) + (1 << 30)]
        assert len(compiled) == MOST_VARIANTS + 1
        with oa.capture() as step:
            for number in range(50):
                widths[1](out, number, 1)
        step.run()
        assert out.numpy()[0] == 49 * 49 - 1 and len(compiled) == MOST_VARIANTS + 1
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        captured(widths, 1, heap.zeros(2, i64), 1000, 1)
        assert len(compiled) == MOST_VARIANTS + 1, "also if there are many heaps"


def _wrapped(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


@pytest.mark.parametrize("backend", ["cpu", "interpreted"])
def test_numbers_that_compare_equal(backend: str, compiled: list[Job]) -> None:
    """Steps that differ in one number run side by side; neither takes the other's code."""
    with oa.Heap(backend=BACKENDS[backend](), capacity="64MiB") as heap:
        pairs = [(0.0, 1.0), (-0.0, 1.0), (0.0, -0.0), (math.nan, math.nan)]
        outs = [heap.zeros(4, f32) for _ in pairs]
        steps = []
        for out, (x, y) in zip(outs, pairs, strict=True):
            with oa.capture() as step:
                signs[1](out, x, y)
            steps.append(step)
        for _ in range(2):
            for step in steps:
                step.run()
        found = [bits(out) for out in outs]
        for out, (x, y), seen in zip(outs, pairs, found, strict=True):
            assert launched(signs, 1, out, x, y) == seen
        assert len(set(found)) == len(pairs)
        assert [len(each) for each in constants(compiled)] == [2, 2, 2, 0, 0]


@pytest.mark.parametrize("backend", ["cpu", "interpreted"])
def test_one_number_in_two_widths(backend: str) -> None:
    with oa.Heap(backend=BACKENDS[backend](), capacity="64MiB") as heap:
        for numbers in ((70000, 70000), (70000, -70000), (-5, -5)):
            out = heap.zeros(2, i64)
            step = captured(widths, 1, out, *numbers)
            assert step == launched(widths, 1, out, *numbers)
            narrow, wide = numbers
            first = _wrapped(narrow * narrow) - wide * wide
            assert out.numpy()[0] == first


def test_launches_know_nothing(compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(2, i64)
        widths[1](out, 2, 3)
        captured(widths, 1, out, 4, 5)
        for _ in range(3):
            widths[1](out, 6, 7)
        assert out.numpy()[0] == 36 - 49
        assert constants(compiled) == [{}, {"narrow": 4, "wide": 5}]


def test_the_setting(compiled: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(2, i64)
        with knobs.scope(specialise=False):
            step = oa.capture()
        with step:
            widths[1](out, 4, 5)
        monkeypatch.setenv("SHAREDOA_SPECIALISE", "0")
        captured(widths, 1, out, 8, 9)
    assert constants(compiled) == [{}]


def test_debug_mode_looks_at_everything(compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB", debug=True) as heap:
        for number in range(3):
            captured(widths, 1, heap.zeros(2, i64), number, 5)
    assert constants(compiled) == [{}]


def test_what_would_not_be_the_same_is_not_known(compiled: list[Job]) -> None:
    """LLVM computes sines of constants with another library than the processor's code."""
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        for n in range(3):
            captured(waves, 1, heap.zeros(1, f32), 0.1, n)
    assert constants(compiled) == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_numbers_that_nobody_uses(compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        for n in range(3):
            captured(unused, 1, heap.zeros(1, f32), n)
    assert constants(compiled) == [{}]


def test_what_changes_between_runs(compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB", initial_region=8) as heap:
        shapes = heap.array(Shape, heap.new(Square, COUNT, size=2.0))
        out = heap.zeros(COUNT, f32)
        with oa.capture() as step:
            measure[COUNT](shapes, out, 1, 0.5, False, 1)
        step.run()
        assert out.numpy().tolist() == [2.0] * COUNT
        more = [heap.new(Circle, 70, size=1.0) for _ in range(3)]
        shapes[0] = more[0][0]
        step.run()
        assert out.numpy().tolist() == [-0.5] + [2.0] * (COUNT - 1)
        assert {len(each) for each in constants(compiled)} == {4}


def test_a_method_that_is_redefined(tmp_path: Path, compiled: list[Job]) -> None:
    class Item(oa.Object):
        x: i32

        def value(self, n: i32) -> i32:
            return self.x if n == 1 else 0

    @oa.kernel
    def values(items: oa.Array[Item], out: oa.Array[i32], n: i32) -> None:
        out[oa.grid(1)] = items[oa.grid(1)].value(n)

    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        items, out = heap.new(Item, COUNT, x=5), heap.zeros(COUNT, i32)
        with oa.capture() as step:
            values[COUNT](items, out, 1)
        step.run()
        assert out.numpy().tolist() == [5] * COUNT

        def value(self: Any, n: i32) -> i32:
            return self.x * 2 if n == 1 else 0

        Item.value = value  # type: ignore[method-assign]
        step.run()
        assert out.numpy().tolist() == [10] * COUNT
        assert constants(compiled) == [{"n": 1}] * 2


@oa.kernel
def places(out: oa.Array[i64], n: i32) -> None:
    x, y = oa.grid(2)
    out[y * 16 + x] = i64(x * n + y)


def test_blocks_are_known(compiled: list[Job]) -> None:
    """On devices; each block is other code, within the limit."""
    places.program._drop_units()
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
        expected = [x * 3 + y if x < 11 else -1 for y in range(5) for x in range(16)]
        for block in ((8, 2), (4, 1), (1, 4), (16, 4), (2, 2), (8, 2), (1, 1)):
            out = heap.zeros(16 * 5, i64)
            out[:] = -1
            with oa.capture() as step:
                places[(11, 5), block](out, 3)
            step.run()
            assert out.numpy().tolist() == expected
        assert len(compiled) == MOST_VARIANTS + 1
        for job in compiled[:MOST_VARIANTS]:
            assert "blocks: always " in str(job) and " threads\nn: always 3" in str(job)
        texts = [
            str(each.products["ptx"]) for each in places.program.variants(heap, heap.mode, False)
        ]
        assert len(texts) == MOST_VARIANTS and not any("%ntid" in text for text in texts)
        places[11, 5](out, 3)
        usual = places.program.compilation(heap, heap.mode, False, heap.backend.target)
        assert "%ntid" in str(usual.products["ptx"])
        # With a word for how many threads a block has ptxas takes no bound on registers.
        assert not any("maxntid" in text or "reqntid" in text for text in texts)
        given = Given.of(compiled[0].facts)
        made = places.program.compilation(heap, heap.mode, False, AmdgpuTarget(), given)
        assert '"amdgpu-flat-work-group-size"="16,16"' in str(made.products["opt.ll"])


def test_blocks_alone_are_no_reason(compiled: list[Job]) -> None:
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
        for _ in range(2):
            captured(unused, 1, heap.zeros(1, f32), 1)
    assert len(compiled) == 1
