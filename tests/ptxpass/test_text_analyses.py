"""What is found out about functions of PTX before calls in them are rewritten: small ones."""

from __future__ import annotations

import pytest

from ptxpass.text import read_module
from ptxpass.text.equality import equal
from ptxpass.text.first_field import common_offset
from ptxpass.text.flow import FunctionFlow
from ptxpass.text.misplaced import misplaced_tables
from ptxpass.text.syntax import Instruction
from ptxpass.text.table_stores import TableUses
from ptxpass.text.uniformity import Uniformity
from ptxpass.text.values import FunctionValues

HEAD = """.version 8.0
.target sm_80
.address_size 64
.global .align 8 .u64 _ZTV4Leaf[4] = {0, 0, 0, 0};
.global .align 8 .u64 kept;
.extern .func (.param .b64 result) malloc(.param .b64 size);
"""
MAKER = """.func init(.param .b64 place)
{
    .reg .b64 %rd<5>;
    ld.param.b64 %rd1, [place];
    mov.b64 %rd2, _ZTV4Leaf;
    add.s64 %rd3, %rd2, 16;
    st.b64 [%rd1+DISTANCE], %rd3;
    ret;
}
.visible .entry run()
{
    .reg .b64 %rd<5>;
    { .param .b64 size; .param .b64 given;
    st.param.b64 [size], 64;
    call.uni (given), malloc, (size);
    ld.param.b64 %rd1, [given]; }
    { .param .b64 place;
    st.param.b64 [place], %rd1;
    call.uni init, (place); }
    MORE
    ret;
}
"""


@pytest.mark.parametrize(
    ("distance", "more", "is_misplaced"),
    [
        (0, "", False),
        (8, "", True),
        (0, "mov.b64 %rd2, init; st.global.b64 [kept], %rd2;", True),
    ],
    ids=["at the start", "inside of another", "by anybody"],
)
def test_who_makes_objects_in_places_of_others(
    distance: int, more: str, is_misplaced: bool
) -> None:
    text = HEAD + MAKER.replace("DISTANCE", str(distance)).replace("MORE", more)
    module = read_module(text)
    found = misplaced_tables(module, TableUses(module))
    assert found == (frozenset({"_ZTV4Leaf"}) if is_misplaced else frozenset())


def values_of(statements: str) -> FunctionValues:
    """Of an entry with them, a statement a line; what is read of ``number`` is the same for all."""
    text = f"""{HEAD}.visible .entry run(.param .b64 number)
{{
    .local .align 8 .b8 depot[16];
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    mov.u32 %r1, %tid.x;
    ld.param.b64 %rd1, [number];
    mov.b64 %rd2, depot;
    {statements}
    ret;
}}
"""
    return FunctionValues(FunctionFlow(read_module(text).functions["run"], "run"))


@pytest.mark.parametrize(
    ("statements", "slots"),
    [
        ("st.local.b64 [%rd2], %rd1; ld.local.b64 %rd3, [%rd2];", 1),
        ("st.local.b64 [%rd2], %rd1; st.local.b32 [%rd2+4], %r1; ld.local.b64 %rd3, [%rd2];", 0),
        ("st.local.b32 [%rd2], %r1; ld.local.b32 %r2, [%rd2]; ld.local.b16 %r3, [%rd2+2];", 0),
        ("st.local.b64 [%rd2], %rd2; ld.local.b64 %rd3, [%rd2];", 0),
        ("st.local.b64 [%rd2], %rd1; st.global.b64 [%rd1], %rd2; ld.local.b64 %rd3, [%rd2];", 0),
        ("st.local.v2.b64 [%rd2], {%rd1, %rd1}; ld.local.b64 %rd3, [%rd2];", 0),
    ],
    ids=["alone", "half of it written", "a part read", "its own address", "given away", "vectors"],
)
def test_local_memory_that_is_as_registers(statements: str, slots: int) -> None:
    found = values_of(statements.replace("; ", ";\n    ")).local_memory
    assert len(found.reads) == slots


MALLOC = """{ .param .b64 size; .param .b64 given; st.param.b64 [size], %rd1;
    call.uni (given), malloc, (size); ld.param.b64 %rd3, [given]; }"""


