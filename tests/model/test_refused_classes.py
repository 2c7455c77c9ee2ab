"""What is refused where a shared class is defined, and the errors that say so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.model.object import shared_type

from ..source_files import load_module


@pytest.mark.parametrize(
    ("body", "message", "help"),
    [
        ("x = 3", "class C: x has a value and no annotation", "as x: ClassVar[i32] = 3, a field"),
        ("x = 0.5", "class C: x has a value and no annotation", "as x: ClassVar[f32] = 0.5, a"),
        ("x = (1, 2)", "class C: x has a value and no annotation", "as x: ClassVar[tuple] = ..."),
        ("x = oa.f32", "class C: field x has no annotation", "write a colon: x: f32"),
        ("x: f32 = [3]", "class C: the default of field x is a list", "set anything else"),
        ("_heap: i32", "the field name _heap is taken", "rename the field"),
        ("_packed: i32", "the field name _packed is taken", "without the underscore: packed"),
        ("def _run(self): ...", "the method name _run is taken", "rename the method"),
    ],
)
def test_what_a_class_body_must_not_hold(
    tmp_path: Path, body: str, message: str, help: str
) -> None:
    with pytest.raises(oa.ClassError) as caught:
        load_module(tmp_path, f"class C(oa.Object):\n    {body}\n")
    assert message in caught.value.message
    assert help in caught.value.help


@pytest.mark.parametrize(
    ("decorator", "kind"),
    [
        ("oa.func", "DeviceFunction"),
        ("functools.lru_cache", "_lru_cache_wrapper"),
        ("functools.cached_property", "cached_property"),
        ("functools.partialmethod", "partialmethod"),
        ("functools.partial", "partial"),
    ],
)
def test_decorated_methods_are_refused(tmp_path: Path, decorator: str, kind: str) -> None:
    body = f"    @{decorator}\n    def f(self) -> oa.f32: return oa.f32(1)\n"
    with pytest.raises(oa.ClassError, match=f"class C: f is a {kind}, not a plain") as caught:
        load_module(tmp_path, f"import functools\nclass C(oa.Object):\n{body}")
    assert "decorated methods are not supported" in caught.value.message
    assert caught.value.help == "remove the decorator: def f(self, ...)"


def test_a_dataclass_is_refused_by_its_name() -> None:
    """Its own words were that __eq__ is defined, or that a default is a descriptor."""
    for options in ({}, {"eq": False}, {"frozen": True, "order": True}):
        with pytest.raises(
            oa.ClassError, match="class Crate is decorated as a dataclass"
        ) as caught:

            @dataclass(**options)  # type: ignore[call-overload,untyped-decorator]
            class Crate(oa.Object):
                width: i32 = 3

        assert "leave the decorator out: Crate(field=value)" in caught.value.help


def test_another_default_of_a_field_has_no_type() -> None:
    class Crate(oa.Object):
        width: i32 = 3

    class Box(Crate):
        width: i32 = 5

    with pytest.raises(oa.ClassError, match="Crate declares it already") as caught:
        shared_type(Box).fields
    assert "leave out its type: width = ..." in caught.value.help


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("x: int", "int says nothing about the width"),
        ("x: np.float32", "numpy.float32"),
        ("x: Kind", "Kind says nothing about the width"),
        ("x: str", "str is not a type that kernels know"),
        ("x: None", "None is not a type"),
        ("x: Missing", "'Missing' refers to a name that does not exist"),
        ("x: 'f32 +'", "cannot be evaluated"),
        ("sides: f32", "Base declares it already"),
        ("x: 'dict[str, int]'", "is not a type that kernels know"),
        ("x: oa.inline[f32]", "field x: oa.inline takes an element type and a length"),
        ("x: oa.inline[f32, 0]", "the length of an inline array is 0"),
        ("x: oa.inline[f32, True]", "the length of an inline array is True"),
        ("x: oa.inline[f32, 2**31]", "an inline array of 2147483648 elements is too large"),
        ("x: oa.inline[oa.inline[f32, 2], 2]", "an array cannot hold inline[f32, 2]"),
        ("x: Base | Other", "a union of several types has no one layout"),
        ("x: i32 | f32", "field x: a union of several types has no one layout"),
        ("x: oa.Array[i32] | None", "field x: Array[i32] may not be None, which only references"),
        ("x: None | oa.inline[i32, 2]", "field x: inline[i32, 2] may not be None"),
        ("x: f32 | None", "field x: f32 may not be None"),
        ("x: Optional[f32]", "field x: f32 may not be None"),
        ("x: bool | None", "field x: bool may not be None"),
        ("x: oa.vec3 | None", "field x: vec3 may not be None"),
        ("x: oa.Array[f32, 2]", "Array[f32, 2] cannot be kept, it is passed to kernels"),
    ],
)
def test_fields_whose_type_is_no_type(tmp_path: Path, fields: str, message: str) -> None:
    module = load_module(
        tmp_path,
        f"""
        import enum
        from typing import Optional
        class Kind(enum.IntEnum):
            ONE = 1
        class Other(oa.Object):
            y: i32
        class Base(oa.Object):
            sides: i32
        class C(Base):
            {fields}
        """,
    )
    with pytest.raises(oa.ClassError) as caught:
        shared_type(module.C).fields
    assert message in caught.value.message
    assert caught.value.help


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("__eq__", "== compares references"),
        ("__ne__", "!= compares references"),
        ("__bool__", "a condition asks whether a reference is null"),
        ("__len__", "a condition asks whether a reference is null"),
    ],
)
def test_special_methods_that_kernels_would_ignore(name: str, instead: str) -> None:
    def method(self: Any, other: Any = None) -> bool:
        return True

    with pytest.raises(oa.ClassError) as caught:
        type(oa.Object)("C", (oa.Object,), {name: method})
    assert caught.value.message == f"class C defines {name}, which kernels do not call: " + (
        f"there, {instead}"
    )
    assert "plain name" in caught.value.help

    class Later(oa.Object):
        x: i32

    with pytest.raises(oa.ClassError, match=f"class Later defines {name}"):
        setattr(Later, name, method)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("area: f32", "class C: the field area hides the method of its base"),
        ("def sides(self) -> i32:\n        return 1", "class C: sides hides the field of its base"),
        ("sides: ClassVar[int] = 3", "class C: sides hides the field of its base"),
        (
            "@staticmethod\n    def area() -> f32:\n        return f32(1)",
            "class C: area is a staticmethod, but overrides a plain method of its base",
        ),
        (
            "@classmethod\n    def area(cls) -> f32:\n        return f32(1)",
            "class C: area is a classmethod, but overrides a plain method of its base",
        ),
        (
            "@property\n    def area(self) -> f32:\n        return f32(1)",
            "class C: area is a property, but overrides a plain method of its base",
        ),
        (
            "x: i32\n    def x(self) -> i32:\n        return 1",
            "class C: x is both a field and a method",
        ),
        ("area = lambda self: 1", "method C.area is a lambda"),
    ],
)
def test_members_that_hide_others_or_have_no_types(tmp_path: Path, body: str, message: str) -> None:
    text = f"""
