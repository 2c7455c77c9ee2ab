"""Overrides, replaced and deleted methods: what they must keep, and the errors that say so."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.model.object import shared_type
from sharedoa.model.world import World

from ..source_files import load_module


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("def a(self, x: f64) -> i32:", "C.a(x: f64) -> i32"),
        ("def a(self, x: f32) -> i64:", "C.a(x: f32) -> i64"),
        ("def a(self, x: f32, y: f32) -> i32:", "C.a(x: f32, y: f32) -> i32"),
        ("def a(self) -> i32:", "C.a() -> i32"),
    ],
)
def test_an_override_keeps_the_signature(tmp_path: Path, method: str, text: str) -> None:
    with pytest.raises(oa.ClassError) as caught:
        load_module(
            tmp_path,
            f"""
            class Base(oa.Object):
                def a(self, x: f32) -> i32: ...
            class Between(Base):
                pass
            class C(Between):
                {method}
                    return 1
            """,
        )
    assert caught.value.message == f"{text} overrides Base.a(x: f32) -> i32 with another signature"


def test_a_class_with_an_error_leaves_the_hierarchy() -> None:
    class Base(oa.Object):
        def a(self, x: f32) -> i32: ...

    with pytest.raises(oa.ClassError):

        class Wrong(Base):
            def a(self, x: i32) -> i32:  # type: ignore[override]
                return 1

    assert shared_type(Base).subclasses == []


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("def a(self, other: f32, k: i32 = 1) -> i32:", "C.a(other: f32, k: i32 = 1) -> i32"),
        ("def a(self, x: f32, k: i32 = 2) -> i32:", "C.a(x: f32, k: i32 = 2) -> i32"),
        ("def a(self, x: f32, k: i32) -> i32:", "C.a(x: f32, k: i32) -> i32"),
        ("def a(self, x: f32 = 0, k: i32 = 1) -> i32:", "C.a(x: f32 = 0, k: i32 = 1) -> i32"),
    ],
)
def test_an_override_keeps_names_and_defaults(tmp_path: Path, method: str, text: str) -> None:
    """A call binds its arguments before it is known which method runs."""
    with pytest.raises(oa.ClassError) as caught:
        load_module(
            tmp_path,
            f"""
            class Base(oa.Object):
                def a(self, x: f32, k: i32 = 1) -> i32: ...
            class C(Base):
                {method}
                    return 1
            """,
        )
    overridden = "Base.a(x: f32, k: i32 = 1) -> i32"
    assert caught.value.message == f"{text} overrides {overridden} with another signature"
    assert "the same parameter names and the same defaults" in caught.value.help


def test_an_override_in_a_function_may_name_its_own_class_and_later_ones() -> None:
    class A(oa.Object):
        x: i32

        def f(self, o: A) -> i32:
            return 0

    class B(A):
        def f(self, o: A) -> i32:
            return 1 if isinstance(o, B) else 2 if isinstance(o, C) else 3

    class C(A):
        pass

    with oa.Heap(backend="cpu", capacity="64MiB"):
        a, b, c = oa.new(A), oa.new(B), oa.new(C)
        assert [b.f(o) for o in (b, c, a)] == [1, 2, 3]


def test_a_method_may_be_replaced_by_a_function_only() -> None:
    class Thing(oa.Object):
        x: i32

        def a(self) -> i32:
            return 1

    def other(self) -> i32:
        return 2

    before = World.epoch
    Thing.a = other  # type: ignore[method-assign]
    assert World.epoch == before + 1
    method = shared_type(Thing).find_method("a")
    assert method is not None and method.function is other

    for name, value in (("a", 3), ("b", other), ("x", 3), ("y", 1)):
        with pytest.raises(oa.ClassError) as caught:
            setattr(Thing, name, value)
        assert f"Thing.{name} cannot be set: the class is already laid out" in str(caught.value)


def test_a_replaced_method_keeps_the_signature() -> None:
    class Base(oa.Object):
        x: i32

        def a(self) -> i32:
            return 1

    class Middle(Base):
        pass

    class Below(Middle):
        def a(self) -> i32:
            return 2

    def wrong(self: Any) -> f32:
        return f32(3)

    before = World.epoch
    for cls, message in (
        (Base, r"Below.a\(\) -> i32 overrides Base.a\(\) -> f32 with another signature"),
        (Middle, r"Middle.a\(\) -> f32 overrides Base.a\(\) -> i32 with another signature"),
        (Below, r"Below.a\(\) -> f32 overrides Base.a\(\) -> i32 with another signature"),
    ):
        with pytest.raises(oa.ClassError, match=message):
            cls.a = wrong  # type: ignore[method-assign,assignment]
    with pytest.raises(oa.ClassError, match=r"method Base\.a is a lambda"):
        Base.a = lambda self: 3  # type: ignore[method-assign,assignment,return-value]
    assert World.epoch == before
    assert [list(shared_type(c).methods) for c in (Base, Middle, Below)] == [["a"], [], ["a"]]


def test_a_replacement_that_names_what_does_not_exist_is_refused_once_the_class_is_in_use() -> None:
    class Base(oa.Object):
        def a(self, o: Base) -> i32:
            return 1

    class Derived(Base):
        def a(self, o: Base) -> i32:
            return 2

    def later(self: Any, o: Nowhere) -> i32:  # type: ignore[name-defined]  # noqa: F821
        return 3

    shared_type(Derived).fields
    with pytest.raises(oa.ClassError, match="'Nowhere' refers to a name that does not exist"):
        Derived.a = later  # type: ignore[method-assign]


def test_a_method_read_from_a_class_is_the_users_function_when_it_is_assigned() -> None:
    class Base(oa.Object):
        def a(self) -> i32: ...

        def b(self) -> i32:
            return 1

    class Derived(Base):
        a = Base.b

    shared = shared_type(Base)
    written = {name: shared.methods[name].function for name in ("a", "b")}
    assert shared_type(Derived).methods["a"].function is written["b"]
    abstract, concrete = Base.a, Base.b

    @functools.wraps(concrete)
    def other(self: Any) -> i32:
        return 2

    Base.a, Base.b = other, other  # type: ignore[method-assign]
    assert shared.methods["b"].function is other and shared.abstract_methods == []
    Base.a, Base.b = abstract, concrete  # type: ignore[method-assign]
    assert {name: shared.methods[name].function for name in written} == written
    assert shared.abstract_methods == ["a"]


def test_replacing_an_inherited_method_makes_an_override() -> None:
    class Base(oa.Object):
        def a(self) -> i32:
            return 1

    class Derived(Base):
        pass

    def other(self) -> i32:
        return 2

    Derived.a = other  # type: ignore[method-assign]
    assert shared_type(Base).is_overridden("a")
    del Derived.a
    assert not shared_type(Base).is_overridden("a")
    found = shared_type(Derived).find_method("a")
    assert found is shared_type(Base).methods["a"]


def test_only_an_override_can_be_deleted() -> None:
    class Base(oa.Object):
        x: i32

        def a(self) -> i32:
            return 1

    class Derived(Base):
        pass

    for cls, name in ((Base, "a"), (Base, "x"), (Derived, "a"), (Derived, "nothing")):
        with pytest.raises(oa.ClassError, match=f"{name} cannot be deleted") as caught:
            delattr(cls, name)
        assert "only an override can" in caught.value.help


def test_deleting_an_override_that_an_abstract_method_needs_makes_the_class_abstract() -> None:
    class Base(oa.Object):
        def a(self) -> i32: ...

    class Derived(Base):
        def a(self) -> i32:
            return 1

    assert not shared_type(Derived).is_abstract
    del Derived.a
    assert shared_type(Derived).is_abstract
