"""Annotations of Python 3.14, which are evaluated when somebody asks for them. Other Pythons run
the same code on a stand-in for ``annotationlib`` that says what its documentation says."""

from __future__ import annotations

import enum
import inspect
import sys
from collections.abc import Callable
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.model import lazy_annotations
from sharedoa.model.object import ObjectMeta, shared_type


class Format(enum.IntEnum):
    VALUE = 1
    STRING = 4


class StandIn:
    """A class body of 3.14 has a function for its annotations, which may name what does not exist
    yet, and no annotations."""

    Format = Format

    @staticmethod
    def get_annotate_from_class_namespace(namespace: Any) -> Callable[[int], Any] | None:
        return namespace.get("__annotate_func__")  # type: ignore[no-any-return]

    @staticmethod
    def call_annotate_function(annotate: Callable[[int], Any], format: int) -> Any:
        return annotate(format)

    @staticmethod
    def get_annotations(thing: Any, *, format: int) -> dict[str, Any]:
        assert format == Format.STRING
        annotate = vars(thing).get("__annotate_func__")
        return inspect.get_annotations(thing) if annotate is None else annotate(format)


def body(**annotations: str) -> dict[str, Any]:
    def annotate(format: int) -> dict[str, str]:
        if format != Format.STRING:
            raise NameError("what does not exist yet")
        return annotations

    return {"__module__": __name__, "__annotate_func__": annotate}


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python has annotationlib itself")
def test_class_bodies_with_a_function_for_annotations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_annotations, "library", StandIn)
    monkeypatch.setattr(lazy_annotations, "signature", inspect.signature)

    def area(self: Any) -> f32:
        return self.size  # type: ignore[no-any-return]

    # In the scope that resolves names, as if this were a class statement.
    names = {"f32": f32, "i32": i32, "oa": oa, "ObjectMeta": ObjectMeta, "body": body, "area": area}
    made = {
        "size": "f32", "next": "Late", "other": "Later | None", "rows": "oa.inline[i32, 3]",
        "LIMIT": "typing.ClassVar[i32]",
    }  # fmt: skip
    exec(f"Late = ObjectMeta('Late', (oa.Object,), {{**body(**{made!r}), 'LIMIT': 3}})", names)
    exec("Later = ObjectMeta('Later', (Late,), {**body(weight='f32'), 'LIMIT': 4})", names)
    late, later = shared_type(names["Late"]), shared_type(names["Later"])
    assert {name: repr(type) for name, type in later.fields.items()} == {
        "size": "f32", "next": "Late", "other": "Later", "rows": "inline[i32, 3]", "weight": "f32",
    }  # fmt: skip
    assert late.fields["next"].cls is late  # type: ignore[union-attr]
    with pytest.raises(oa.ClassError, match="size has a value and no"):
        exec("ObjectMeta('Wrong', (oa.Object,), {'__module__': 'x', 'size': 5})", names)


class Early(oa.Object):
    size: f32


def test_annotations_that_are_there_already() -> None:
    assert lazy_annotations.of_class_body({}) == {}
    assert lazy_annotations.of_class_body({"__annotations__": {"x": "f32"}}) == {"x": "f32"}
    assert lazy_annotations.of(Early) == {"size": "f32"}
    assert lazy_annotations.of(Early.__repr__) == {"return": "str"}
    parameters = lazy_annotations.signature(oa.Heap.all).parameters
    assert parameters["python_class"].annotation.startswith("type")
