"""Statements: assignment, loops, definite assignment, and places that are evaluated once."""

# Kernels here are to be translated or refused; most are no good Python.
# mypy: disable-error-code="type-arg,assignment,index,comparison-overlap"

from __future__ import annotations

from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import f32, i32, i64
from sharedoa.frontend import tree

from ..source_files import load_module
from .translated import complaints, kernel_from, text_of, translate, variable_types


class Cell(oa.Object):
    next: Cell
    count: i32
    mass: f32


@oa.func
def pick(n: i32) -> i32:
    return n


def test_an_augmented_place_is_evaluated_once() -> None:
    def kernel(cells: oa.Array[Cell], a: oa.Array[f32]):
        cells[pick(1)].next.count += 2
        a[pick(2)] *= 3
        cells[0].mass -= 0.5

    first, second, third = translate(kernel).kernel.body
    for statement in (first, second, third):
        assert isinstance(statement, tree.AugmentedStore)
    assert text_of(kernel).splitlines()[0].count("pick") == 1
    assert text_of(kernel).splitlines()[1].count("pick") == 1
    assert isinstance(first, tree.AugmentedStore)
    assert isinstance(first.value, tree.Binary)
    assert isinstance(first.value.left, tree.Local) and first.value.left.variable is first.old


def test_an_augmented_place_keeps_its_type_by_same_kind() -> None:
    def kernel(cell: Cell, x: f32):
        cell.count += x

    (complaint,) = complaints(kernel)
    assert complaint.message == ("cell.count takes i32, and f64 does not convert to it by itself")

    def widened(cell: Cell, n: i64):
        cell.count += n

    assert "cell.count := i32((i64(" in text_of(widened)


def test_a_variable_has_one_type_the_widest_of_its_assignments() -> None:
    def kernel(a: oa.Array[f32], n: i32):
        total = 0
        for k in range(3):
            total += a[k]
        count = 0
        count = count + n
        half = 1
        half = half / 2

    assert variable_types(kernel) == {"total": "f32", "count": "i32", "half": "float"}

    def conflicting(x: f32, n: i32):
        y = x
        y = n

    (complaint,) = complaints(conflicting)
    assert complaint.message == "y is f32 and i32 is assigned to it"

    def parameter(x: f32, n: i32):
        x = 1
        n = 2.5

    (complaint,) = complaints(parameter)
    assert complaint.message == "n is i32 and float is assigned to it"


def test_a_reference_variable_widens_to_the_common_base(tmp_path: Path) -> None:
    def kernel(cells: oa.Array[Cell]):
        best = None
        for k in range(len(cells)):
            if best is None or cells[k].count > best.count:
                best = cells[k]
        if best is not None:
            best.count = 0

    assert variable_types(kernel) == {"best": "Cell"}


def test_assignment_evaluates_the_value_before_the_place_and_once_for_many_targets() -> None:
    def kernel(a: oa.Array[i32]):
        a[pick(0)] = x = pick(1)
        a[pick(2)], a[pick(3)] = pick(4), pick(5)

    lines = text_of(kernel).splitlines()
    assert "i32(1)" in lines[0], "the value first"
    assert [line.count("pick") for line in lines] == [1, 1, 0, 1, 1, 1, 1]
    assert "i32(4)" in lines[3] and "i32(5)" in lines[4]
    assert "i32(2)" in lines[5] and "i32(3)" in lines[6]


def test_forms_of_range() -> None:
    def kernel(n: i32, a: oa.Array[i32]):
        for k in range(n):
            a[k] = 1
        for k in range(2, n):
            a[k] = 1
        for k in range(n, 0, -1):
            a[k] = 1
        for _ in range(len(a)):
            pass

    loops = [s for s in translate(kernel).kernel.body if isinstance(s, tree.ForRange)]
    heads = [line for line in text_of(kernel).splitlines() if line.startswith("for")]
    assert len(loops) == 4
    assert "in range(0, int(n), 1):" in heads[0]
    assert "in range(2, int(n), 1):" in heads[1]
    assert "in range(int(n), 0, -1):" in heads[2]
    assert "in range(0, len(a), 1):" in heads[3]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("for x in 3:", "int cannot be gone through"),
        ("for i, x in enumerate(a, 0, 1):", "enumerate takes what it numbers, and a start"),
        ("for x in reversed(enumerate(a)):", "Python cannot reverse enumerate"),
        ("for x, y in zip(a, a, same=True):", "zip takes what it goes through side by side"),
        (
            "for x in (k for k in a):",
            "a generator expression by itself is outside the subset that kernels can use",
        ),
        ("for k in range(0, 3, 0):", "the step of range is 0"),
        ("for k in range(1.5):", "the bound is float, not an integer"),
        ("for k in range():", "range takes one to three integers"),
    ],
)
def test_loops_over_something_else(tmp_path: Path, header: str, message: str) -> None:
    (complaint,) = complaints(kernel_from(tmp_path, "a: oa.Array[i32]", f"{header}\n    pass"))
    assert complaint.message == message
    assert complaint.help


