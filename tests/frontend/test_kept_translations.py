"""What a function became in one program is what it becomes in the next, as long as nothing is
otherwise there."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import sharedoa as oa
from sharedoa.frontend import translate_kernel
from sharedoa.frontend.kept_translations import Kept
from sharedoa.frontend.program import ProgramBuilder
from sharedoa.ir.text import program_text
from sharedoa.model.world import World

from ..source_files import load_module

PROGRAM = """
FACTOR = 3
@oa.value
class Pair:
    a: i32
    b: i32
    def sum(self) -> i32:
        return self.a + self.b
def of_name(factor):
    @oa.func
    def scaled(x: i32) -> i32:
        return x * factor
    return scaled
two, five = of_name(2), of_name(5)
@oa.func
def by_five(x: i32) -> i32:
    return five(x) + 1
@oa.func
def square(x: f32) -> f32:
    return x * x
class Base(oa.Object):
    x: i32
    def get(self) -> i32:
        return self.x * FACTOR
    def times(self) -> i32:
        return Pair(self.get(), by_five(1)).sum()
    def is_other(self) -> bool:
        return isinstance(self, Other)
    @classmethod
    def number(cls) -> i32:
        return 1
    def made(self) -> i32:
        return Born(self.x).y
class Other(Base):
    pass
class Born(oa.Object):
    y: i32
    def __init__(self, y: i32):
        self.y = y
def first(base: Base, out: oa.Array[i32]):
    out[0] = base.times()
    if isinstance(base, Other):
        out[1] = base.is_other()
def second(base: Base, out: oa.Array[i32]):
    out[1] = base.times()
def third(base: Base, out: oa.Array[i32]):
    out[0] = two(1)
    out[1] = base.times()
def fourth(base: Base, out: oa.Array[i32]):
    out[0] = base.is_other()
def fifth(base: Base, out: oa.Array[i32]):
    out[0] = base.made()
def sixth(base: Base, out: oa.Array[i32]):
    out[0] = base.made() + base.get()
def seventh(out: oa.Array[i32]):
    out[0] = by_five(1)
def eighth(out: oa.Array[i32]):
    out[0] = by_five(1) + i32(square(f32(out[0])))
def ninth(out: oa.Array[i32]):
    out[0] = i32(square(f32(out[0])))
def numbers(out: oa.Array[i32]):
    out[0] = Other.number()
def squares(x: f32, out: oa.Array[f32]):
    out[0] = square(x)
def squares_again(x: f32, out: oa.Array[f32]):
    out[1] = square(x)
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    return load_module(tmp_path, PROGRAM)


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of functions, each time that one is translated."""
    names: list[str] = []
    translate = ProgramBuilder.translate

    def noted(self: ProgramBuilder, task: object) -> object:
        names.append(task.name)  # type: ignore[attr-defined]
        return translate(self, task)  # type: ignore[arg-type]

    monkeypatch.setattr(ProgramBuilder, "translate", noted)
    return names


def text(module: ModuleType, kernel: str) -> str:
    return program_text(translate_kernel(getattr(module, kernel)).ir)


def anew(module: ModuleType, kernel: str) -> str:
    """As ``text``, of functions that nobody has translated yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kept, "suits", lambda self, about, program: False)
        return text(module, kernel)


def test_each_function_is_translated_once(module: ModuleType, translated: list[str]) -> None:
    text(module, "first")
    assert {"first", "Base.times", "Base.get", "by_five", "scaled", "Pair.sum"} < {*translated}
    translated.clear()
    found = text(module, "second")
    assert translated == ["second"]
    assert found == anew(module, "second")


def test_what_makes_objects_comes_along(module: ModuleType, translated: list[str]) -> None:
    text(module, "fifth")
    translated.clear()
    found = text(module, "sixth")
    assert translated == ["sixth", "Base.get"]
    assert found == anew(module, "sixth") and "Born.__init__" in found


def test_names_are_looked_up_again(module: ModuleType, translated: list[str]) -> None:
    text(module, "first")
    kept = translate_kernel(module.second)
    module.FACTOR = 4
    World.advance()
    assert not kept.current()
    translated.clear()
    assert "value = 4" in text(module, "second")
    assert translated == ["second", "Base.get"]


def test_subclasses_that_another_function_had_asked_for(module: ModuleType) -> None:
    text(module, "first")
    load_module(
        Path(module.__file__ or "").parent, "class More(Other):\n    pass\n", Other=module.Other
    )
    found = text(module, "fourth")
    assert "More" in found and found == anew(module, "fourth")


def test_other_functions_of_the_same_name(module: ModuleType, translated: list[str]) -> None:
    text(module, "second")
    translated.clear()
    found = text(module, "third")
    # Who calls the second one of that name says so; who calls them is as before.
    assert "Base.times" not in translated and "by_five" in translated
    assert found == anew(module, "third")
    assert "func.scaled.2" in found


def test_what_a_function_asks_that_was_taken_before_is_its_own(module: ModuleType) -> None:
    text(module, "seventh")
    text(module, "eighth")  # translates square, and then takes by_five, which calls scaled
    kept = translate_kernel(module.ninth)
    assert {*kept.program.functions} == {"kernel_ninth", "func.square"}
    module.five = None  # nothing that the kernel runs
    assert kept.current() and translate_kernel(module.ninth)


def test_a_way_back_that_was_given_since(module: ModuleType) -> None:
    text(module, "squares")
    before = translate_kernel(module.squares_again)
    assert before.ir.functions["func.square"].gradient is None

    @oa.custom_gradient(module.square)
    def back(x: oa.f32, adjoint: oa.f32) -> oa.f32:
        return 2 * x * adjoint

    program = translate_kernel(module.squares_again).ir
    assert program.functions["func.square"].gradient == "func.back"
    assert not before.current()


def test_what_became_of_class_methods_goes_with_the_class_that_they_are_for(
    module: ModuleType, translated: list[str]
) -> None:
    base, other = (cls.__sharedoa__.made for cls in (module.Base, module.Other))
    before = len(base)
    text(module, "numbers")
    assert len(base) == before and any(isinstance(each, Kept) for each in other.values())
    translated.clear()
    text(module, "numbers")
    assert translated == ["numbers"]


def test_what_was_refused_is_refused_again(module: ModuleType) -> None:
    module.FACTOR = "three"
    for kernel in ("first", "second"):
        with pytest.raises(oa.CompileError, match="FACTOR"):
            text(module, kernel)


OPERATORS = """
@oa.value
class Left:
    x: f32
    def __mul__(self, other: f32) -> f32:
        return self.x * other
@oa.value
class Right:
    x: f32
    def __rmul__(self, other: Left) -> f32:
        return self.x * other.x
@oa.func
def product(left: Left, right: Right) -> f32:
    return left * right
def first(left: Left, right: Right, out: oa.Array[f32]):
    out[0] = product(left, right)
def second(left: Left, right: Right, out: oa.Array[f32]):
    out[0] = product(left, right) + 1.0
"""


def test_an_operator_that_does_not_fit_is_replaced(tmp_path: Path) -> None:
    """CPython asks it first: what fits instead is no longer what runs."""
    module = load_module(tmp_path, OPERATORS)
    before = translate_kernel(module.first)
    assert before.current()
    module.Left.__mul__ = lambda left, right: 7.0
    World.advance()  # as launches do that see it
    assert not before.current()
    for kernel in (module.first, module.second):
        with pytest.raises(oa.ClassError, match="__mul__ was replaced"):
            translate_kernel(kernel)
