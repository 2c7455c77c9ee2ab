"""Expressions: what is evaluated once, what only sometimes, and where."""

# Kernels here are to be translated or refused; most are no good Python.
# mypy: disable-error-code="type-arg,assignment,index,comparison-overlap"

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, i64
from sharedoa.frontend import tree

from .translated import complaints, kernel_from, text_of, translate, variable_types


class Node(oa.Object):
    next: Node
    weight: f32
    counts: oa.inline[i32, 4]

    def cost(self) -> f32:
        return self.weight


class Leaf(Node):
    size: i32

    def cost(self) -> f32:
        return self.weight * 2


class Other(oa.Object):
    weight: f32


@oa.value
class Vector:
    x: f32
    y: f32

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __rmul__(self, k: f32) -> Vector:
        return Vector(k * self.x, k * self.y)

    def __neg__(self) -> Vector:
        return Vector(-self.x, -self.y)

    def __lt__(self, other: Vector) -> bool:
        return self.x < other.x

    def dot(self, other: Vector) -> f32:
        return self.x * other.x + self.y * other.y

    @property
    def length(self):  # without a type
        return self.dot(self)


class Particle(oa.Object):
    position: Vector


LIMITS = (3, 2.5)

IN_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
ARITIES = {"atan2": 2, "pow": 2, "fmod": 2, "hypot": 2, "copysign": 2, "fma": 3}


@oa.func
def step(x: f32) -> f32:
    return x + 1


def nodes_of(function, kind: type) -> list[Any]:
    """Every tree node of one kind in a kernel's body, outer ones first."""
    found = []

    def visit(value) -> None:
        if isinstance(value, kind):
            found.append(value)
        if isinstance(value, (tree.Expression, tree.Statement, tree.FieldPlace, tree.ElementPlace)):
            for part in vars(value).values():
                for item in part if isinstance(part, list) else [part]:
                    visit(item)

    for statement in translate(function).kernel.body:
        visit(statement)
    return found


def test_a_comparison_chain_evaluates_each_operand_once_and_stops_early() -> None:
    def kernel(x: f32, out: oa.Array[bool]):
        out[0] = step(0) < step(x) <= step(5) != step(7)

    assert len(nodes_of(kernel, tree.DirectCall)) == 4
    (first, second) = nodes_of(kernel, tree.Logical)
    assert first.operator == second.operator == "and"
    bound = [node for node in nodes_of(kernel, tree.Let) if isinstance(node.value, tree.DirectCall)]
    assert len(bound) == 4, "each operand is bound before it is compared"
    # the third operand is evaluated only when the first comparison holds
    text = text_of(kernel)
    assert text.index("<") < text.index("and") < text.index("f32(5.0)")


def test_and_or_of_bools_short_circuit() -> None:
    def kernel(a: bool, x: f32, out: oa.Array[bool]):
        out[0] = a and step(x) > 1 or not a

    assert "((a and (func.step(x) > f32(1.0))) or (not a))" in text_of(kernel)


def test_and_or_of_numbers_give_an_operand() -> None:
    def kernel(x: f32, n: i32):
        a = x and 3
        b = n or 5
        c = n and x > 0

    bad = complaints(kernel)
    assert len(bad) == 1 and "the result of and is i32 in one case and bool" in bad[0].message

    def good(x: f32, n: i32):
        a = x and 3
        b = n or 5

    assert variable_types(good) == {"a": "f32", "b": "i32"}
    assert "(f32(3.0) if bool(" in text_of(good)
    assert "else i32(5))" in text_of(good)


