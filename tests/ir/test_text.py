"""What is printed reads back the same."""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.ir.core import (
    Candidate,
    Function,
    Lane,
    LvalueType,
    Operation,
    Program,
    Region,
    Value,
)
from sharedoa.ir.text import NOWHERE, Named, program_text, type_names
from sharedoa.location import Location
from sharedoa.model.run_form import RunForm
from sharedoa.model.scalars import SCALARS, weak_float, weak_int
from sharedoa.model.types import (
    NULL,
    VOID,
    ArrayType,
    InlineType,
    ReferenceType,
    TupleType,
)

from ..differential.effort import examples
from ..differential.programs import Size
from ..modes import half_of
from .equality import assert_equal
from .parse import ParseError, parse_program
from .programs import app_kernels, job, program_of, random_program, run_all


class Shape(oa.Object):
    size: f32

    def grow(self, by: f32) -> f32:
        self.size += by
        return self.size


class Circle(Shape):
    def grow(self, by: f32) -> f32:
        return super().grow(by * f32(3))


@oa.value
class Point:
    x: f32
    y: f32


def _other_shape() -> Named:
    class Shape(oa.Object):
        name: i32

    return Shape.__sharedoa__


def kernel(shapes: oa.Array[Shape], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    total = f32(0)
    for k in range(3):
        if k == 1:
            continue
        total += shapes[i].grow(f32(k))
    out[i] = total


_SHAPE, _CIRCLE = Shape.__sharedoa__, Circle.__sharedoa__
_POINT = Point.__sharedoa_value__
_FLOATS = [0.0, -0.0, 1.5, 1e300, 5e-324, math.inf, -math.inf, math.nan, -math.nan]


def _there_and_back(program: Program) -> str:
    text = program_text(program)
    found = parse_program(text, type_names(program))
    assert_equal(program, found)
    assert program_text(found) == text
    return text


def _with(*operations: Operation, arguments: list[Value] | None = None, **facts: object) -> Program:
    """A program of one function."""
    body = Region(arguments or [], [*operations])
    function = Function("main", "main", "kernel", VOID, body, NOWHERE, **facts)  # type: ignore[arg-type]
    return Program(function, {"main": function})


def _of_attributes(**attributes: object) -> Program:
    return _with(Operation("thing", [], NOWHERE, attributes))


# -------------------------------------------------------------- whole programs


@settings(max_examples=examples(10))
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.builds(Size, st.integers(0, 12), st.integers(1, 5), st.integers(1, 10)),
)
def test_random_programs(tmp_path_factory: pytest.TempPathFactory, seed: int, size: Size) -> None:
    _there_and_back(random_program(tmp_path_factory.mktemp("program"), seed, size))


@pytest.mark.parametrize("name", half_of(sorted(app_kernels()), 0))
def test_programs_of_the_applications(name: str) -> None:
    _there_and_back(program_of(app_kernels()[name]))


@pytest.mark.parametrize("name", half_of(sorted(app_kernels()), 1))
def test_programs_after_all_passes(name: str) -> None:
    program = program_of(app_kernels()[name])
    run_all(program, job(device=True, shares_loops=True, runs=_runs(program)))
    _there_and_back(program)


def _runs(program: Program) -> dict[int, RunForm]:
    """Each array of objects is a run of the first class that its objects may have."""
    found = {}
    for number, parameter in enumerate(program.kernel.parameters):
        match parameter.type:
            case ArrayType(ReferenceType(cls)):
                found[number] = RunForm(cls.concrete()[0], True)
    return found


