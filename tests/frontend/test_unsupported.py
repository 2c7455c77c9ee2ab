"""Everything outside the subset is named, with its place and with what to write instead."""

# Kernels here are to be translated or refused; most are no good Python.
# mypy: disable-error-code="type-arg,assignment,index,comparison-overlap"

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.frontend import translate_kernel

from ..source_files import PRELUDE_LINES, load_module
from .translated import complaints, kernel_from

EXPRESSIONS = [
    ("(lambda v: v)(n)", "a lambda", "give it a name: f = lambda x: x + 1"),
    ("{v for v in a}", "a set comprehension", "write a for loop over range"),
    ("{v: v for v in a}", "a dict comprehension", "write a for loop over range"),
    ("(v for v in a)", "a generator expression by itself", "give it to sum, min, max"),
    ("{1: 2}", "a dict", "use fields of an object"),
    ("{1, 2}", "a set", "use fields of an object"),
    ("f'{n}'", "an f-string", "write it in print(...)"),
    ("(yield)", "yield", "return a value or store it in an array"),
    ("(yield from a)", "yield from", "return a value or store it in an array"),
]

STATEMENTS = [
    ("with open('x') as f:\n    pass", "with", "kernels hold no resources"),
    ("try:\n    pass\nfinally:\n    pass", "try", "test for the condition before"),
    ("raise ValueError", "raise", "use assert, or store a flag that the host checks"),
    ("async def inner():\n    pass", "a nested function", "write an @oa.func function"),
    ("class Inner:\n    pass", "a nested class", "define classes outside kernels"),
    ("import os", "import", "import at the top of the module"),
    ("from os import path", "import", "import at the top of the module"),
    ("global counter", "global", "store results in arrays or objects"),
    ("del n", "del", "oa.delete(obj) ends an object"),
]


@pytest.mark.parametrize(("source", "name", "instead"), EXPRESSIONS)
def test_expressions(tmp_path: Path, source: str, name: str, instead: str) -> None:
    kernel = kernel_from(tmp_path, "n: i32, a: oa.Array[i32]", f"x = n + 1\nn ={' ' * 3}{source}")
    (complaint,) = complaints(kernel)
    assert complaint.message == f"{name} is outside the subset that kernels can use"
    assert instead in complaint.help
    assert complaint.location is not None
    assert complaint.location.line == PRELUDE_LINES + 3
    assert complaint.location.file == kernel.__code__.co_filename


@pytest.mark.parametrize(("source", "name", "instead"), STATEMENTS)
def test_statements(tmp_path: Path, source: str, name: str, instead: str) -> None:
    kernel = kernel_from(tmp_path, "n: i32", f"n += 1\n{source}")
    (complaint,) = complaints(kernel)
    assert complaint.message == f"{name} is outside the subset that kernels can use"
    assert instead in complaint.help
    assert complaint.location is not None
    assert complaint.location.line == PRELUDE_LINES + 3


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("async def kernel(n: i32):\n    async for k in n:\n        pass", "the source of kernel"),
        ("kernel = lambda n: n", "the source of"),
    ],
)
def test_functions_that_are_no_plain_def(tmp_path: Path, header: str, name: str) -> None:
    module = load_module(tmp_path, header)
    module.kernel.__annotations__.setdefault("n", "i32")
    (complaint,) = complaints(module.kernel)
    assert name in complaint.message
    assert "define it with def in a file or notebook cell" in complaint.help


@pytest.mark.parametrize(
    ("made", "is_told"),
    [
        ("max([f(x) for x in a], key=lambda v: -v)", True),
        ("min([x for x in a], key=f)", True),
        ("sum([x for x in a], f(1))", True),
        ("max([f(x) for x in a], default=f(1))", True),
        ("sum([(y := x) for x in a], n)", True),
        ("max([x for x in a], key=lambda v: -v)", False),
        ("sum([f(x) for x in a], n)", False),
        ("sum([f(x) for x in a])", False),
        ("max((f(x) for x in a), key=f, default=0)", False),
    ],
)
def test_lists_of_which_all_items_are_made_first(tmp_path: Path, made: str, is_told: bool) -> None:
    """In CPython what comes next sees what the calls have done for all of them."""
    source = (
        f"@oa.func\ndef f(x: oa.i32) -> oa.i32:\n    return x + 1\ndef kernel(a, n):\n    {made}"
    )
    module = load_module(tmp_path, source)
    module.kernel.__annotations__ = {"a": oa.Array[i32], "n": i32}
    if not is_told:
        translate_kernel(module.kernel)
        return
    (complaint,) = complaints(module.kernel)
    assert complaint.message.startswith("all items of this list are made before what comes next")


def test_code_without_source_says_so() -> None:
    names: dict[str, Any] = {}
    exec("def kernel(n: int):\n    pass", names)
    names["kernel"].__annotations__ = {"n": i32}
    (complaint,) = complaints(names["kernel"])
    assert complaint.message == "the source of kernel cannot be read"
    assert complaint.location is None