from typing import ClassVar
class Base(oa.Object):
    sides: i32
    def area(self) -> f32:
        return f32(0)
class Between(Base):
    pass
try:
    class C(Between):
        {body.replace(chr(10), chr(10) + "    ")}
except oa.ClassError as error:
    found = error
"""
    module = load_module(tmp_path, text)
    assert module.found.message == message
    assert module.found.help
    assert shared_type(module.Between).subclasses == []


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("def a(self, x):\n        return 1", "parameter x has no annotation"),
        ("def a():\n        return 1", "method C.a has no self"),
        ("def a(self, *x: f32):\n        return 1", "is not a plain parameter"),
        ("def a(self) -> oa.inline[f32, 2]:\n        return 1", "cannot return inline[f32, 2]"),
        ("def a(self) -> Nothing:\n        return 1", "'Nothing' refers to a name"),
    ],
)
def test_signatures_that_cannot_be(tmp_path: Path, method: str, message: str) -> None:
    module = load_module(tmp_path, f"class C(oa.Object):\n    {method}\n")
    with pytest.raises(oa.ClassError) as caught:
        shared_type(module.C).methods["a"].signature
    assert message in caught.value.message
    assert caught.value.help


@pytest.mark.parametrize("wrong", [int, object(), oa.Object, "Shape", None])
def test_what_is_no_shared_class(wrong: object) -> None:
    with pytest.raises(oa.ClassError, match="is not a shared class"):
        shared_type(wrong)


@pytest.mark.parametrize(
    ("decorated", "message"),
    [
        ("@oa.func\nclass C:\n    pass\n", "@oa.func decorates functions"),
        ("@oa.func\ndef f(x) -> f32:\n    return x\nf(1)\n", "parameter x has no annotation"),
        (
            "from typing import Self\n@oa.func\ndef f(x: Self) -> f32:\n    return 1\nf(1)\n",
            "x: Self stands in no class",
        ),
    ],
)
def test_functions_misused(tmp_path: Path, decorated: str, message: str) -> None:
    with pytest.raises(oa.ClassError) as caught:
        load_module(tmp_path, decorated)
    assert message in caught.value.message
    assert caught.value.help


def test_a_tuple_as_a_field_names_class_and_field() -> None:
    class Pair(oa.Object):
        both: tuple[f32, f32]

    with pytest.raises(oa.ClassError, match="class Pair, field both: a tuple") as caught:
        _ = shared_type(Pair).fields
    assert "make a field of each part" in caught.value.help


def test_names_that_python_keeps_are_no_fields(tmp_path: Path) -> None:
    with pytest.raises(oa.ClassError, match="__x__ is no name for a field"):
        load_module(tmp_path, "class C(oa.Object):\n    __x__: f32\n")


def test_a_field_larger_than_numpy_describes():
    Wide = oa.value(type("Wide", (), {"__annotations__": {f"x{i}": f32 for i in range(600)}}))

    class Long(oa.Object):
        few: oa.inline[Wide, 2**20]

    with pytest.raises(oa.ClassError, match=rf"takes {2400 * 2**20} bytes.*\n.*use oa.Array"):
        oa.new(Long)


def test_what_is_wrong_in_an_annotation_is_said_once():
    class Long(oa.Object):
        few: oa.inline[f32, 2**30]

    with pytest.raises(oa.ClassError) as caught:
        oa.new(Long)
    assert str(caught.value).startswith("class Long, field few: an inline array of 1073741824 ")
    assert str(caught.value).count("help:") == 1
