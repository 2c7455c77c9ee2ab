"""What is given a number of few bits in one place and an ``int`` of Python's own in another holds
both, as in CPython."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa.model.scalars import SCALARS, i64

from ..codegen.interpreted import InterpretedGpu
from ..source_files import load_module
from .translated import complaints, kernel_from, variable_types

#: By what holds both, statements that give ``r``: ``b`` is an element, ``k`` an int.
_HOLDERS = {
    "assigned after": "r = b\nif c: r = k",
    "assigned before": "r = k\nif c: r = b",
    "by way of another": "q = b\nif c: q = k\nr = 0\nr = q",
    "from round to round": "r = b\nfor j in range(3):\n    if c: r = k + j",
    "the variable of a loop": "r = b\nif c:\n    for r in range(k, k + 2): pass",
    "named in an expression": "r = b\nif c and (r := k) != 7: r = r + 0",
    "a parameter": "r = p\nif c: p = k\nif c: r = p",
    "a parameter of a loop": "if c:\n    for p in range(k, k + 2): pass\nr = p",
    "a conditional": "r = k if c else b",
    "a conditional of constants": "r = b\nif c: r = 7 if d else -70000",
    "nested conditionals": "r = (b if c else k) if d else b",
    "a conditional and its variable": "r = b\nif d: r = (k if c else b)",
    "and, or": "r = (k if c else 0) or b",
    "the lesser": "r = min(b, k)",
    "the greater": "r = max(k, b, 3)",
    "a default": "r = max((j for j in row if j == 7), default=k)",
    "a list": "z = [b, k, 0]\nr = z[1 if c else 0]",
    "items one after another": "r = 0\nfor j in (b, k): r = j",
    "items that are unpacked": "q, r = k, b\nif c: q, r = r, q",
}
_HELD = """
@oa.func
def held_{number}(
    b: {name}, whole: i64, c: i32, d: i32, p: {name}, row: oa.Array[{name}]
) -> i64:
    k = int(whole)
{body}
    return i64(r)
"""
_RUN = """
@oa.kernel
def run(row: oa.Array[{name}], out: oa.Array2[i64]) -> None:
    t = oa.grid(1)
    b, n = row[t], 9 * t
    for k in (100 * t + 3, -7 - t, 2**40 + t):
        for way in range(3):
            c, d = i32(way == 1), i32(way == 2)
{calls}
            n = n + 1
"""


@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16", "i32", "u32", "i64"])
def test_as_in_cpython(tmp_path: Path, name: str) -> None:
    parts, calls = [], []
    for number, holder in enumerate(_HOLDERS.values()):
        body = textwrap.indent(holder, "    ")
        parts.append(_HELD.format(number=number, name=name, body=body))
        calls.append(f"            out[n, {number}] = held_{number}(b, i64(k), c, d, b, row)")
    parts.append(_RUN.format(name=name, calls="\n".join(calls)))
    program = load_module(tmp_path, "\n".join(parts))
    found, high = [], SCALARS[name].range[1]
    backends: list[Any] = ["python", "cpu"]
    if name in ("u8", "i32"):
        backends.append(InterpretedGpu())
    for backend in backends:
        with oa.Heap(backend=backend, capacity="16MiB"):
            row = oa.array(SCALARS[name], [1, high, 77, high - 3])
            out = oa.zeros((36, len(_HOLDERS)), i64)
            program.run[4](row, out)
            found.append(dict(zip(_HOLDERS, out.numpy().T.tolist(), strict=True)))
    assert all(each == found[0] for each in found[1:])


def test_constants_take_the_other_type(tmp_path: Path) -> None:
    body = "n = -1\nn = b[0]\nm = b[0] if n > 0 else 5\nx = 0.5\nx = a[0]\n"
    body += "p = q = 0\nq = b[0]\ns = 1 if n else (3 if m else -1)\ns = b[0]"
    found = variable_types(kernel_from(tmp_path, "a: oa.Array[f32], b: oa.Array[i32]", body))
    assert found == {"n": "i32", "m": "i32", "x": "f32", "p": "int", "q": "i32", "s": "i32"}


def test_what_is_declared_or_converted_keeps_its_type(tmp_path: Path) -> None:
    body = "n: i32 = b[0]\nn = len(b)\nm = b[1]\nm = i32(len(b))\nm = m + len(b)"
    found = variable_types(kernel_from(tmp_path, "b: oa.Array[i32]", body))
    assert found == {"n": "i32", "m": "i32"}


def test_what_is_declared_without_a_sign_takes_any_int(tmp_path: Path) -> None:
    body = "n: u64 = b[0]\nn = 3 - len(b)"
    assert variable_types(kernel_from(tmp_path, "b: oa.Array[u64]", body)) == {"n": "u64"}


def test_counts_fit_numbers_of_64_bits_without_a_sign(tmp_path: Path) -> None:
    found = variable_types(kernel_from(tmp_path, "b: oa.Array[u64]", "n = b[0]\nn = len(b)"))
    assert found == {"n": "u64"}


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("n = b[0]\nn = k", "n is u64"),
        ("n = b[0] if k else k", "the conditional expression is u64"),
        ("n = (0, b[0])\nn = (k, b[0])\nn = (0, k)", "n is (int, u64)"),
        ("n = (0, c[0])\nn = (0, k)", "n is (int, i32)"),
    ],
)
def test_what_no_type_holds_is_refused(tmp_path: Path, body: str, what: str) -> None:
    body = f"k = 3 - len(b)\n{body}"
    kernel = kernel_from(tmp_path, "b: oa.Array[u64], c: oa.Array[i32]", body)
    (complaint,) = complaints(kernel)
    assert complaint.message == f"{what}, which does not hold every int that it is given"
    assert complaint.help
