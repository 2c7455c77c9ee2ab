"""Everything outside the subset is named, with its place and with what to write instead."""

# Kernels here are to be translated or refused; most are no good Python.
# mypy: disable-error-code="type-arg,assignment,index,comparison-overlap"

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sharedoa import i32

from ..source_files import PRELUDE_LINES, load_module
from .translated import complaints, kernel_from

EXPRESSIONS = [
    ("lambda v: v", "a lambda", "write an @oa.func function"),
    ("[v for v in a]", "a list comprehension", "write a for loop over range"),
    ("{v for v in a}", "a set comprehension", "write a for loop over range"),
    ("{v: v for v in a}", "a dict comprehension", "write a for loop over range"),
    ("(v for v in a)", "a generator expression", "write a for loop over range"),
    ("[1, 2]", "a list", "use an oa.Array argument, an inline array field or a tuple"),
    ("{1: 2}", "a dict", "use fields of an object"),
    ("{1, 2}", "a set", "use fields of an object"),
    ("f'{n}'", "an f-string", "pass the parts to print"),
    ("(y := 1)", "an assignment inside an expression", "assign in a statement before"),
    ("a[1:2]", "a slice", "index elements one by one in a loop"),
    ("(yield)", "yield", "return a value or store it in an array"),
    ("(yield from a)", "yield from", "return a value or store it in an array"),
]

STATEMENTS = [
    ("with open('x') as f:\n    pass", "with", "kernels hold no resources"),
    ("try:\n    pass\nfinally:\n    pass", "try", "test for the condition before"),
    ("raise ValueError", "raise", "use assert, or store a flag that the host checks"),
    ("def inner():\n    pass", "a nested function", "write an @oa.func function"),
    ("class Inner:\n    pass", "a nested class", "define classes outside kernels"),
    ("import os", "import", "import at the top of the module"),
    ("from os import path", "import", "import at the top of the module"),
    ("global counter", "global", "store results in arrays or objects"),
    ("del n", "del", "delete objects on the host with oa.delete"),
    ("match n:\n    case 1:\n        pass", "match", "use if and elif"),
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


def test_code_without_source_says_so() -> None:
    names: dict[str, Any] = {}
    exec("def kernel(n: int):\n    pass", names)
    names["kernel"].__annotations__["n"] = i32
    (complaint,) = complaints(names["kernel"])
    assert complaint.message == "the source of kernel cannot be read"
    assert complaint.location is None
