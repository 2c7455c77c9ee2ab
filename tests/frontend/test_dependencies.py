"""Which definitions make a translation out of date, and which do not."""

# Kernels here are to be translated or refused; most are no good Python.
# mypy: disable-error-code="type-arg,assignment,index,comparison-overlap"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.frontend import Translation, translate_kernel, tree
from sharedoa.frontend.walk import found_below
from sharedoa.model.world import World

from ..source_files import load_module

PROGRAM = """
FACTOR = 3
@oa.func
def helper(x: f32) -> f32:
    return x * FACTOR
@oa.func
def unused(x: f32) -> f32:
    return x
class Base(oa.Object):
    x: f32
    def a(self) -> f32: ...
    def b(self) -> f32:
        return self.x
class One(Base):
    def a(self) -> f32:
        return helper(self.x) + math.pi
class Two(One):
    def b(self) -> f32:
        return super().b() + 1
class Stranger(oa.Object):
    def a(self) -> f32:
        return f32(0)
def kernel(base: Base, out: oa.Array[f32]):
    out[0] = base.a()
    if isinstance(base, Two):
        out[1] = base.b()
def only_test(base: Base, out: oa.Array[f32]):
    if isinstance(base, Two):
        out[0] = 1
def only_direct(one: One, out: oa.Array[f32]):
    out[0] = one.a()
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    return load_module(tmp_path, PROGRAM)


def redefine(module: ModuleType, name: str, text: str) -> None:
    """Run ``text`` as later source of the same module and bind what it defines."""
    later = load_module(Path(module.__file__ or "").parent, text, **names_of(module))
    setattr(module, name, getattr(later, name))


def names_of(module: ModuleType) -> dict[str, Any]:
    return {n: v for n, v in vars(module).items() if not n.startswith("__")}


def replace_method(module: ModuleType) -> None:
    def a(self) -> f32:
        return self.x

    module.One.a = a


def replace_unrelated_method(module: ModuleType) -> None:
    def a(self) -> f32:
        return self.x

    module.Stranger.a = a


CHANGES: dict[str, Callable[[ModuleType], None]] = {
    "a method is replaced": replace_method,
    "a function it calls is redefined": lambda m: redefine(
        m, "helper", "@oa.func\ndef helper(x: f32) -> f32:\n    return x\n"
    ),
    "a constant is bound anew": lambda m: setattr(m, "FACTOR", 4),
    "a constant is removed": lambda m: delattr(m, "FACTOR"),
    "a constant has another type": lambda m: setattr(m, "FACTOR", 3.0),
    "a subclass that can be the receiver is added": lambda m: redefine(
        m, "Three", "class Three(One):\n    pass\n"
    ),
    "an override is removed": lambda m: delattr(m.Two, "b"),
    "a name is bound to another module": lambda m: setattr(m, "math", m.np),
}

UNRELATED: dict[str, Callable[[ModuleType], None]] = {
    "a method of a stranger is replaced": replace_unrelated_method,
    "a subclass of a stranger": lambda m: redefine(m, "S2", "class S2(Stranger):\n    pass\n"),
    "a function nobody calls": lambda m: redefine(
        m, "unused", "@oa.func\ndef unused(x: f32) -> f32:\n    return x + 1\n"
    ),
    "an equal constant": lambda m: setattr(m, "FACTOR", int("3")),
    "another global": lambda m: setattr(m, "OTHER", 3),
    "an abstract subclass": lambda m: redefine(
        m, "Half", "class Half(Base):\n    def c(self) -> f32: ...\n"
    ),
    "a value struct": lambda m: redefine(m, "V", "@oa.value\nclass V:\n    x: f32\n"),
}


def holds(translation: Translation) -> bool:
    """What a launch finds out that knows of some change: translations are looked at once an
    epoch."""
    World.advance()
    return translation.current()


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_was_used_is_noticed(module: ModuleType, change: str) -> None:
    translation = translate_kernel(module.kernel)
    assert translation.current()
    CHANGES[change](module)
    assert not holds(translation)


@pytest.mark.parametrize("change", UNRELATED)
def test_a_change_of_something_else_is_not(module: ModuleType, change: str) -> None:
    translation = translate_kernel(module.kernel)
    UNRELATED[change](module)
    assert translation.current()


def test_a_thousand_unrelated_definitions_change_nothing(module: ModuleType) -> None:
    """J-2."""
    translation = translate_kernel(module.kernel)
    text = "".join(
        f"class C{k}(oa.Object):\n    x: f32\n    def a(self) -> f32:\n        return self.x\n"
        f"@oa.func\ndef f{k}(x: f32) -> f32:\n    return x\n"
        for k in range(500)
    )
    load_module(Path(module.__file__ or "").parent, text)
    assert translation.current()


def test_a_direct_call_notices_the_first_override(module: ModuleType) -> None:
    translation = translate_kernel(module.only_direct)
    assert translation.current()
    redefine(module, "Four", "class Four(One):\n    def a(self) -> f32:\n        return f32(4)\n")
    assert not holds(translation)
    virtual = translate_kernel(module.only_direct)
    del module.Four.a
    assert not holds(virtual)


def test_a_type_test_notices_a_subclass(module: ModuleType) -> None:
    translation = translate_kernel(module.only_test)
    redefine(module, "Five", "class Five(One):\n    pass\n")
    assert translation.current()
    redefine(module, "Six", "class Six(Two):\n    pass\n")
    assert not holds(translation)


def test_redefining_a_class_is_noticed_through_the_names_that_mean_it(module: ModuleType) -> None:
    translation = translate_kernel(module.kernel)
    redefine(module, "Two", "class Two(One):\n    def b(self) -> f32:\n        return f32(2)\n")
    assert not holds(translation)


def test_a_constant_of_objects_depends_on_their_class(
    module: ModuleType,
) -> None:
    text = """