@pytest.mark.parametrize(
    ("first", "between", "second", "are_equal"),
    [
        ("add.s64 %rd7, %rd1, 8;", "", "add.s64 %rd8, %rd1, 8;", True),
        ("add.s64 %rd7, %rd1, 8;", "", "add.s64 %rd8, %rd1, 16;", False),
        ("add.s64 %rd7, %rd1, 8;", "", "sub.s64 %rd8, %rd1, 8;", False),
        ("add.s64 %rd7, %rd1, 8;", "", "add.s64 %rd8, %rd2, 8;", False),
        ("add.s64 %rd7, %rd1, 8;", "", "add.s64 %rd8, %rd1, %rd2;", False),
        (
            "add.s64 %rd7, %rd1, 8;",
            "setp.ne.u32 %p1, %r1, 0;",
            "@%p1 add.s64 %rd8, %rd1, 8;",
            False,
        ),
        ("ld.b64 %rd7, [%rd1+8];", "", "ld.b64 %rd8, [%rd1+8];", True),
        ("ld.b64 %rd7, [%rd1+8];", "add.s64 %rd4, %rd1, 1;", "ld.b64 %rd8, [%rd1+8];", True),
        ("ld.b64 %rd7, [%rd1+8];", "", "ld.b64 %rd8, [%rd1+16];", False),
        ("ld.b64 %rd7, [%rd1];", "", "ld.global.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", "st.b64 [%rd1], %rd1;", "ld.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", "atom.add.u64 %rd3, [%rd1], 1;", "ld.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", "bar.sync 0;", "ld.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", "multimem.st.u32 [%rd1], %r1;", "ld.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", "cp.async.wait_all;", "ld.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", "ld.acquire.gpu.u32 %r2, [%rd1];", "ld.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", "ld.u32 %r2, [%rd2];", "ld.b64 %rd8, [%rd1];", True),
        ("ld.b64 %rd7, [%rd1];", "st.mmio.u32 [%rd1], %r1;", "ld.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", MALLOC, "ld.b64 %rd8, [%rd1];", False),
        ("ld.b64 %rd7, [%rd1];", "bra $next; $next:", "ld.b64 %rd8, [%rd1];", False),
        ("ld.volatile.b64 %rd7, [%rd1];", "", "ld.volatile.b64 %rd8, [%rd1];", False),
        ("ld.v2.b64 {%rd7, %rd3}, [%rd1];", "", "ld.v2.b64 {%rd8, %rd4}, [%rd1];", True),
        ("ld.v2.b64 {%rd7, %rd3}, [%rd1];", "", "ld.v2.b64 {%rd4, %rd8}, [%rd1];", False),
        (
            "ld.b64 %rd7, [%rd1];",
            "st.local.b64 [%rd2], %rd1; ld.local.b64 %rd3, [%rd2];",
            "ld.b64 %rd8, [%rd1];",
            True,
        ),
        ("atom.add.u64 %rd7, [%rd1], 1;", "", "atom.add.u64 %rd8, [%rd1], 1;", False),
    ],
)
def test_what_is_computed_twice(first: str, between: str, second: str, are_equal: bool) -> None:
    """A call whose receiver might be another object than the one that its vtable is of is none."""
    statements = f"{first} {between} {second} st.b64 [%rd1], %rd7;"
    values = values_of(statements.replace("; ", ";\n    ").replace(": ", ":\n    "))
    index = max(index for index, _ in values.flow.instructions()) - 1
    one, other = values.register("%rd7", index), values.register("%rd8", index)
    assert equal(values, one, other) == are_equal


COUNTING = """mov.b64 %rd3, 0; mov.b32 %r2, 0;
$again:
    add.s64 %rd3, %rd3, 2; add.s32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, LAST;
    @%p1 bra $again;"""


@pytest.mark.parametrize(
    ("statements", "is_uniform"),
    [
        ("mov.b64 %rd3, %rd1;", True),
        ("setp.ne.b64 %p1, %rd1, 0; mov.b64 %rd3, 1; @%p1 mov.b64 %rd3, 2;", True),
        ("setp.ne.u32 %p1, %r1, 0; mov.b64 %rd3, 1; @%p1 mov.b64 %rd3, 2;", False),
        ("cvt.u64.u32 %rd3, %r1;", False),
        (COUNTING.replace("LAST", "%r1"), False),
        (COUNTING.replace("LAST", "9"), True),
    ],
    ids=[
        "a parameter", "a guard that all share", "a guard of each", "the thread's number",
        "rounds of each", "rounds of all",
    ],
)  # fmt: skip
def test_what_threads_agree_on(statements: str, is_uniform: bool) -> None:
    read = "st.global.b64 [%rd1], %rd3;"
    values = values_of(f"{statements} {read}".replace("; ", ";\n    "))
    (index,) = (
        index
        for index, each in values.flow.instructions()
        if isinstance(each, Instruction) and each.opcode == "st"
    )
    assert Uniformity(values).is_uniform(values.register("%rd3", index), index) == is_uniform


def test_what_most_methods_read_first() -> None:
    assert common_offset([[0, 8], [8], [64]]) == 0
    assert common_offset([[40], [64], [36, 0]]) == 36
    assert common_offset([[0], [0], [64], [64]]) is None
    assert common_offset([[0], [32], [64]]) is None
    assert common_offset([]) is None and common_offset([[], []]) is None