def test_a_conditional_takes_the_wider_weak_type_and_the_common_base() -> None:
    def kernel(a: bool, x: f32, leaf: Leaf, node: Node):
        p = 1 if a else 2.5
        q = x if a else 0
        r = leaf if a else node
        s = leaf if a else None

    assert variable_types(kernel) == {"p": "float", "q": "f32", "r": "Node", "s": "Leaf"}
    text = text_of(kernel)
    assert "(1.0 if a else 2.5)" in text
    assert "(Node(leaf) if a else node)" in text
    assert "(leaf if a else None<Leaf>)" in text


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("x if a else n", "is f32 in one case and i32 in another"),
        ("x if a else None", "is f32 in one case and None in another"),
        ("min(x, n)", "min or max is f32 in one case and i32"),
        ("min()", "min and max take values, or what has some"),
        ("len(x)", "this has no length"),
        ("x is n", "is compares references, not f32 and i32"),
        ("a in x", "f32 cannot be gone through"),
        ("x.real", "f32 has no attribute real"),
        ("x[0]", "f32 cannot be indexed"),
        ("isinstance(x, np.float32)", "f32 is no object of a shared class"),
        ("undefined + 1", "undefined is not defined"),
        ("oa.nothing", "oa has no attribute nothing"),
        ("math.factorial(x)", "math.factorial is a Python function that kernels cannot call"),
        ("sorted(x)", "sorted is a Python function that kernels cannot call"),
        ("x()", "this is not a function"),
        ("math", "math is a Python module, which kernels cannot use"),
        ("math.sqrt", "math.sqrt is used as a value"),
        ("(1, a)[n]", "an item of the tuple is int in one case and bool in another"),
        ("(1, (2, 3))[n]", "an item of the tuple is int in one case and (int, int) in another"),
        ("(1, 2)[x]", "the index is f32, not an integer"),
        ("pow(n, 2, 3)", "pow takes two arguments in kernels"),
        ("(1, 2)[2]", "the tuple has 2 items"),
        ("range(3)", "range is only known in for loops"),
        ("oa.grid(4)", "oa.grid takes 1, 2 or 3"),
        ("oa.syncthreads()", "oa.syncthreads gives no value"),
        ("f32(x, x)", "f32 takes one value"),
    ],
)
def test_expressions_without_a_meaning(tmp_path: Path, expression: str, message: str) -> None:
    kernel = kernel_from(tmp_path, "a: bool, x: f32, n: i32", f"r = {expression}")
    (complaint,) = complaints(kernel)
    assert message in complaint.message
    assert complaint.help


def test_min_and_max_keep_the_first_of_equals() -> None:
    def kernel(x: f32, n: i64):
        p = max(x, 0)
        q = min(n, 3, 5)

    assert variable_types(kernel) == {"p": "f32", "q": "i64"}
    text = text_of(kernel)
    comparisons = [node.operator for node in nodes_of(kernel, tree.Compare)]
    assert comparisons == ["gt", "lt", "lt"]
    assert "let" in text


def test_isinstance_is_decided_where_the_static_type_says_it() -> None:
    def kernel(node: Node, leaf: Leaf, out: oa.Array[bool]):
        out[0] = isinstance(node, Leaf)
        out[1] = isinstance(leaf, Node)
        out[2] = isinstance(node, (Leaf, Other))

    lines = text_of(kernel).splitlines()
    assert "isinstance(" in lines[0]
    assert "bool(" in lines[1] and "isinstance" not in lines[1], "only null is no Node"
    (test, *others) = nodes_of(kernel, tree.TypeTest)
    assert [cls.name for cls in test.matching] == ["Leaf"]
    assert all(not other.matching for other in others if other.cls.name == "Other")


def test_isinstance_narrows_a_local() -> None:
    def kernel(node: Node, out: oa.Array[i32]):
        if isinstance(node, Leaf) and node.size > 0:
            out[0] = node.size
        out[1] = node.size if isinstance(node, Leaf) else 0
        while isinstance(node, Leaf):
            out[2] = node.size
            node = node.next

    assert text_of(kernel).count("Leaf(node).size") == 4


@pytest.mark.parametrize(
    "body",
    [
        "if isinstance(n, Leaf):\n    n = n.next\n    out[0] = n.size",
        "if isinstance(n, Leaf):\n    pass\nout[0] = n.size",
        "if isinstance(n, Leaf) or True:\n    out[0] = n.size",
        "if isinstance(n, Leaf):\n    pass\nelse:\n    out[0] = n.size",
        "if isinstance(n, Leaf):\n    for k in range(3):\n        out[0] = n.size\n"
        "        n = n.next",
    ],
)
def test_narrowing_ends_where_it_may_be_wrong(tmp_path: Path, body: str) -> None:
    kernel = kernel_from(tmp_path, "n: Node, out: oa.Array[i32]", body, Node=Node, Leaf=Leaf)
    (complaint,) = complaints(kernel)
    assert complaint.message == "Node has no field or method size"
    test = "use it inside `if isinstance(n, Leaf):`"
    assert complaint.help == f"Leaf has it: {test}, or declare it in Node"