def test_what_it_looks_like() -> None:
    text = _there_and_back(program_of(kernel))
    parts = text.split("\n\n")
    function = next(part for part in parts if part.startswith("method @Shape"))
    header, *lines = re.sub(r" #\d+", "", function).splitlines()
    assert re.fullmatch(
        r'method @[\w.]+ "Shape.grow" \(%self: Shape, %by: f32\) -> f32 <owner = class Shape> {',
        header,
    )
    assert lines == [
        '  %2: lvalue[f32] = field %self <owner = class Shape, name = "size">',
        "  %3: f32 = load %2",
        '  %4: f32 = binary %3, %by <operator = "add">',
        "  store %4, %2",
        '  %5: lvalue[f32] = field %self <owner = class Shape, name = "size">',
        "  %6: f32 = load %5",
        "  return %6",
        "}",
    ]
    assert "%k: int, %total: f32 = for %4, %5, %6, %7, %3 #6 (%k.2: int, %k.3: int, " in parts[1]
    assert "  if %14 #9 { continue %k.2, %total.2 #10 } { yield #9 }\n" in parts[1]
    assert '#1 = "' in parts[-1] and ' in "kernel"\n#2' in parts[-1]


# ----------------------------------------------------------------- attributes


@pytest.mark.parametrize("value", _FLOATS, ids=repr)
def test_floats(value: float) -> None:
    _there_and_back(_of_attributes(value=value))


@given(bits=st.integers(0, 2**64 - 1))
def test_floats_keep_their_bits(bits: int) -> None:
    _there_and_back(_of_attributes(value=struct.unpack(">d", bits.to_bytes(8, "big"))[0]))


@given(text=st.text(st.characters(exclude_categories=[])))
def test_strings_of_any_characters(text: str) -> None:
    program = _with(
        Operation(f"kind{text}", [], Location(text, 1, 2, 3, -4, text), {text: text}, [
            Value(weak_int, text), Value(weak_int, text), Value(weak_int, f"{text}.2")
        ]),
    )  # fmt: skip
    program.kernel.name = text
    assert _there_and_back(program).isascii()


_TYPES = [
    *SCALARS.values(), weak_int, weak_float, NULL, VOID, _POINT, ReferenceType(_SHAPE),
    ReferenceType(_CIRCLE), ArrayType(ReferenceType(_SHAPE)), ArrayType(_POINT),
    InlineType(ArrayType(f32), (3, 2)), LvalueType(InlineType(i32, (2,))), TupleType(()),
    TupleType((f32,)), TupleType((f32, TupleType((ReferenceType(_CIRCLE), weak_int)))),
]  # fmt: skip


@pytest.mark.parametrize("type_", _TYPES, ids=repr)
def test_types(type_: Any) -> None:
    value = Value(type_, "v")
    program = _with(Operation("use", [value], NOWHERE, {"type": type_}), arguments=[value])
    program.kernel.result = type_
    _there_and_back(program)


def _attributes() -> st.SearchStrategy[object]:
    simple = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(),
        st.sampled_from([
            *_TYPES, _SHAPE, _CIRCLE, Candidate(_CIRCLE, "@odd symbol"), Candidate(_SHAPE, "f.g$h"),
            RunForm(_SHAPE, False), RunForm(_CIRCLE, True), RunForm(_CIRCLE, False, 0), Lane(3),
            RunForm(_CIRCLE, True, 7),
        ]),
    )  # fmt: skip
    keys = st.one_of(st.integers(), st.text())
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(keys, inner)
        ),
        max_leaves=8,
    )


@settings(max_examples=examples(60))
@given(value=_attributes())
def test_attributes(value: object) -> None:
    _there_and_back(_of_attributes(value=value))


def test_an_attribute_that_has_no_text() -> None:
    with pytest.raises(oa.errors.InternalError, match="no text for the attribute"):
        program_text(_of_attributes(value=object()))


# ---------------------------------------------------------------------- names


def test_names_of_values() -> None:
    first, second, third = Value(f32, "x"), Value(f32, "x"), Value(f32)
    program = _with(Operation("use", [third, second, first], NOWHERE),
                    arguments=[first, second, third])  # fmt: skip
    assert "use %2, %x.2, %x\n" in _there_and_back(program)


