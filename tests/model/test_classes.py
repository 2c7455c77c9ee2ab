"""Rules of shared classes: fields, bases, methods, overrides, and the errors that name them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, ClassVar, Optional, Self

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.model.classes import common_base
from sharedoa.model.object import require_concrete, shared_type
from sharedoa.model.types import ReferenceType

from ..source_files import load_module


class Shape(oa.Object):
    """A docstring is allowed."""

    sides: i32
    next: Shape
    SCALE: ClassVar[int] = 3

    def area(self) -> f32:
        """An abstract method may have one, too."""
        ...  # noqa: PIE790

    def name(self) -> i32:
        return 1


class Circle(Shape):
    radius: f32

    def area(self) -> f32:
        return self.radius

    @property
    def diameter(self) -> float:
        return 2 * self.radius

    @staticmethod
    def unit() -> int:
        return 1


class Square(Shape):
    def area(self) -> f32:
        return f32(1)

    def corners(self) -> i32:
        return 4


class Filled(Square):
    def area(self) -> f32:
        return f32(2)


def referred(cls: Any, field: str) -> type:
    """The class that a reference field of ``cls`` refers to."""
    found = shared_type(cls).fields[field]
    assert isinstance(found, ReferenceType)
    return found.cls.python_class


def test_fields_come_from_the_base_first() -> None:
    circle = shared_type(Circle)
    assert list(circle.fields) == ["sides", "next", "radius"]
    assert list(circle.own_fields) == ["radius"]
    assert circle.field_owner("sides") is shared_type(Shape)
    assert circle.field_owner("missing") is None


def test_slots_are_numbered_where_a_method_first_appears() -> None:
    shape, square, filled = map(shared_type, (Shape, Square, Filled))
    assert shape.slots == {"area": 0, "name": 1}
    assert square.slots == {"area": 0, "name": 1, "corners": 2}
    assert filled.slots == square.slots
    assert filled.find_method("area") is filled.methods["area"]
    assert filled.find_method("corners") is square.methods["corners"]
    assert filled.find_method("missing") is None


def test_entries_of_a_family_do_not_overlap() -> None:
    classes = [shared_type(c) for c in (Shape, Circle, Square, Filled)]
    assert len({id(cls.family) for cls in classes}) == 1
    places = [cls.entry_base + slot for cls in classes for slot in cls.slots.values()]
    assert sorted(places) == list(range(classes[0].family.entries))


def test_type_indices_are_unique_and_grow() -> None:
    indices = [shared_type(c).type_index for c in (Shape, Circle, Square, Filled)]
    assert indices == sorted(set(indices)) and indices[0] > 0


def test_abstract_and_concrete() -> None:
    shape = shared_type(Shape)
    assert shape.is_abstract and shape.abstract_methods == ["area"]
    assert [cls.name for cls in shape.concrete()] == ["Circle", "Square", "Filled"]
    assert shape.is_overridden("area") and not shape.is_overridden("name")
    assert shared_type(Square).is_overridden("area")
    assert not shared_type(Circle).is_overridden("area")
    with pytest.raises(oa.ClassError) as caught:
        require_concrete(shape)
    assert caught.value.message == "Shape is abstract: area has no body"
    assert caught.value.help == "instantiate a subclass that overrides it"


def test_several_missing_methods_are_all_named() -> None:
    class Task(oa.Object):
        def start(self) -> i32: ...

        def stop(self) -> i32: ...

    with pytest.raises(oa.ClassError, match="Task is abstract: start, stop have no body"):
        require_concrete(shared_type(Task))


def test_common_base() -> None:
    shape, circle, square, filled = map(shared_type, (Shape, Circle, Square, Filled))
    assert common_base([filled, square]) is square
    assert common_base([filled, circle]) is shape
    assert common_base([circle]) is circle

    class Other(oa.Object):
        x: i32

    assert common_base([circle, shared_type(Other)]) is None


def test_host_only_members_stay_pythons() -> None:
    assert Circle.unit() == 1
    assert Circle.SCALE == 3
    assert set(shared_type(Circle).slots) == {"area", "name"}


@pytest.mark.parametrize("annotation", ["ClassVar[int]", "ClassVar", "typing.ClassVar[int]"])
@pytest.mark.parametrize("quote", ["", "'"])
def test_subclasses_override_constants(tmp_path: Path, annotation: str, quote: str) -> None:
    source = f"""
import typing
from typing import ClassVar
class Base(oa.Object):
    LIMIT: {quote}{annotation}{quote} = 3
class Between(Base):
    LIMIT = 4
class Last(Between):
    LIMIT = 5