def test_references_compare_by_identity() -> None:
    def kernel(a: Node, b: Leaf, out: oa.Array[bool]):
        out[0] = a is b
        out[1] = a != b
        out[2] = a is None
        out[3] = None is None
        out[4] = a == a.next and not b

    text = text_of(kernel)
    assert "(a is Node(b))" in text
    assert "(a is not Node(b))" in text
    assert "(a is None<Node>)" in text
    assert "out[3] = bool(True)" in text
    assert "(not bool(b))" in text

    def unrelated(a: Node, b: Other, out: oa.Array[bool]):
        out[0] = a is b

    (complaint,) = complaints(unrelated)
    assert "have no common base class" in complaint.message


def test_value_structs_and_their_operators() -> None:
    def kernel(v: Vector, w: Vector, particle: Particle):
        a = v + w
        b = 2 * v
        c = -v
        d = v < w
        e = v == w
        f = v != w
        g = v.dot(w) + v.x
        h = Vector(1, y=v.y)
        particle.position = a
        k = particle.position.x

    types = variable_types(kernel)
    assert [types[n] for n in "abch"] == ["Vector"] * 4
    assert [types[n] for n in "def"] == ["bool"] * 3
    assert types["g"] == types["k"] == "f32"
    text = text_of(kernel)
    assert "h: Vector = Vector(f32(1.0), v.y)" in text
    assert "k: f32 = particle.position.x" in text
    assert "value.Vector.__add__" in text and "value.Vector.__lt__" in text
    # 2 * v: Python evaluates 2, then v, then calls v.__rmul__(2)
    assert "value.Vector.__rmul__" in text
    # v == w without __eq__ compares field by field
    assert ".x ==" in text and ".y ==" in text


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("v - v", "Vector - Vector is not defined"),
        ("v * 2", "Vector * int is not defined"),
        ("~v", "Vector does not define __invert__"),
        ("v > v", "Vector and Vector cannot be compared so"),
        ("v + 1", "Vector.__add__: other takes Vector, not int"),
        ("v.z", "Vector has no field or method z"),
        ("v.length", "Vector.length is no field or method that kernels know"),
        ("v.dot", "method dot is not called"),
        ("Vector(1)", "Vector lacks y"),
        ("Vector(1, 2, 3)", "Vector takes 2 arguments, not 3"),
        ("1 if v else 2", "Vector has no truth value"),
    ],
)
def test_value_structs_misused(tmp_path: Path, expression: str, message: str) -> None:
    kernel = kernel_from(tmp_path, "v: Vector", f"r = {expression}", Vector=Vector)
    (complaint,) = complaints(kernel)
    assert message in complaint.message
    assert complaint.help


def test_inline_arrays_are_places() -> None:
    def kernel(node: Node, out: oa.Array[i32]):
        out[0] = node.counts[1] + node.counts[-1]
        node.counts[oa.grid(1)] = 3
        out[1] = len(node.counts)

    text = text_of(kernel)
    assert "(node.counts[1] +.i32 node.counts[3])" in text
    assert "node.counts[thread_index(0)] = i32(3)" in text
    assert "out[1] = i32(4)" in text


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("x = n.counts", "an inline array is no value of its own"),
        ("n.counts = 1", "inline[i32, 4] takes 4 items, not int"),
        ("n.counts = [1, 2, 3]", "inline[i32, 4] is given 3 items"),
        ("n.counts = [1] * 3", "inline[i32, 4] has 4 items"),
        ("z = [1] * 5\nn.counts = z", "inline[i32, 4] takes 4 items, not list[int]"),
        ("n.counts = (1, 2.5, 3, 4)", "element 1 takes i32, and float does not convert"),
        ("n.counts += 1", "an inline array has no operators"),
        ("x = n.counts.sum()", "an inline array has no attribute sum"),
        ("x = n.counts[0.5]", "the index is float, not an integer"),
        ("x = n.counts[0, 1]", "inline[i32, 4] has 1 index"),
        ("x = n.counts[1:2]", "is no value of its own"),
    ],
)
def test_inline_arrays_misused(tmp_path: Path, statement: str, message: str) -> None:
    kernel = kernel_from(tmp_path, "n: Node", statement, Node=Node)
    (complaint,) = complaints(kernel)
    assert message in complaint.message
    assert complaint.help


