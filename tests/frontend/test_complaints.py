"""How errors in the user's source read: all at once, each with its line, a caret and a cure."""

# Kernels here are to be translated or refused; most are no good Python.
# mypy: disable-error-code="type-arg,assignment,index,comparison-overlap"

from __future__ import annotations

from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa.frontend import translate_kernel

from ..source_files import PRELUDE_LINES, load_module
from .translated import complaints


def test_three_errors_of_a_kernel_are_three_complaints(tmp_path: Path) -> None:
    """J-9."""
    module = load_module(
        tmp_path,
        """
        def kernel(a: oa.Array[f32], n: i32):
            x = {0: 2}
            y = x[0] + 1
            a[0] = missing
            for k in range(n):
                a[k] = y
                n = a[k]
        """,
    )
    found = complaints(module.kernel)
    assert [c.message for c in found] == [
        "a dict is outside the subset that kernels can use",
        "missing is not defined",
        "n is i32 and f32 is assigned to it",
    ]
    assert [c.location.line - PRELUDE_LINES for c in found if c.location] == [3, 5, 8]


def test_a_complaint_shows_file_line_caret_and_help(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        def kernel(a: oa.Array[f32], n: i32):
            a[0] = 1.0 + n * misspelt - 2
        """,
    )
    with pytest.raises(oa.CompileError) as caught:
        translate_kernel(module.kernel)
    source = "    a[0] = 1.0 + n * misspelt - 2"
    assert str(caught.value).splitlines() == [
        f"{module.__file__}:{PRELUDE_LINES + 3}: in kernel: misspelt is not defined",
        "    " + source,
        "    " + " " * source.index("misspelt") + "^" * len("misspelt"),
        "help: assign it, import it, or pass it as an argument",
    ]


def test_the_caret_counts_characters_not_bytes(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        def kernel(größe: i32, a: oa.Array[i32]):
            a[0] = größe + größe + fehlt
        """,
    )
    with pytest.raises(oa.CompileError) as caught:
        translate_kernel(module.kernel)
    _, source, caret, _ = str(caught.value).splitlines()
    assert caret.index("^") == source.index("fehlt")
    assert caret.count("^") == len("fehlt")


def test_an_expression_over_several_lines_is_marked_to_the_end_of_its_first(
    tmp_path: Path,
) -> None:
    module = load_module(
        tmp_path,
        """
        def kernel(a: oa.Array[f32]):
            a[0] = {
                1,
            }
        """,
    )
    with pytest.raises(oa.CompileError) as caught:
        translate_kernel(module.kernel)
    assert "    " + " " * 11 + "^" in str(caught.value).splitlines()


def test_errors_in_everything_that_is_reached_are_included(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        class Base(oa.Object):
            n: i32
            def a(self) -> i32: ...
        class One(Base):
            def a(self) -> i32:
                return self.m
        class Two(Base):
            def a(self) -> i32:
                return helper(self.n) + lost
        class Unreached(oa.Object):
            def a(self) -> i32:
                return nowhere
        @oa.func
        def helper(n: i32) -> i32:
            return {n: n}
        @oa.value
        class Pair:
            x: f32
            def __add__(self, other: Pair) -> Pair:
                return self.y
        def kernel(base: Base, pair: Pair, out: oa.Array[i32]):
            out[0] = base.a()
            pair = pair + pair
            out[1] = wrong
        """,
    )
    found = complaints(module.kernel)
    messages = {c.message for c in found}
    assert messages == {
        "wrong is not defined",
        "One has no field or method m",
        "lost is not defined",
        "a dict is outside the subset that kernels can use",
        "Pair has no field or method y",
    }
    assert {c.location.function for c in found if c.location} == {
        "kernel", "One.a", "Two.a", "helper", "Pair.__add__",
    }  # fmt: skip


def test_an_error_does_not_cause_others(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        def kernel(a: oa.Array[f32], n: i32):
            x = unknown
            y = x + 1
            z = y * x
            if z > 0:
                a[0] = z
            while y:
                x += 1
            a[1] = x
        """,
    )
    (complaint,) = complaints(module.kernel)
    assert complaint.message == "unknown is not defined"


def test_a_method_used_by_two_kernels_complains_once_in_each(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        class C(oa.Object):
            def a(self) -> i32:
                return lost
        def kernel(c: C, out: oa.Array[i32]):
            out[0] = c.a()
            out[1] = c.a() + c.a()
        """,
    )
    assert len(complaints(module.kernel)) == 1
    assert len(complaints(module.kernel)) == 1


def test_globals_that_kernels_cannot_use_are_named(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        table = [1, 2, 3]
        array = np.zeros(3)
        def kernel(out: oa.Array[i32]):
            out[0] = table[0]
            out[1] = array
        """,
    )
    first, second = complaints(module.kernel)
    assert first.message == "table is a list around the kernel, which cannot be indexed"
    assert second.message == "array is a Python ndarray, which kernels cannot use"
    assert "pass arrays and objects as arguments" in second.help


@pytest.mark.parametrize(
    ("parameters", "message", "help"),
    [
        ("x", "kernel kernel: parameter x has no annotation", "x: f32"),
        ("x: int", "int says nothing about the width", "use i32 or i64"),
        ("x: float", "float says nothing about the width", "use f32 or f64"),
        ("x: list", "list is not a type that kernels know", "oa.Array[T]"),
        ("x: Missing", "'Missing' refers to a name that does not exist", "define or import it"),
        ("*x: i32", "is not a plain parameter", "*args"),
        ("x: oa.inline[f32, 3]", "cannot be inline[f32, 3]", "oa.Array[T]"),
        ("x: oa.Array[oa.Array[f32]]", "an array cannot hold Array[f32]", "elements are scalars"),
        ("x: oa.Object", "oa.Object itself cannot be a type", "declare a common base class"),
    ],
)
def test_parameters_of_kernels(tmp_path: Path, parameters: str, message: str, help: str) -> None:
    module = load_module(tmp_path, f"def kernel({parameters}):\n    pass\n")
    with pytest.raises(oa.ClassError) as caught:
        translate_kernel(module.kernel)
    assert message in caught.value.message
    assert help in caught.value.help


def test_what_a_wrong_condition_guards_is_checked_as_well(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        def kernel(a: oa.Array[f32]):
            if unknown > 0:
                a[0] = missing
            while nowhere:
                a[1] = lost
        """,
    )
    messages = [c.message for c in complaints(module.kernel)]
    assert messages == [
        f"{name} is not defined" for name in ("unknown", "missing", "nowhere", "lost")
    ]