def test_loops_have_else_break_and_continue() -> None:
    def kernel(a: oa.Array[i32], n: i32):
        while n > 0:
            n -= 1
            if a[n] == 0:
                break
            if a[n] == 1:
                continue
        else:
            a[0] = 5
        for k in range(3):
            if a[k] > 0:
                break
        else:
            a[1] = 6

    loop, other = translate(kernel).kernel.body
    assert isinstance(loop, tree.While) and isinstance(other, tree.ForRange)
    assert len(loop.otherwise) == len(other.otherwise) == 1
    text = text_of(kernel)
    assert "break" in text and "continue" in text


def test_a_loop_variable_of_another_type_counts_separately() -> None:
    def kernel(out: oa.Array[f32]):
        k = f32(0.5)
        for k in range(3):
            out[0] += k

    assert "k: f32 = f32(" in text_of(kernel)


@pytest.mark.parametrize(
    "body",
    [
        "if n > 0:\n    x = 1\nout[0] = x",
        "for k in range(n):\n    x = 1\nout[0] = x",
        "for k in range(n):\n    pass\nout[0] = k",
        "while n > 0:\n    x = 1\n    n -= 1\nout[0] = x",
        "while n > 0:\n    n -= 1\n    if n == 5:\n        break\nelse:\n    x = 1\nout[0] = x",
        "x = x + 1\nout[0] = x",
        "if n > 0:\n    x = 1\nelif n < 0:\n    x = 2\nout[0] = x",
        "for k in range(n):\n    if k > 2:\n        x = 1\n        continue\n    out[0] = x",
    ],
)
def test_reading_before_assignment_is_a_complaint(tmp_path: Path, body: str) -> None:
    (complaint,) = complaints(kernel_from(tmp_path, "n: i32, out: oa.Array[i64]", body))
    assert complaint.message.endswith("may be read before it has a value")
    assert "assign it on every path before" in complaint.help


@pytest.mark.parametrize(
    "body",
    [
        "if n > 0:\n    x = 1\nelse:\n    x = 2\nout[0] = x",
        "if n > 0:\n    x = 1\nelse:\n    return\nout[0] = x",
        "while True:\n    x = 1\n    if n > 0:\n        break\nout[0] = x",
        "while n > 0:\n    n -= 1\n    if n == 5:\n        x = 2\n        break\nelse:\n    x = 1\n"
        "out[0] = x",
        "for k in range(n):\n    if k < 2:\n        continue\n    x = k\n    out[0] = x",
        "if n > 0:\n    return\n    out[0] = y\n    y = 1",
    ],
)
def test_assignment_on_every_path_is_enough(tmp_path: Path, body: str) -> None:
    assert translate(kernel_from(tmp_path, "n: i32, out: oa.Array[i64]", body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if n > 0:\n    return 1", "not every path returns i32"),
        ("pass", "not every path returns i32"),
        ("while n > 0:\n    return 1", "not every path returns i32"),
        ("return", "helper returns i32"),
        ("return 1.5", "the result takes i32, and float does not convert to it by itself"),
        ("return None", "the result takes i32, not None"),
        ("return 2**31", "2147483648 does not fit i32"),
    ],
)
def test_a_result_is_returned_on_every_path(tmp_path: Path, body: str, message: str) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"@oa.func\ndef helper(n: i32) -> i32:\n{lines}\ndef kernel(n: i32):\n    helper(n)\n"
    diagnostics = complaints(load_module(tmp_path, text).kernel)
    assert message in diagnostics[0].message
    assert diagnostics[0].help
    assert diagnostics[0].location is not None and diagnostics[0].location.function == "helper"


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n    n -= 1\n    if n < 0:\n        return n",
        "if n > 0:\n    return 1\nelse:\n    return 2",
        "for k in range(n):\n    pass\nelse:\n    return 3",
    ],
)
def test_paths_that_never_end_need_no_return(tmp_path: Path, body: str) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"@oa.func\ndef helper(n: i32) -> i32:\n{lines}\ndef kernel(n: i32):\n    helper(n)\n"
    assert translate(load_module(tmp_path, text).kernel)


def test_a_kernel_returns_nothing(tmp_path: Path) -> None:
    (complaint,) = complaints(kernel_from(tmp_path, "n: i32", "return n"))
    assert complaint.message == "kernel returns a value but declares none"
    assert translate(kernel_from(tmp_path, "n: i32", "if n:\n    return None\nreturn"))

    def declares(n: i32) -> i32:
        return n

    with pytest.raises(oa.ClassError, match="kernel declares declares the result i32"):
        translate(declares)


