"""Reading PTX: what is printed is what was read, and what cannot be read is said with its line."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxpass.text import PtxError, print_module, read_module
from ptxpass.text.flow import FunctionFlow
from ptxpass.text.reader import _Reader
from ptxpass.text.syntax import (
    Call,
    Function,
    Instruction,
    Memory,
    Name,
    Number,
    Prototype,
    Statement,
    SymbolValue,
    type_size,
)
from tests.differential.effort import examples

from .golden import FOLDER

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
STORED = sorted(file.name for file in FOLDER.glob("*.ptx"))
SMALL = [name for name in STORED if (FOLDER / name).stat().st_size < 8000]


def body_of(lines: str, head: str = "") -> Function:
    module = read_module(f"{HEAD}{head}.visible .entry k(.param .u64 p)\n{{\n{lines}\n}}\n")
    return module.functions["k"]


def only_instruction(line: str) -> Instruction:
    statements = body_of(line).body
    assert statements is not None
    (instruction,) = [s for s in statements if isinstance(s, Instruction)]
    return instruction


# ---------------------------------------------------------------- what is read


def test_an_instruction():
    found = only_instruction("@!%p1 ld.global.nc.v2.u64 {%rd1, %rd2}, [%rd3+-16];")
    assert found.predicate == Name("%p1", negated=True)
    assert (found.opcode, found.modifiers) == ("ld", ("global", "nc", "v2", "u64"))
    assert found.operands[1] == Memory(Name("%rd3"), -16)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-1", -1),
        ("0x1F", 31),
        ("0b101", 5),
        ("017", 15),
        ("9U", 9),
        ("0f3F800000", None),
    ],
)
def test_numbers(text: str, value: int | None):
    assert only_instruction(f"mov.b64 %rd1, {text};").operands[1] == Number(text, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mov.b64 %rd1, " + "9" * 5000 + ";", "is not a number"),
        ("mov.b64 %rd1, 089;", "'089' is not a number"),
        ("mov.b" + "9" * 5000 + " %rd1, 1;", "too long a name"),
        ("mov.b64 %rd1, " + "(" * 5000 + "1" + ")" * 5000 + ";", "nested too deep"),
        ("mov.b64 %rd1, " + "[" * 100_000, "nested too deep"),
    ],
    ids=["digits", "octal", "type", "nested", "open"],
)
def test_what_would_take_long_is_refused(text: str, message: str):
    with pytest.raises(PtxError, match=message) as caught:
        only_instruction(text)
    assert len(str(caught.value)) < 1000


def test_sizes_of_types():
    sizes = {"b64": 8, "f16x2": 4, "f32x4": 16, "pred": 1, "b8": 1, "texref": 8, "b8xff": 1}
    assert {name: type_size(name) for name in sizes} == sizes


def test_names_of_very_many_digits_are_no_registers():
    names = ("%rd" + "9" * 5000, "%rd" + "9" * 300_000 + "x")
    flow = FunctionFlow(body_of(".reg .b64 %rd<5>;\nmov.b64 %rd1, 2;\nret;"))
    assert flow.register_type("%rd4", 1) == "b64" and flow.register_type("%rd5", 1) is None
    assert [flow.register_type(name, 1) for name in names] == [None, None]


def test_a_variable_of_very_many_bytes_is_not_filled():
    module = read_module(HEAD + ".global .align 4 .u16 x[999999999999];\n")
    with pytest.raises(PtxError, match="x has 1999999999998 bytes"):
        module.variables["x"].data()


def test_a_call_across_lines():
    call = only_instruction("call.uni (r), \n %rd4, \n ( a, b \n ), \n prototype_1;")
    assert isinstance(call, Call)
    assert (call.target, call.prototype) == (Name("%rd4"), "prototype_1")
    assert list(call.arguments) == [Name("a"), Name("b")]


def test_a_vtable():
    head = (
        ".func (.param .b32 r) f(.param .b64 a, .param .align 8 .b8 b[16]);\n"
        ".global .align 8 .u64 _ZTV1A[4] = {0, 0, f, generic(x)+16};\n"
    )
    module = read_module(HEAD + head)
    table = module.variables["_ZTV1A"]
    assert table.initial == [0, 0, SymbolValue("f"), SymbolValue("x", 16, generic=True)]
    assert module.functions["f"].shape == (((4, 4, False),), ((8, 8, False), (16, 8, True)))


def test_attributes():
    text = (
        HEAD + ".global .attribute(.managed) .align 4 .u32 x[3];\n"
        ".func .attribute(.unified(1, 2)) f(.param .u64 a) {\n ret;\n}\n"
    )
    module = read_module(text)
    assert (module.variables["x"].count, module.variables["x"].type) == (3, "u32")
    assert [p.name for p in module.functions["f"].parameters] == ["a"]
    assert print_module(module) == text


def test_bytes_of_a_variable():
    module = read_module(HEAD + ".global .align 4 .u16 x[4] = {1, 0xFFFF, -1};\n.global .u64 y;\n")
    assert module.variables["x"].data() == bytes([1, 0, 255, 255, 255, 255, 0, 0])
    assert module.variables["y"].data() == bytes(8)


def test_what_is_not_understood_is_kept():
    text = (
        "// a comment\n" + HEAD + "@@DWARF .byte 1, 2\n.alias a, b;\n.section .debug_abbrev\n{\n"
        "  .b8 1 // .loc\n  .b32 $L-$M\n}\n/* the\n end */"
    )
    assert print_module(read_module(text)) == text


# ---------------------------------------------------------------- read and print


@pytest.mark.parametrize("name", SMALL)
def test_statements_read_at_once_are_as_those_read_by_tokens(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    random, text = Random(name), (FOLDER / name).read_text()
    # Letters that are missing, doubled or others, so that some are neither.
    places = sorted(random.sample(range(len(text)), 3))
    damaged = [
        text[:at] + random.choice(("", 2 * text[at], *",;[]{}.%@!|-+ 9")) + text[at + 1 :]
        for at in places
    ]
    for each in (text, *damaged):
        found = _tree(each)
        with monkeypatch.context() as patch:
            patch.setattr(_Reader, "_plain_instruction", lambda self: None)
            patch.setattr(_Reader, "_plain_other", lambda self: None)
            assert _tree(each) == found


def _tree(text: str) -> Any:
    """All there is of each statement; of text that is refused nothing but that it is."""
    try:
        functions = read_module(text).functions.values()
    except PtxError:
        return None
    return [[(type(s), _parts(s)) for s in each.body or ()] for each in functions]


def _parts(statement: Statement) -> dict[str, Any]:
    parts = dict(vars(statement))
    if isinstance(statement, Prototype):
        for place in ("results", "parameters"):
            parts[place] = [vars(each) for each in parts[place]]
    return parts


@given(name=st.sampled_from(SMALL), data=st.data())
def test_damaged_text_is_refused_or_kept(name: str, data: st.DataObject):
    """Any piece cut out or doubled: an error with a line of the text, or the very same text."""
    text = (FOLDER / name).read_text()
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, min(start + 40, len(text))))
    times = data.draw(st.sampled_from([0, 2]))
    damaged = text[:start] + text[start:end] * times + text[end:]
    try:
        module = read_module(damaged, name)
    except PtxError as error:
        assert 0 < error.line <= damaged.count("\n") + 1
        assert str(error).startswith(f"{name}:{error.line}: ")
    else:
        assert print_module(module) == damaged


@settings(max_examples=examples(60))
@given(st.text(max_size=200))
def test_any_text_is_refused_with_a_line(text: str):
    with pytest.raises(PtxError) as caught:
        read_module(text, "x.ptx")
    assert re.match(r"x\.ptx:\d+: ", str(caught.value))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "no .version"),
        (".version 5.0\n.target sm_50\n", 1, "version 5.0 is not known"),
        (".version 10.1\n.target sm_50\n", 1, "version 10.1 is not known"),
        (".version x\n.target sm_50\n", 1, "is no version"),
        (".version 7.0\n", 1, "no .target"),
        (HEAD + ".func f(.param .u64 p)\n{\n ret;\n", 4, "does not end"),
        (HEAD + ".func f()\n{\n add.u64 %a, %b, 1\n ret;\n}\n", 7, "side by side"),
        (HEAD + ".func f()\n{\n add.u64 %a, (%b, 1;\n}\n", 6, "was expected"),
        (HEAD + ".func f()\n{\n call;\n}\n", 6, "without a function"),
        (HEAD + "add.u64 %a, %b, 1;\n", 4, "outside of a function"),
        (HEAD + ".func (\n", 5, "expected|ends"),
        (HEAD + '.file 1 "x\n', 4, "string does not end"),
        (HEAD + "/* x\n", 4, "comment does not end"),
        (HEAD + ".func f() { § }\n", 4, "unexpected character"),
    ],
)
def test_malformed_text(text: str, line: int, message: str):
    with pytest.raises(PtxError, match=message) as caught:
        read_module(text, "x.ptx")
    assert caught.value.line == line