@pytest.mark.parametrize(
    ("statement", "message", "help"),
    [
        # constants that nothing can hold
        ("t = (2**64, 1)", "18446744073709551616 does not fit int", "use a wider type"),
        ("t, k = (n, 2**70), 1", "does not fit int", "use a wider type"),
        ("p = q = 2**64", "does not fit int", "use a wider type"),
        ("print(2**64)", "does not fit int", "use a wider type"),
        ("n = (n, 2**64)[0]", "n = (n, 2**64)[0]", None),
        ("for k in range(2**64): pass", "does not fit int", "use a wider type"),
        ("a[2**64] = 1", "does not fit int", "use a wider type"),
        ("n = int(math.inf)", "this constant does not convert to int", "correct the constant"),
        ("n = int(math.nan)", "this constant does not convert to int", "correct the constant"),
        ("x = f32(10**400)", "this constant does not convert to f32", "correct the constant"),
        ("x = f64(10**400)", "this constant does not convert to f64", "correct the constant"),
        ("x = math.sqrt(10**400)", "this constant does not convert to float", "correct the"),
        ("x = 1.5 * n < 10**400", "this constant does not convert to f64", "correct the"),
        ("x = f32(1) == 10**400", "this constant does not convert to f32", "correct the"),
        # calls that give nothing
        ("t = (nothing(), 1)", "this call gives no value", "call it as a statement"),
        ("nothing(), nothing()", "this call gives no value", "call it as a statement"),
        ("p = q = nothing()", "this call gives no value", "call it as a statement"),
        # helps that can be followed
        ("n = round(1.5, 1)", "round to a number of digits", "round(x * 100) / 100"),
        ("n = pow(n, 2, 3)", "pow takes two arguments", "write x ** y % n"),
        ("n = sum(x > 0 for x in a)", "sum of bools means one thing", "sum(1 for x in a if"),
        ("n = id(n)", "id is a Python function", "compare references with is"),
        ("n = math.comb(n, 3)", "math.comb is a Python function", "that kernels know"),
        ("b = 0 < n in (1, 3)", "in is part of a chain", "write two comparisons with and"),
        ("b = n in range(0, 9, 2)", "in a range with a step", "write a <= x < b and"),
        ("match n:\n    case [*x]: pass", "this pattern is outside the subset", "match numbers"),
        (
            "match n:\n    case True: pass",
            "True is matched by identity",
            "match int(...) with case 1",
        ),
        ("x = float('1.5')", "kernels read no numbers from text", "write a number, or float"),
    ],
)
def test_helps_say_what_to_write(
    tmp_path: Path, statement: str, message: str, help: str | None
) -> None:
    @oa.func
    def nothing() -> None:
        pass

    kernel = kernel_from(tmp_path, "n: i32, a: oa.Array[i32]", statement, nothing=nothing)
    if help is None:  # what is left out of a tuple need not fit
        translate_kernel(kernel)
        return
    (complaint,) = complaints(kernel)
    assert message in complaint.message
    assert help in complaint.help


def test_an_object_that_is_no_variable_is_to_become_one(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        class Base(oa.Object):
            next: Base

        class Leaf(Base):
            size: i32

        def kernel(nodes: oa.Array[Base], out: oa.Array[i32]):
            if isinstance(nodes[0].next, Leaf):
                out[0] = nodes[0].next.size

        def stores(node: Base, leaves: oa.Array[Leaf]):
            leaves[0] = node.next
        """,
    )
    advice = "put {} into a variable x and use it inside `if isinstance(x, Leaf):`"
    (complaint,) = complaints(module.kernel)
    assert advice.format("the object") in complaint.help
    (complaint,) = complaints(module.stores)
    assert complaint.help == advice.format("it")


@pytest.mark.parametrize(
    "body",
    [
        "if n == 0:\n    a[0] = 1\n" + "elif n == 1:\n    a[0] = 2\n" * 900,
        "a[0] = " + " + ".join(["n"] * 900),
    ],
)
def test_what_nests_too_deeply_is_a_complaint(tmp_path: Path, body: str) -> None:
    (complaint,) = complaints(kernel_from(tmp_path, "n: i32, a: oa.Array[i32]", body))
    assert complaint.message == "the statements or expressions of kernel nest too deeply"
    assert "divide it" in complaint.help


def test_what_nests_too_deeply_for_any_stage(tmp_path):
    terms = " and ".join(f"a[i] > {number}" for number in range(2000))
    text = f"@oa.kernel\ndef run(a: oa.Array[i32]):\n    i = oa.grid(1)\n    if {terms}:\n"
    module = load_module(tmp_path, f"{text}        a[i] = 1\n")
    with oa.Heap(backend="cpu"), pytest.raises(oa.CompileError, match="nest too deeply"):
        module.run[1](oa.zeros(1, oa.i32))


@pytest.mark.parametrize("index", [4, 7, -5])
def test_an_index_that_no_inline_array_has(tmp_path: Path, index: int) -> None:
    module = load_module(
        tmp_path,
        f"""
        class Few(oa.Object):
            few: oa.inline[f32, 4]

        def stores(few: Few):
            few.few[{index}] = 1.0

        def reads(few: Few, out: oa.Array[f32]):
            few.few[3] = few.few[-4]
            out[0] = few.few[{index}]
        """,
    )
    for kernel in (module.stores, module.reads):
        (complaint,) = complaints(kernel)
        assert complaint.message == f"index {index} is outside of inline[f32, 4]"
        assert complaint.help == "use an index from -4 to 3"
