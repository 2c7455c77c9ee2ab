"""Annotations of Python 3.14, which are evaluated when somebody asks for them. Other Pythons run
the same code on a stand-in for ``annotationlib`` that says what its documentation says."""

from __future__ import annotations

import enum
import inspect
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
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
    later_body = "{**body(weight='f32'), 'LIMIT': 4, 'weight': 2.0}"
    exec(f"Later = ObjectMeta('Later', (Late,), {later_body})", names)
    late, later = shared_type(names["Late"]), shared_type(names["Later"])
    assert {name: repr(type) for name, type in later.fields.items()} == {
        "size": "f32", "next": "Late", "other": "Later", "rows": "inline[i32, 3]", "weight": "f32",
    }  # fmt: skip
    with oa.Heap(backend="cpu", capacity="64MiB"):
        assert oa.new(names["Later"]).weight == 2.0
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


PROGRAM = """\
import numpy as np

import sharedoa as oa
from sharedoa import f32, i32


class Scale:
    def scaled(self, by: f32) -> f32:
        return self.x * by


class Node(oa.Object):
    next: Node | None
    last: Later | None
    x: f32 = 1.0

    @property
    def behind(self) -> Node | None:
        return self.next

    @staticmethod
    def least(node: Later) -> f32:
        return min(node.x, node.y)

    def value(self, by: f32) -> f32:
        return self.x * by


class Later(Scale, Node):
    y: f32 = 0.25

    def value(self, by: f32) -> f32:
        return self.y + self.scaled(by)


@oa.value
class Pair:
    a: f32
    node: Node | None


@oa.func
def add(a: f32, pair: Pair) -> f32:
    return a + pair.a


@oa.kernel
def run(nodes: oa.Array[Node], out: oa.Array[f32], count: i32) -> None:
    i = oa.grid(1)
    half: f32 = 0.5
    if i < count:
        behind = nodes[i].behind
        out[i] = add(behind.value(2.0), Pair(half, nodes[i]))


nodes = oa.concat(oa.new(Node, 3, x=2.0), oa.new(Later, 3))
nodes.next = nodes
out = oa.zeros(6, f32)
run[6](nodes, out, 6)
assert out.numpy().tolist() == [4.5] * 3 + [2.75] * 3
assert Later(x=3.0).least(Later(x=0.125)) == 0.125
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated at once")
@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_a_program_that_names_later_classes(tmp_path: Path, backend: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with oa.Heap(backend=backend, capacity="64MiB"):
        runpy.run_path(str(tmp_path / "program.py"))