def test_negative_indices_wrap_only_where_they_can_occur() -> None:
    def kernel(a: oa.Array[f32], n: i32, u: oa.u32):
        i = oa.grid(1)
        a[0] = a[i] + a[i * 2 + 1] + a[u] + a[n % 4] + a[len(a) // 2]
        a[1] = a[n] + a[-1] + a[i - 1]
        for k in range(3):
            a[2] = a[k]
        for k in range(2, -1, -1):
            a[3] = a[k]

    may = {
        ast_text(place): place.may_be_negative
        for place in nodes_of(kernel, tree.ElementPlace)
        if place.location.line > 0
    }
    assert may == {
        "a[0]": False, "a[i]": False, "a[i * 2 + 1]": False, "a[u]": False, "a[n % 4]": False,
        "a[len(a) // 2]": False, "a[1]": False, "a[n]": True, "a[-1]": True, "a[i - 1]": True,
        "a[2]": False, "a[3]": False, "a[k]": True,
    }  # fmt: skip


def ast_text(place: tree.ElementPlace) -> str:
    """The source text of a place, from its location."""
    import linecache

    where = place.location
    return linecache.getline(where.file, where.line)[where.column : where.end_column]


def test_tuples_hold_mixed_types_and_unpack() -> None:
    def kernel(x: f32, n: i32):
        pair = (x, n)
        a, b = pair
        c = pair[0]
        d = pair[-1]
        a, c = c, a
        (p, q), r = (1, x), 2.5
        i, j = oa.grid(2)
        first = LIMITS[0]
        size = len(LIMITS)

    types = variable_types(kernel)
    assert types["pair"] == "(f32, i32)"
    assert [types[name] for name in "abcdpqrij"] == [
        "f32", "i32", "f32", "i32", "int", "f32", "float", "int", "int",
    ]  # fmt: skip
    assert types["first"] == "int" and types["size"] == "int"


def test_mathematics_keeps_numpys_width_and_pythons_float() -> None:
    def kernel(x: f32, y: f64, n: i32):
        a = math.sin(x)
        b = np.sin(x)
        c = np.sin(y)
        d = math.floor(y)
        e = np.floor(x)
        f = math.isnan(x)
        g = np.arctan2(x, 1)
        h = np.sqrt(n)
        i = math.log(x, 2)
        j = np.power(x, x)
        k = math.pi
        m = abs(y)
        o = np.abs(x)
        p = np.hypot(x, y)

    assert variable_types(kernel) == {
        "a": "float", "b": "f32", "c": "f64", "d": "int", "e": "f32", "f": "bool", "g": "f32",
        "h": "f64", "i": "float", "j": "f32", "k": "float", "m": "f64", "o": "f32", "p": "f64",
    }  # fmt: skip


@pytest.mark.parametrize("name", tree.MATH_FUNCTIONS)
def test_every_mathematical_function_has_a_name_in_python(tmp_path: Path, name: str) -> None:
    modules = [
        (module, spelled)
        for module, spelled in (("math", name), ("np", IN_NUMPY.get(name, name)))
        if hasattr(math if module == "math" else np, spelled)
    ]
    assert modules or name == "fma", "math.fma came with Python 3.13"
    arguments = ", ".join(["x"] * ARITIES.get(name, 1))
    for module, spelled in modules:
        kernel = kernel_from(tmp_path, "x: f64", f"r = {module}.{spelled}({arguments})")
        (made,) = nodes_of(kernel, tree.MathCall)
        assert made.name == name