"""
    module = load_module(tmp_path, source)
    assert [c.LIMIT for c in (module.Base, module.Between, module.Last)] == [3, 4, 5]
    assert shared_type(module.Last).fields == {}


def test_a_shared_class_has_one_base() -> None:
    with pytest.raises(oa.ClassError, match="class Both has 2 shared classes") as caught:

        class Both(Circle, Square):
            pass

    assert "hold a reference to the other instead" in caught.value.help


def test_special_methods_of_the_host_alone() -> None:
    class Named(oa.Object):
        x: i32

        def __repr__(self) -> str:
            return f"named {self.x}"

        def __hash__(self) -> int:
            return 1

    with oa.Heap(backend="cpu", capacity="64MiB"):
        assert repr(Named(x=3)) == "named 3"


def test_classes_may_refer_to_each_other_before_they_exist() -> None:
    class Left(oa.Object):
        other: Right
        maybe: Optional[Right]  # noqa: UP045
        also: Right | None

    class Right(oa.Object):
        other: Left
        own: Right

    assert [repr(t) for t in shared_type(Left).fields.values()] == ["Right"] * 3
    assert [repr(t) for t in shared_type(Right).fields.values()] == ["Left", "Right"]


def test_self_is_the_class_that_it_stands_in() -> None:
    class Plain:  # a mixin
        def mixed(self, other: Self) -> Self:
            return other

    class Node(oa.Object):
        next: Self | None
        all: oa.Array[Self]

        def follow(self, by: Self) -> Self:
            return by

        def replaced(self) -> Self: ...

    class Leaf(Plain, Node):
        pass

    def replaced(self: Any) -> Self:
        return self

    Node.replaced = replaced
    node = shared_type(Node)
    assert [repr(t) for t in shared_type(Leaf).fields.values()] == ["Node", "Array[Node]"]
    for cls, name in ((Leaf, "follow"), (Leaf, "mixed"), (Node, "replaced")):
        method = shared_type(cls).find_method(name)
        assert method is not None
        expected = shared_type(Leaf) if name == "mixed" else node
        assert method.signature.result == ReferenceType(expected)

    @oa.value
    class Pair:
        x: f32

        def larger(self, other: Self) -> Self:
            return other if other.x > self.x else self

    assert Pair(1).larger(Pair(2)).x == 2


def test_annotations_need_not_be_strings() -> None:
    module_fields = {"a": f32, "b": oa.Array[i32], "c": Shape, "d": oa.inline[Shape, 2], "e": bool}
    made = type(oa.Object)("Made", (oa.Object,), {"__annotations__": module_fields})
    assert [repr(t) for t in shared_type(made).fields.values()] == [
        "f32", "Array[i32]", "Shape", "inline[Shape, 2]", "bool",
    ]  # fmt: skip


def test_a_redefined_class_is_what_a_later_reference_means(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        class Node(oa.Object):
            next: Node
        First = Node
        FIRST_NEXT = First.__sharedoa__.fields["next"]
        class Node(oa.Object):
            next: Node
            extra: i32
        """,
    )
    assert module.FIRST_NEXT.cls.python_class is module.First
    assert referred(module.Node, "next") is module.Node


def test_a_class_made_twice_by_a_function_refers_to_its_own(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        def make():
            class Tree(oa.Object):
                child: Tree
                leaf: Leaf
            class Leaf(oa.Object):
                tree: Tree
            Leaf.__sharedoa__.fields, Tree.__sharedoa__.fields
            return Tree, Leaf
        """,
    )
    for tree, leaf in (module.make(), module.make()):
        assert referred(tree, "child") is tree
        assert referred(tree, "leaf") is leaf
        assert referred(leaf, "tree") is tree


def test_abstract_means_a_body_of_dots_or_of_not_implemented_alone(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        '''
        class C(oa.Object):
            def dots(self) -> i32: ...
            def documented(self) -> i32:
                """What it does."""
                ...
            def raises(self) -> i32:
                raise NotImplementedError
            def says_more(self) -> i32:
                """What it does."""
                raise NotImplementedError("write it")
            def nothing(self):
                pass
            def returns(self):
                return
            def only_text(self):
                """Nothing happens."""
            def computes(self) -> i32:
                return 1
        ''',
    )
    assert shared_type(module.C).abstract_methods == ["dots", "documented", "raises", "says_more"]


def test_no_module_is_looked_for_where_a_class_is_defined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among all that are imported, each time: a third of the time that importing a program took."""
    monkeypatch.setattr(inspect, "getmodule", None)
    text = """
        class C(oa.Object):
            def dots(self) -> i32: ...
            def nothing(self):
                pass
    """
    assert shared_type(load_module(tmp_path, text).C).abstract_methods == ["dots"]


def test_functions_convert_on_the_host_as_compiled() -> None:
    @oa.func
    def twice(x: f32, k: i32 = 2) -> f32:
        return x * k

    result = twice(0.1)
    assert type(result).__name__ == "float32" or type(result).__name__ == "float64"
    assert result == f32(0.1) * 2
    with pytest.raises(oa.ArgumentError, match="twice: k takes i32, and float does not convert"):
        twice(1, 2.5)
    with pytest.raises(oa.ArgumentError, match="does not fit it"):
        twice(1, 2**40)
    with pytest.raises(oa.ArgumentError, match="takes f32, not None"):
        twice(None)


def test_fields_of_one_object_cannot_be_deleted():
    circle = oa.new(Circle, radius=1.0)
    with pytest.raises(oa.ClassError, match=r"Circle.radius cannot be deleted.*\n.*oa.delete"):
        del circle.radius
    assert circle.radius == 1.0


def test_an_inline_field_takes_sequences():
    class Few(oa.Object):
        few: oa.inline[f32, 3]

    few = oa.new(Few, few=[1, 2, 3])
    with pytest.raises(oa.ArgumentError, match="holds 3 elements, and is given 5"):
        few.few = 5
    assert list(few.few) == [1, 2, 3]
