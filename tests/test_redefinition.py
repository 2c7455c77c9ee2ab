"""Definitions that come after a launch, in every mode: seeds J-1 (methods and what they call), J-2
(unrelated ones) and J-3 (overrides and subclasses)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.ir.job import Job

from .source_files import load_module

PROGRAM = """
@oa.func
def callee(x: i32) -> i32:
    return x
class Base(oa.Object):
    x: i32
    def speed(self) -> i32:
        return callee(self.x)
    def kind(self) -> i32: ...
class One(Base):
    def kind(self) -> i32:
        return 1
class Two(One):
    def kind(self) -> i32:
        return 2
class Stranger(oa.Object):
    def kind(self) -> i32:
        return 0
@oa.kernel
def measure(objects: oa.Array[Base], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = objects[i].speed() * 100 + objects[i].kind()
"""


@pytest.fixture
def own_heap(mode: str, backend: str) -> Iterator[oa.Heap]:
    with oa.Heap(mode=mode, backend=backend, capacity="256MiB") as heap:
        yield heap


@dataclass
class Session:
    """A module that is changed as in a notebook, with objects that outlive every change."""

    module: ModuleType
    folder: Path
    objects: list[Any]

    def results(self) -> list[int]:
        references = oa.array(self.module.Base, self.objects)
        out = oa.zeros(len(self.objects), i32)
        self.module.measure[len(self.objects)](references, out)
        values: list[int] = out.numpy().tolist()
        return values

    def define(self, text: str) -> Any:
        """Run a later cell; the name that it defines last is bound in the module."""
        names = {n: v for n, v in vars(self.module).items() if not n.startswith("__")}
        later = load_module(self.folder, text, **names)
        defined = [n for n, v in vars(later).items() if names.get(n) is not v and n[:2] != "__"]
        setattr(self.module, defined[-1], getattr(later, defined[-1]))
        return getattr(later, defined[-1])


@pytest.fixture
def session(own_heap: oa.Heap, tmp_path: Path) -> Session:
    module = load_module(tmp_path, PROGRAM)
    made = Session(module, tmp_path, [oa.new(module.One, x=5), oa.new(module.Two, x=7)])
    assert made.results() == [501, 702]
    return made


def test_a_method_and_then_what_it_calls_is_redefined(session: Session) -> None:
    """J-1."""
    session.module.Base.speed = session.define("def speed(self) -> i32:\n    return self.x + 1")
    assert session.results() == [601, 802]
    session.module.Base.speed = session.define(
        "def speed(self) -> i32:\n    return callee(self.x) * 2"
    )
    assert session.results() == [1001, 1402]
    session.define("@oa.func\ndef callee(x: i32) -> i32:\n    return x + 3")
    # what was compiled refers to the name callee of its own cell, so that cell is run again
    session.module.Base.speed = session.define(
        "def speed(self) -> i32:\n    return callee(self.x) * 2"
    )
    assert session.results() == [1601, 2002]
    assert [o.speed() for o in session.objects] == [16, 20]


def test_a_function_of_the_same_module_is_redefined(session: Session) -> None:
    """J-1: the callee alone."""
    session.define("@oa.func\ndef callee(x: i32) -> i32:\n    return -x")
    assert session.results() == [-499, -698]


def test_overrides_come_and_go(session: Session) -> None:
    """J-3."""
    module = session.module
    assert "speed" not in module.Two.__sharedoa__.methods
    module.Two.speed = session.define("def speed(self) -> i32:\n    return 9")
    assert session.results() == [501, 902]
    del module.Two.speed
    assert session.results() == [501, 702]
    del module.Two.kind
    assert session.results() == [501, 701]


def test_a_subclass_is_added(session: Session) -> None:
    """J-3: also after the only candidate of a call was called directly."""
    three = session.define(
        "class Three(One):\n"
        "    extra: i32\n"
        "    def kind(self) -> i32:\n"
        "        return self.extra\n"
        "    def speed(self) -> i32:\n"
        "        return super().speed() + 1\n"
    )
    session.objects.append(oa.new(three, x=1, extra=33))
    assert session.results() == [501, 702, 233]
    four = session.define("class Four(Three):\n    pass\n")
    session.objects.append(oa.new(four, x=2, extra=44))
    assert session.results() == [501, 702, 233, 344]


def test_a_class_is_redefined(session: Session) -> None:
    """Objects of the class of old stay what they are; new ones are of the new class."""
    two = session.define("class Two(One):\n    def kind(self) -> i32:\n        return 22\n")
    session.objects.append(oa.new(two, x=1))
    assert session.results() == [501, 702, 122]


@pytest.mark.parametrize("mode", [pytest.param("coal", marks=pytest.mark.slow), "range+switch"])
def test_a_thousand_unrelated_definitions_compile_nothing(
    tmp_path: Path, compiled: list[Job], mode: str
) -> None:
    """J-2."""
    with oa.Heap(mode=mode, backend="cpu", capacity="256MiB"):
        module = load_module(tmp_path, PROGRAM)
        session = Session(module, tmp_path, [oa.new(module.One, x=5)])
        assert session.results() == [501]
        assert [job.name for job in compiled] == ["measure"]
        session.define(
            "".join(
                f"class C{k}(Stranger):\n    x: i32\n    def kind(self) -> i32:\n"
                f"        return {k}\n"
                f"@oa.func\ndef f{k}(x: i32) -> i32:\n    return x\n"
                for k in range(500)
            )
        )
        for _ in range(3):
            module.Stranger.kind = session.define("def kind(self) -> i32:\n    return 1")
            assert session.results() == [501]
        assert [job.name for job in compiled] == ["measure"]
        session.define("@oa.func\ndef callee(x: i32) -> i32:\n    return x + 1")
        assert session.results() == [601]
        assert session.results() == [601]
        assert [job.name for job in compiled] == ["measure", "measure"]


def test_an_error_in_a_redefinition_leaves_the_rest_usable(session: Session) -> None:
    wrong = session.define("def speed(self) -> i32:\n    return self.missing")
    good = session.define("def speed(self) -> i32:\n    return 4")
    session.module.Base.speed = wrong
    expected = (oa.CompileError, oa.DeviceError)
    with pytest.raises(expected, match="missing"):
        session.results()
    session.module.Base.speed = good
    assert session.results() == [401, 402]


def test_objects_of_a_class_whose_base_was_defined_again_are_told(tmp_path: Path) -> None:
    names: dict[str, Any] = {"oa": oa, "f32": f32, "__name__": "cells"}
    base = "class Shape(oa.Object):\n    x: f32\n    def area(self) -> f32: ...\n"
    circle = "class Circle(Shape):\n    def area(self) -> f32:\n        return self.x\n"
    holder = "class Holder(oa.Object):\n    shape: Shape\n"
    with oa.Heap(backend="cpu", capacity="256MiB"):
        exec(base + circle, names)
        circles = oa.new(names["Circle"], 3)
        exec(base + holder, names)
        kernel = "@oa.kernel\ndef call(shapes: oa.Array[Shape]) -> None:\n    shapes[0].area()\n"
        (tmp_path / "cell.py").write_text(kernel)
        exec(compile(kernel, str(tmp_path / "cell.py"), "exec"), names)
        below = "a class below a Shape that has been defined again since"
        for use in (
            lambda: names["call"][1](circles),
            lambda: oa.new(names["Holder"], shape=circles[0]),
            lambda: oa.new(names["Holder"], 3, shape=circles),
        ):
            with pytest.raises(oa.ArgumentError, match=f"not .*Circle.* of {below}"):
                use()
        exec(circle, names)
        with pytest.raises(oa.ArgumentError, match=r"as one was defined again\n.*define classes"):
            oa.concat(circles, oa.new(names["Circle"], 1))
        assert len(oa.concat(oa.new(names["Circle"], 1), oa.new(names["Circle"], 1))) == 2
