"""``C(...)`` and ``oa.new(C, ...)`` in kernels run ``__init__``, as on the host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.errors import CompileError, DeviceError, HeapError

from ..codegen.interpreted import InterpretedGpu
from ..source_files import load_module


class Animal(oa.Object):
    id: i32
    energy: f32
    young: Animal | None
    legs: i32 = 4

    def __init__(self, id: i32, energy: f32 = 5.0) -> None:
        super().__init__()
        self.id = id
        self.energy = energy * self.factor()

    def factor(self) -> f32: ...


class Sheep(Animal):
    wool: i32

    def __init__(self, id: i32, wool: i32) -> None:
        super().__init__(id + 1000)
        self.wool = wool
        if wool < 0:
            return
        self.wool += 1

    def factor(self) -> f32:
        return 2.0


class Wolf(Animal):
    def factor(self) -> f32:
        return 3.0


class Mother(Animal):
    """Its objects begin with another one."""

    def __init__(self, id: i32) -> None:
        Animal.__init__(self, energy=1.0, id=id)
        self.young = Wolf(id + 1)

    def factor(self) -> f32:
        return 1.0


@pytest.fixture(
    params=[
        *("python", "cpu", "debug", "warps"),
        *(pytest.param(each, marks=pytest.mark.gpu) for each in ("cuda", "cuda debug")),
    ]
)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    name: str = request.param
    opened: Any = {"warps": InterpretedGpu(), "debug": "cpu", "cuda debug": "cuda"}.get(name, name)
    with oa.Heap(backend=opened, debug="debug" in name, initial_region=8) as made:
        yield made


@oa.kernel
def make(out: oa.Array[Animal]) -> None:
    i = oa.grid(1)
    if i % 2:
        out[i] = Sheep(wool=i - 4, id=i)
    elif i % 4:
        out[i] = oa.new(Wolf, id=i, energy=1.5)
    else:
        out[i] = Wolf(i)


def test_arguments_defaults_and_bases(heap: oa.Heap) -> None:
    out = oa.zeros(8, Animal)
    make[8](out)
    found = [(type(each).__name__, int(each.id), float(each.energy)) for each in out]
    wolves = {0: 15.0, 2: 4.5, 4: 15.0, 6: 4.5}
    assert found == [
        ("Wolf", i, wolves[i]) if i in wolves else ("Sheep", 1000 + i, 10.0) for i in range(8)
    ]
    assert [int(out[i].wool) for i in (1, 3, 5, 7)] == [-3, -1, 2, 4]
    assert [int(each.legs) for each in out] == [4] * 8


def test_one_that_makes_others(heap: oa.Heap) -> None:
    @oa.kernel
    def mothers(out: oa.Array[Animal]) -> None:
        i = oa.grid(1)
        out[i] = Mother(10 * i)

    out = oa.zeros(5, Animal)
    mothers[5](out)
    assert [(int(each.id), int(each.young.id)) for each in out] == [
        (10 * i, 10 * i + 1) for i in range(5)
    ]
    assert len(oa.all(Wolf)) == 5


def test_keywords_are_evaluated_as_they_stand(heap: oa.Heap) -> None:
    @oa.func
    def next_of(counts: oa.Array[i32]) -> i32:
        counts[0] += 1
        return counts[0]

    @oa.kernel
    def ordered(counts: oa.Array[i32], out: oa.Array[Animal]) -> None:
        out[0] = Sheep(wool=next_of(counts), id=next_of(counts))

    out = oa.zeros(1, Animal)
    ordered[1](oa.zeros(1, i32), out)
    assert (int(out[0].wool), int(out[0].id)) == (2, 1002)


class Named(oa.Object):
    x: i32

    def __init__(self, x: i32) -> None:
        self.x = x

    def made(self) -> i32:
        return self.x * 10


def test_a_method_that_is_called_as_the_compiler_might_call_its_own(heap: oa.Heap) -> None:
    @oa.kernel
    def named(out: oa.Array[i32]) -> None:
        out[0] = Named(3).made()

    out = oa.zeros(1, i32)
    named[1](out)
    assert out[0] == 30


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_what_has_no_room_does_not_begin(backend: str) -> None:
    @oa.kernel
    def many(out: oa.Array[i32], n: i32) -> None:
        for _ in range(n):
            made = Wolf(7)
            if made is not None:
                out[0] += 1

    with oa.Heap(backend=backend):
        oa.reserve(Wolf, 10)
        out = oa.zeros(1, i32)
        with pytest.raises(
            (DeviceError, HeapError), match=r"room for .* new objects of Wolf"
        ) as told:
            many[1](out, 5000)
        wanted = many.function.__code__.co_firstlineno + 3  # not that of __init__
        assert re.search(rf"test_initialisers.py:{wanted}\b", str(told.value))
        assert int(out[0]) == len(oa.all(Wolf)) >= 10
        assert all(int(each.id) == 7 for each in oa.all(Wolf))


def test_another_one_is_seen_by_the_next_launch() -> None:
    class Late(oa.Object):
        id: i32

    @oa.kernel
    def late(out: oa.Array[Late]) -> None:
        out[0] = Late(id=3)

    def begin(self: Late, id: i32) -> None:
        self.id = id * 5

    with oa.Heap(backend="cpu"):
        out = oa.zeros(1, Late)
        late[1](out)
        assert out[0].id == 3
        Late.__init__ = begin  # type: ignore[method-assign, assignment]
        late[1](out)
        assert out[0].id == 15
        assert Late(id=2).id == 10


REFUSED = {
    "Sheep(1)": "Sheep lacks wool",
    "Sheep(1, 2, 3)": "Sheep takes 2 arguments, not 3",
    "Sheep(1, size=2)": "Sheep has no parameter size",
    "Animal(1)": "Animal is abstract: factor has no body",
    "Plain(1)": "Plain.__init__: parameter what has no annotation",
    "Made(1)": "kernels cannot run the __init__ of Made",
    "oa.new(Sheep, 1, 2)": "oa.new makes one object in a kernel",
    "Sheep.__init__": "method __init__ is not called",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str, tmp_path: Path) -> None:
    text = (
        "class Plain(oa.Object):\n    def __init__(self, what): pass\n"
        "class Made(oa.Object):\n    __init__ = lambda self, what: None\n"
        f"@oa.kernel\ndef kernel(cells: oa.Array[Animal]):\n    i = oa.grid(1)\n    {call}\n"
    )
    module = load_module(tmp_path, text, Animal=Animal, Sheep=Sheep)
    with oa.Heap(backend="cpu"), pytest.raises((CompileError, oa.ClassError)) as caught:
        module.kernel[1](oa.zeros(1, Animal))
    assert REFUSED[call] in str(caught.value)


def test_arguments_of_new_have_names() -> None:
    with oa.Heap(backend="python"):
        with pytest.raises(oa.ArgumentError, match=r"all else by name\nhelp: .*Sheep\(\.\.\.\) as"):
            oa.new(Sheep, 1, 2)
        assert len(oa.all(Sheep)) == 0