from typing import ClassVar
class Runner(oa.Object):
    SPEED: ClassVar[int] = 1
    x: i32
    def speed(self) -> i32:
        return self.SPEED
    def least(self) -> i32:
        return Runner.SPEED
def kernel(runner: Runner, out: oa.Array[i32]):
    out[0] = runner.{method}()
"""
    folder = Path(module.__file__ or "").parent
    varying, fixed = (load_module(folder, text.replace("{method}", m)) for m in ("speed", "least"))
    translations = [translate_kernel(m.kernel) for m in (varying, fixed)]
    for m in (varying, fixed):
        redefine(m, "Same", "class Same(Runner):\n    pass\n")
        translate_kernel(m.kernel)
        redefine(m, "Fast", "class Fast(Runner):\n    SPEED: ClassVar[int] = 5\n")
    assert not holds(translations[0])
    kinds: list[set[type]] = [set(), set()]
    for made, kind in zip((translations[0], translate_kernel(varying.kernel)), kinds, strict=True):
        for each in made.program.functions.values():
            found_below(each.body, lambda node, kind=kind: kind.add(type(node)))
    assert [tree.TypeTest in kind for kind in kinds] == [False, True]
    redefine(varying, "Table", "class Table(Runner):\n    SPEED: ClassVar[tuple] = (1, 2)\n")
    with pytest.raises(oa.CompileError) as caught:
        translate_kernel(varying.kernel)
    assert caught.value.message == "Runner.SPEED is another table in a subclass"
    translate_kernel(fixed.kernel)


def test_a_closure_cell_is_a_dependency() -> None:
    scale = 2

    def kernel(out: oa.Array[i32]):
        out[0] = scale

    translation: Translation = translate_kernel(kernel)
    assert translation.current()
    scale = 3
    assert not holds(translation)


class _Plain:
    factor = 3

    def __init__(self) -> None:
        self.inner = SimpleNamespace(width=2)

    @property
    def computed(self) -> int:
        return 1


def test_attributes_that_objects_keep_are_dependencies() -> None:
    settings = _Plain()

    def kernel(out: oa.Array[i32]):
        out[0] = settings.factor * settings.inner.width

    def change_inner() -> None:
        settings.inner.width = 4

    def rebind_inner() -> None:
        settings.inner = SimpleNamespace(width=4)

    def hide() -> None:
        settings.factor = 7

    for change in (change_inner, rebind_inner, hide):
        translation: Translation = translate_kernel(kernel)
        World.advance()
        assert translation.current()
        change()
        assert not holds(translation), change.__name__


class _Asks:
    def __getattr__(self, name: str) -> int:
        return 1


class _Answers:
    width = 2

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


class _Slot:
    __slots__ = ("width",)

    def __init__(self) -> None:
        self.width = 2


@pytest.mark.parametrize("kind", [_Asks, _Answers, _Slot])
def test_attributes_that_may_be_computed_are_refused(kind: type) -> None:
    settings = kind()

    def kernel(out: oa.Array[i32]):
        out[0] = settings.width

    with pytest.raises(oa.CompileError, match=f"settings is a Python {kind.__name__}, wh"):
        translate_kernel(kernel)


@pytest.mark.parametrize("beneath", [{}, {"computed": 5}], ids=["alone", "over another"])
def test_computed_attributes_are_refused(beneath: dict[str, int]) -> None:
    settings = _Plain()
    vars(settings).update(beneath)

    def kernel(out: oa.Array[i32]):
        out[0] = settings.computed

    with pytest.raises(oa.CompileError, match="whose attribute computed may be computed"):
        translate_kernel(kernel)


class _Pair(NamedTuple):
    computed: int = 5


class _ComputedPair(_Pair):
    @property
    def computed(self) -> int:  # type: ignore[override]
        return 1


class _Deletes:
    def __get__(self, owner: Any, kind: Any) -> int:
        return 1

    def __delete__(self, owner: Any) -> None: ...


class _Behind:
    computed = _Deletes()


@pytest.mark.parametrize("kind", [_ComputedPair, _Behind])
def test_attributes_that_are_computed_all_the_same_are_refused(kind: Any) -> None:
    settings = kind()
    if kind is _Behind:
        vars(settings)["computed"] = 5

    def kernel(out: oa.Array[i32]):
        out[0] = settings.computed

    with pytest.raises(oa.CompileError, match="whose attribute computed may be computed"):
        translate_kernel(kernel)


class _Counts:
    asked = 0

    def __get__(self, owner: Any, kind: Any) -> int:
        self.asked += 1
        return self.asked


class _Counted:
    next = _Counts()


def test_attributes_that_are_another_one_each_time_are_refused() -> None:
    """No code would ever be of what they are, and a launch would not end."""

    def kernel(out: oa.Array[i32]):
        out[0] = _Counted.next

    with pytest.raises(oa.CompileError, match="whose attribute next is another one each time"):
        translate_kernel(kernel)


def test_attributes_that_are_not_there() -> None:
    settings = _Plain()

    def kernel(out: oa.Array[i32]):
        out[0] = settings.wrong  # type: ignore[attr-defined]

    with pytest.raises(oa.CompileError, match="settings has no attribute wrong"):
        translate_kernel(kernel)