def test_two_classes_of_one_name() -> None:
    other = _other_shape()
    program = _of_attributes(one=other, two=_SHAPE, three=ReferenceType(other))
    assert type_names(program) == {"Shape": other, "Shape.2": _SHAPE}
    assert "<one = class Shape, two = class Shape.2, three = type Shape>" in _there_and_back(
        program
    )


@pytest.mark.parametrize("name", ["f32", "int", "Array", "void", "none", "true", "ns::Shape<int>"])
def test_classes_with_names_that_mean_something_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_SHAPE, "name", name)
    attributes = [_SHAPE, ReferenceType(_SHAPE), Candidate(_SHAPE, "s"), RunForm(_SHAPE, True)]
    _there_and_back(_of_attributes(value=attributes))


# ------------------------------------------------------------------ functions


def test_facts_of_functions() -> None:
    parameter = Value(ReferenceType(_SHAPE), "self")
    known = {0: RunForm(_CIRCLE, True), 2: Lane(1)}
    program = _with(arguments=[parameter], owner=_SHAPE, known=known, melded=True)
    text = _there_and_back(program)
    facts = "<owner = class Shape, known = {0: run(Circle, near), 2: lane 1}, melded = true>"
    assert facts in text


def test_the_kernel_need_not_come_first() -> None:
    program = program_of(kernel)
    program.functions = dict(reversed(program.functions.items()))
    _there_and_back(program)


def test_regions_without_operations() -> None:
    _there_and_back(_with(Operation("hold", [], NOWHERE, {}, [], [Region(), Region()])))


def test_a_malformed_program_has_a_text() -> None:
    text = program_text(_with(Operation("use", [Value(f32, "lost")], NOWHERE)))
    assert "use %?lost" in text


# --------------------------------------------------------------------- errors

_FAULTS = {
    "": (1, "the end instead of program"),
    "program main": (1, "main instead of the symbol of the kernel"),
    "program @main\nkernel @main": (2, "the end instead of a string"),
    'program @main\nkernel @main "" () -> f31 {}': (2, "there is no type f31"),
    'program @main\nkernel @main "" () -> void {\n  use %x\n}': (3, "nothing makes %x"),
    'program @main\nkernel @main "" (%x: f32, %x: f32) -> void {}': (2, "%x is made twice"),
    'program @main\nkernel @main "" () -> void { use #1 }': (2, "#1 is not among"),
    'program @main\nkernel @main "" () -> void { use <a = b> }': (2, "b is no attribute"),
    'program @main\nkernel @main "" () -> void { use <a = $> }': (2, "cannot be read"),
    'program @main\nkernel @main "" () -> void { use <a = "\\x"> }': (2, "no string"),
    'program @main\nkernel @main "" () -> void <odd = 1> {}': (2, "unexpected keyword"),
    'program @main\nkernel @main "" () -> void { use <c = class Point> }': (2, "is no class"),
    'program @main\nfunc @f "" () -> void {}': (1, "there is no function @main"),
    'program @f\nfunc @f "" () -> void {}\nfunc @f "" () -> void {}': (3, "two functions @f"),
    'program @f\nfunc @f "" () -> void {}\n}': (3, "} instead of a function"),
    'program @f\nfunc @f "" () -> inline[f32, 1.5] {}': (2, "1.5 is no whole number"),
    'program @f\nfunc @f "" () -> (f32 f32) {}': (2, "f32 instead of )"),
}


@pytest.mark.parametrize("text", _FAULTS, ids=[problem for _, problem in _FAULTS.values()])
def test_texts_that_are_no_programs(text: str) -> None:
    line, problem = _FAULTS[text]
    with pytest.raises(ParseError) as caught:
        parse_program(text, {"Point": _POINT, "Shape": _SHAPE})
    assert caught.value.line == line
    assert str(caught.value).startswith(f"line {line}: ") and problem in str(caught.value)