def test_assert_print_and_barrier() -> None:
    def kernel(cell: Cell, x: f32):
        assert x > 0, "x is positive"
        assert cell is not None
        print("x is", x, cell.count, end="")
        oa.syncthreads()
        "a string alone is nothing"

    text = text_of(kernel)
    assert "assert (x > f32(0.0)), 'x is positive'" in text
    # Nothing may run that relies on what this one says: the function ends if it fails.
    assert "assert temporary, 'cell is not None'\nif (not temporary):\n    return\n" in text
    assert "print('x is', ' ', x, ' ', cell.count, end='')" in text
    assert "syncthreads()" in text
    assert len(text.splitlines()) == 7


@pytest.mark.parametrize(
    ("statements", "leaves"),
    [
        ("assert x > 0\nx = 2.0", False),
        ("assert cell.count > 0\ncell.count = 1", False),
        ("assert cell is None\ncell.count = 1", True),
        ("assert cell.next is not None\nother.count = 1", True),
        ("assert cell.next is other\nx = 2.0", True),
        ("assert not cell.next\nx = 2.0", True),
        ("assert x > 0 and cell is not None\nx = 2.0", True),
    ],
)
def test_what_follows_an_assertion_that_promises_an_object(
    tmp_path: Path, statements: str, leaves: bool
) -> None:
    """It must not run if it may ask what is none."""
    parameters = "cell: Cell, other: Cell, x: f32"
    kernel = kernel_from(tmp_path, parameters, statements, Cell=Cell)
    assert ("    return\n" in text_of(kernel)) == leaves


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("assert x > 0, (x, x)", "the message of an assert is no text"),
        ("assert x > 0, f'{x}{x}{x}{x}{x}'", "the message of an assert has more than 4 numbers"),
        ("print(x, file=x)", "print takes values, sep and end only"),
        ("print(x, sep=x)", "sep of print is no text that is known"),
        ("print(x, end='a' if x > 0 else 'b')", "end of print is no text that is known"),
        ("print('a\\0b', x)", "text with a NUL"),
        ("assert x > 0, f'a\\0b {x}'", "text with a NUL"),
        ("print(f'{x:{x}}')", "a format that is computed"),
        ("print(f'{x:05.1f}')", "float has no format '05.1f' in kernels"),
        ("print(f'{u64(a[0]):+}')", "u64 has no format '+' in kernels"),
        ("print(f'{u8(a[0]):+x}')", "u8 has no format '+x' in kernels"),
        ("print(f'{x > 0:5}')", "bool has no format '5' in kernels"),
        ("print(a)", "Array[f32] cannot be printed"),
        ("print('a' if n > 0 else 'b')", "text that is chosen when the kernel runs"),
        ("y = 2**63", "9223372036854775808 does not fit int"),
        ("y: i32 = 1.5", "y takes i32, and float does not convert to it by itself"),
        ("y: oa.inline[f32, 2] = x", "the variable y cannot be inline[f32, 2]"),
        ("y: nothing = 1", "the annotation 'nothing' refers to a name that does not exist"),
        ("y, z = x", "f32 cannot be unpacked into 2 targets"),
        ("y, z = (1, 2, 3)", "cannot be unpacked into 2 targets"),
        ("y, *z = (1,)\nx = z[0]", "a list without elements has no use"),
        ("w, y, *z = (1,)", "cannot be unpacked into 3 targets"),
        ("len(a)[0] = 1", "int cannot be indexed"),
        ("a.size = 1", "Array[f32] has no attribute size"),
        ("a[0] = None", "a[0] takes f32, not None"),
        ("oa.atomic_add(a, 0)", "oa.atomic_add takes 3 arguments"),
        ("oa.atomic_add(a, 'x', 1)", "Array[f32] has no attribute x"),
        ("oa.atomic_add(small, 0, 1)", "add on i8 cannot be atomic"),
        ("oa.atomic_add(x, 0, 1)", "f32 cannot be indexed"),
    ],
)
def test_statements_misused(tmp_path: Path, statement: str, message: str) -> None:
    parameters = "x: f32, a: oa.Array[f32], small: oa.Array[i8]"
    (complaint,) = complaints(kernel_from(tmp_path, parameters, statement))
    assert message in complaint.message
    assert complaint.help


def test_atomics_name_a_place_and_give_the_old_value() -> None:
    def kernel(cell: Cell, a: oa.Array[f32], cells: oa.Array[Cell]):
        x = oa.atomic_add(cell, "mass", 1)
        oa.atomic_max(a, 3, x)
        y = oa.atomic_cas(cell, "count", 0, 5)
        z = oa.atomic_exch(cells, 0, cell)
        w = oa.atomic_exch(cell, "next", None)

    assert variable_types(kernel) == {
        "x": "f32", "y": "i32", "z": "Cell", "w": "Cell",
    }  # fmt: skip
    text = text_of(kernel)
    assert "atomic_add(cell.mass, f32(1.0))" in text
    assert "atomic_max(a[3], x)" in text
    assert "atomic_cas(cell.count, i32(0), i32(5))" in text
    assert "atomic_exch(cell.next, None<Cell>)" in text
