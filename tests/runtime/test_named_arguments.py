"""Arguments by name, and parameters that take no others, in kernels and in calls for many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from tests.codegen.interpreted import InterpretedGpu
from tests.source_files import load_module


class Tool(oa.Object):
    size: i32
    name: i32

    def __init__(self, size: i32, *, name: i32 = 7) -> None:
        self.size, self.name = size, name

    def use(self, n: i32, *, twice: bool = False, offset: i32) -> i32:
        return self.size * n * (2 if twice else 1) + offset

    def add(self, name: i32, more: i32 = 1) -> i32:
        self.size += name
        return 10 * self.size + more

    def cut(self, n: i32, deep: i32 = 4, /) -> i32:
        return self.size + n * deep

    def grow(self, name: i32, *, more: i32 = 1) -> None:
        self.size += name * more


class Saw(Tool):
    def use(self, n: i32, *, twice: bool = False, offset: i32) -> i32:
        return super().use(n, offset=offset, twice=not twice) + 1000


@oa.func
def added(a: i32, b: i32 = 2, /, c: i32 = 3) -> i32:
    return a + 10 * b + 100 * c


@oa.func
def scaled(x: f32, *, by: f32 = 2.0) -> f32:
    return x * by


@oa.value
class Span:
    first: i32
    last: i32

    def at(self, k: i32, *, back: bool = False) -> i32:
        return self.last - k if back else self.first + k

    def __mul__(self, *, k: i32) -> i32:
        return self.last * k


@oa.kernel
def kernel(tools: oa.Array[Tool], found: oa.Array[i32], numbers: oa.Array[f32]) -> None:
    i = oa.grid(1)
    span = Span(3, 50)
    found[i] = tools[i].use(i, offset=span.at(2, back=True), twice=i % 3 == 0) + span.at(1)
    numbers[i] = scaled(f32(i)) + scaled(f32(i), by=0.5)


def _run(backend: object) -> list[object]:
    with oa.Heap(backend=backend):
        tools = [Saw(k, name=k) if k % 2 else Tool(k) for k in range(9)]
        found, numbers = oa.zeros(9, i32), oa.zeros(9, f32)
        kernel[9](oa.array(Tool, tools), found, numbers)
        every = oa.all(Tool)
        results = [every.use(2, offset=1), every.use(3, twice=True, offset=np.arange(9))]
        results += [every.add(name=4), every.add(1, more=5), every.add(more=2, name=1)]
        nine = oa.array(i32, range(9))
        with oa.capture() as step:
            every.grow(more=3, name=2)
            every.grow(name=nine)
        step.run(2)
        each = [found, numbers, *results]
        return [*(x.numpy().tolist() for x in each), [(t.size, t.name) for t in tools]]


def test_the_same_everywhere() -> None:
    expected = _run("python")
    assert expected[0][3] == 1000 + 3 * 3 + 48 + 4  # of a saw, which turns ``twice`` round
    for backend in "cpu", InterpretedGpu():
        assert _run(backend) == expected


@pytest.mark.parametrize("backend", ["python", "cpu"])
@pytest.mark.parametrize(
    ("method", "arguments", "named", "complaint"),
    [
        ("use", (1, True), {"offset": 1}, "takes 1 arguments by position, not 2"),
        ("use", (1,), {}, "lacks offset"),
        ("use", (1,), {"offset": 1, "n": 2}, "is given n twice"),
        ("use", (1,), {"offset": 1, "times": 2}, "has no parameter times"),
        ("add", (1, 2, 3), {}, "takes 2 arguments, not 3"),
        ("cut", (), {"n": 1}, "takes n by position only"),
    ],
)
def test_refused_for_many(
    backend: str, method: str, arguments: tuple[int, ...], named: dict[str, int], complaint: str
) -> None:
    with oa.Heap(backend=backend):
        tools = [Tool(1), Saw(2)]
        with pytest.raises(oa.ArgumentError, match=complaint):
            getattr(oa.all(Tool), method)(*arguments, **named)
        assert [tool.size for tool in tools] == [1, 2]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("tool.use(1, True, offset=2)", "takes 1 arguments by position, not 2"),
        ("tool.use(1)", "lacks offset"),
        ("tool.cut(n=1)", "takes n by position only"),
        ("scaled(1.0, 2.0)", "takes 1 arguments by position, not 2"),
        ("Tool(1, 2)", "takes 1 arguments by position, not 2"),
        ("Span(1, 2) * 3", "takes 0 operands by position, not 1"),
    ],
)
def test_refused_in_kernels(call: str, complaint: str, tmp_path: Path) -> None:
    text = f"@oa.kernel\ndef kernel(tool: Tool) -> None:\n    {call}\n"
    module = load_module(tmp_path, text, Tool=Tool, scaled=scaled, Span=Span)
    with oa.Heap(backend="cpu"), pytest.raises(oa.CompileError, match=complaint):
        module.kernel[1](Tool(3))


@oa.kernel
def cutting(tool: Tool, found: oa.Array[i32], k: i32, /) -> None:
    found[0] = added(1) + added(1, c=k) + added(2, 5) + tool.cut(k) + tool.cut(2, 3)


def test_parameters_that_are_never_named() -> None:
    expected = 321 + 821 + 352 + 33 + 7
    for backend in "python", "cpu":
        with oa.Heap(backend=backend):
            tool, found = Tool(1), oa.zeros(1, i32)
            cutting[1](tool, found, 8)
            assert found.numpy().tolist() == [expected]
            assert added(1) + added(1, c=8) + added(2, 5) + tool.cut(8) + tool.cut(2, 3) == expected
            assert oa.all(Tool).cut(2).numpy().tolist() == [9]
            with pytest.raises(oa.ArgumentError, match="takes k by position only"):
                cutting[1](tool, found, k=8)


@oa.kernel
def filling(found: oa.Array[i32], by: i32 = 2, *, plus: i32 = 1, heap: i32) -> None:
    i = oa.grid(1)
    found[i] += by * i * plus + heap


@oa.kernel
def filling_boxes(found: oa.Array[i32], /, by: i32 = 2, *, plus: i32 = 1, heap: i32) -> None:
    x, y, z = oa.grid(3)
    extra: i32 = heap
    found[4 * x + 2 * y + z] += by * z * plus + extra


def _filled(backend: object) -> list[object]:
    results: list[object] = []
    with oa.Heap(backend=backend):
        for kernel, size in (filling, (8, 4)), (filling_boxes, (2, 2, 2)):
            found = oa.zeros(8, i32)
            launch = kernel[size]
            launch(found, heap=100)
            launch(found, 3, heap=200, plus=7, debug=True)
            with oa.capture() as step:
                launch(found, heap=1000, by=2)
            step.run(2)
            results.append(found.numpy().tolist())
            wrong: list[tuple[tuple[int, ...], dict[str, int]]]
            wrong = [((2, 3, 4), {}), ((), {}), ((), {"heap": 1, "hep": 2})]
            for arguments, named in wrong:
                with pytest.raises(oa.ArgumentError) as caught:
                    launch(found, *arguments, **named)
                results.append(str(caught.value))
    return results


def test_kernels_take_them_by_name() -> None:
    expected = _filled("python")
    assert expected[0] == [2300 + k * (2 + 21 + 2 * 2) for k in range(8)]
    assert expected[4] == [2300 + k % 2 * (2 + 21 + 2 * 2) for k in range(8)]
    for number, name, slash in (1, "filling", ""), (5, "filling_boxes", "/, "):
        by_position, lacking, unknown = expected[number : number + 3]
        takes = f"(found: Array[i32], {slash}by: i32 = 2, *, plus: i32 = 1, heap: i32)"
        assert f"kernel {name} takes 2 arguments by position, not 4\n" in str(by_position)
        assert str(lacking) == f"kernel {name} lacks heap\nhelp: it takes {takes}"
        assert f"kernel {name} has no parameter hep\n" in str(unknown)
    for backend in "cpu", InterpretedGpu():
        assert _filled(backend) == expected


def test_parameters_of_boxes_that_are_never_named() -> None:
    with oa.Heap(backend="cpu"):
        with pytest.raises(oa.ArgumentError, match="takes found by position only"):
            filling_boxes[1, 1, 1](found=oa.zeros(1, i32), heap=1)


def test_overriding_methods_take_them_alike() -> None:
    with pytest.raises(oa.ClassError, match=r"n: i32, \*, twice: .* with another"):

        class _Plane(Tool):
            def use(self, n: i32, twice: bool = False, *, offset: i32) -> i32:
                return n

        with oa.Heap(backend="cpu"):
            _Plane(1)


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_other_names_when_a_captured_call_runs(backend: str) -> None:
    class Part(oa.Object):
        size: i32

        def grow(self, by: i32, *, twice: bool = False) -> None:
            self.size += by

    with oa.Heap(backend=backend):
        parts = [Part(size=0), Part(size=1)]
        each = oa.array(i32, [3, 4])
        with oa.capture() as step:
            oa.all(Part).grow(each, twice=True)
        step.run()

        def grow(self: Part, more: i32, *, twice: bool = False) -> None:
            self.size -= more * (2 if twice else 1)

        Part.grow = grow  # type: ignore[method-assign,assignment]
        step.run()
        assert [part.size for part in parts] == [3 - 6, 5 - 8]
