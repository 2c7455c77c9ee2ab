"""The interpreter itself, on tiny programs whose results are known."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import AccessFault, Machine, PtxFault, Trap, UnsupportedInstruction, machine
from .floats import operation
from .numbers import Type, from_float, fused, rounded


@pytest.fixture(autouse=True, params=["fused", "one by one"])
def often(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations are one function from their first run on, or never."""
    monkeypatch.setattr(machine, "OFTEN", 0 if request.param == "fused" else 1_000_000_000)


HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"


def run(body: str, *inputs: int, before: str = "", threads: int = 1) -> int:
    """The u64 that a kernel leaves at [out], which is in %rd0; inputs are in %rd1, %rd2, ..."""
    parameters = ", ".join(f".param .u64 p{i}" for i in range(len(inputs) + 1))
    loads = "\n".join(f"ld.param.u64 %rd{i}, [p{i}];" for i in range(len(inputs) + 1))
    registers = ".reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .b16 %rs<9>; .reg .pred %p<9>;\n"
    registers += ".reg .f32 %f<9>; .reg .f64 %fd<9>;\n"
    code = f"{{\n{registers}{loads}\n{body}\nret;\n}}\n"
    loaded = Machine(f"{HEAD}{before}\n.visible .entry k ({parameters}) {code}")
    out = loaded.allocate(16, "out", bytes(16))
    loaded.launch("k", [out, *inputs], threads=threads)
    return loaded.memory.load("", out, 8)


@pytest.mark.parametrize(
    ("instruction", "left", "right", "expected"),
    [
        ("add.s64", 2**64 - 1, 2, 1),
        ("mul.hi.s64", 2**64 - 1, 5, 2**64 - 1),
        ("mul.hi.u64", 2**64 - 1, 5, 4),
        ("div.s64", -7, 2, 2**64 - 3),
        ("rem.s64", -7, 2, 2**64 - 1),
        ("min.s64", -1, 1, 2**64 - 1),
        ("min.u64", -1, 1, 1),
    ],
)
def test_integer_instructions(instruction: str, left: int, right: int, expected: int) -> None:
    body = f"{instruction} %rd3, %rd1, %rd2;\nst.u64 [%rd0], %rd3;"
    assert run(body, left, right) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("bfe.s32 %r1, 0xF0, 4, 4;", 0xFFFF_FFFF),
        ("bfi.b32 %r1, 3, 0, 8, 2;", 0x300),
        ("prmt.b32 %r1, 0x33221100, 0x77665544, 0x7610;", 0x7766_1100),
        ("shr.s32 %r1, -8, 40;", 0xFFFF_FFFF),
        ("shl.b32 %r1, 1, 40;", 0),
        ("shf.l.wrap.b32 %r1, 0x80000000, 1, 33;", 3),
        ("mad.lo.s32 %r1, -1, 3, 5;", 2),
        ("cvt.s32.s8 %r1, 0x1FF;", 0xFFFF_FFFF),
        ("cvt.rzi.s32.f32 %r1, 0fC0300000;", 2**32 - 2),
        ("mov.b32 %r1, 0f3F800000;", 0x3F80_0000),
        ("setp.lt.u32 %p1, 1, -1; selp.b32 %r1, 7, 9, %p1;", 7),
        ("setp.lt.s32 %p1|%p2, 1, -1; selp.b32 %r1, 7, 9, %p2;", 7),
        ("setp.nan.f32 %p1, 0f7FC00000, 0f00000000; selp.b32 %r1, 7, 9, %p1;", 7),
        ("div.rn.f32 %f1, 0f3F800000, 0f40400000; mov.b32 %r1, %f1;", 0x3EAA_AAAB),
        ("fma.rn.f32 %f1, 0f3F8009C4, 0f3F8009C4, 0f00000000; mov.b32 %r1, %f1;", 0x3F80_1389),
        ("fma.rz.f32 %f1, 0f3F8009C4, 0f3F8009C4, 0f00000000; mov.b32 %r1, %f1;", 0x3F80_1388),
        ("fma.rz.f32 %f1, 0fBF8009C4, 0f3F8009C4, 0f00000000; mov.b32 %r1, %f1;", 0xBF80_1388),
        ("fma.rz.f32 %f1, 0f7F7FFFFF, 0f40000000, 0f00000000; mov.b32 %r1, %f1;", 0x7F7F_FFFF),
        ("cvt.rpi.f32.f32 %f1, 0fBF000000; mov.b32 %r1, %f1;", 0x8000_0000),
        ("popc.b32 %r1, 0xF0F;", 8),
    ],
)
def test_other_instructions(code: str, expected: int) -> None:
    assert run(f"{code}\ncvt.u64.u32 %rd3, %r1;\nst.u64 [%rd0], %rd3;") == expected


def test_loads_extend_and_vectors_split() -> None:
    body = """
    ld.s8 %rd3, [bytes];
    ld.v2.u16 {%r1, %r2}, [bytes+4];
    mul.wide.u32 %rd4, %r1, %r2;
    add.s64 %rd3, %rd3, %rd4;
    st.u64 [%rd0], %rd3;
    """
    before = ".global .align 8 .b8 bytes[8] = {255, 0, 0, 0, 3, 0, 7, 0};"
    assert run(body, before=before) == 20


def test_braces_declare_registers_and_labels_again() -> None:
    body = """
    mov.u64 %rd3, 5;
    bra $next;
    trap;
    $next:
    {
        .reg .b64 %rd<4>;
        mov.u64 %rd3, 6;
        bra $next;
        trap;
        $next:
    }
    st.u64 [%rd0], %rd3;
    """
    assert run(body) == 5


RECURSIVE = """
.func (.param .b32 result) count (.param .b32 n)
{
    .local .align 4 .b8 kept[4];
    .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p1;
    ld.param.u32 %r1, [n];
    mov.u64 %rd1, kept;
    st.local.u32 [%rd1], %r1;
    mov.u32 %r2, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra $end;
    sub.u32 %r1, %r1, 1;
    {
        .param .b32 next; .param .b32 given;
        st.param.b32 [next], %r1;
        call.uni (given), count, (next);
        ld.param.b32 %r2, [given];
    }
    ld.local.u32 %r3, [%rd1];
    add.u32 %r2, %r2, %r3;
$end:
    st.param.b32 [result], %r2;
    ret;
}
"""


def test_recursion_has_its_own_registers_and_local_memory() -> None:
    body = """
    { .param .b32 n; .param .b32 given;
      st.param.b32 [n], 10; call (given), count, (n); ld.param.b32 %r1, [given]; }
    cvt.u64.u32 %rd3, %r1;
    st.u64 [%rd0], %rd3;
    """
    assert run(body, before=RECURSIVE) == 55


def test_barriers_hand_over_to_the_other_threads() -> None:
    body = """
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    mov.u64 %rd4, board;
    add.s64 %rd5, %rd4, %rd3;
    st.shared.u32 [%rd5], %r1;
    bar.sync 0;
    xor.b32 %r2, %r1, 3;
    mul.wide.u32 %rd6, %r2, 4;
    add.s64 %rd7, %rd4, %rd6;
    ld.shared.u32 %r3, [%rd7];
    cvta.to.global.u64 %rd8, %rd0;
    shl.b32 %r4, %r3, %r1;
    atom.global.add.u32 %r5, [%rd8], %r4;
    """
    before = ".shared .align 4 .b8 board[16];"
    assert run(body, before=before, threads=4) == 3 + (2 << 1) + (1 << 2)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("mov.u64 %rd3, 0; ld.u64 %rd4, [%rd3];", "next to null"),
        ("ld.u64 %rd4, [%rd0+16];", "not allocated"),
        ("ld.u64 %rd4, [%rd0+4];", "not aligned"),
        ("or.b64 %rd3, %rd0, 0x2000000000000; ld.u64 %rd4, [%rd3];", "tag 1"),
        ("mov.u64 %rd3, own; ld.local.u64 %rd4, [%rd3+8];", "not allocated"),
        ("mov.u64 %rd3, own; ld.u64 %rd4, [%rd3];", "before all memory"),
        ("mov.u64 %rd3, own; cvta.local.u64 %rd3, %rd3; ld.global.u64 %rd4, [%rd3];", "in .local"),
        ("mov.u64 %rd3, fixed; cvta.const.u64 %rd3, %rd3; st.u64 [%rd3], %rd0;", "be written"),
    ],
)
def test_wild_accesses_are_faults(code: str, message: str) -> None:
    with pytest.raises(AccessFault, match=message):
        run(f".local .align 8 .b8 own[8];\n{code}", before=".const .align 8 .u64 fixed[1] = {3};")


FUNCTION = ".func f (.param .b64 x) { ret; }"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("add.s64 %rd4, %rd5, 1;", "never written: %rd5"),
        ("@%p1 mov.u64 %rd4, 1;", "%p1 was never written"),
        ("call %rd0, p;", "where no function is"),
        ("mov.u64 %rd3, f; call %rd3, p;", "f has results and parameters"),
        ("bra $nowhere;", "no label"),
        ("mov.u64 %rd3, nobody;", "there is no nobody"),
        ("add.s64 %rd3, %r1, 1;", "32 bits"),
        ("$again: bra $again;", "does not end"),
    ],
)
def test_wrong_programs_are_faults(code: str, message: str) -> None:
    with pytest.raises(PtxFault, match=message):
        run(f"p: .callprototype _ ();\n{code}", before=FUNCTION)


def test_traps_and_unknown_instructions() -> None:
    with pytest.raises(Trap):
        run("trap;")
    with pytest.raises(UnsupportedInstruction, match="vote"):
        run("vote.sync.all.pred %p1, %p2, -1;")
    assert run("bra $over; vote.sync.all.pred %p1, %p2, -1; $over: st.u64 [%rd0], 4;") == 4


def test_malloc_gives_memory_and_free_takes_it_back() -> None:
    before = """.extern .func (.param .b64 r) malloc (.param .b64 n);
    .extern .func free (.param .b64 p);"""
    make = """{ .param .b64 n; .param .b64 r; st.param.b64 [n], 8; call (r), malloc, (n);
    ld.param.b64 %rd3, [r]; }"""
    free = "{ .param .b64 p; st.param.b64 [p], %rd3; call free, (p); }"
    assert run(f"{make} st.u64 [%rd3], 3; st.u64 [%rd0], 2; {free}", before=before) == 2
    with pytest.raises(AccessFault):
        run(f"{make} {free} st.u64 [%rd3], 3;", before=before)


@given(st.floats(width=32), st.floats(width=32), st.floats(width=32))
def test_fused_multiplication_rounds_once(a: float, b: float, c: float) -> None:
    with np.errstate(all="ignore"):
        wide = np.longdouble(a) * np.longdouble(b)
        exact = np.float64(a) * np.float64(b)
    found = fused(a, b, c, 32)
    if np.isfinite(exact) and c == 0 and exact != 0:
        assert wide == exact
        with np.errstate(all="ignore"):
            assert found == float(np.float32(exact))
    assert np.isnan(found) or found == struct.unpack("<f", struct.pack("<f", found))[0]


@given(st.floats(width=32), st.floats(width=32), st.floats(width=32))
def test_sums_and_products_are_those_of_numpy(a: float, b: float, c: float) -> None:
    left, right = (from_float(each, 32) for each in (a, b))
    with np.errstate(all="ignore"):
        one, two = np.float32(a), np.float32(b)
        for opcode, expected in (("add", one + two), ("sub", one - two), ("mul", one * two)):
            found = operation(opcode, Type("f", 32), ())
            assert found is not None and found(left, right) == from_float(expected, 32)
    if np.isfinite([a, b, c]).all() and (exact := Fraction(a) * Fraction(b) + Fraction(c)):
        assert fused(a, b, c, 32) == rounded(exact, 32)


def test_where_it_goes_wrong() -> None:
    """The line, the thread and what nobody has written, in the middle of a loop."""
    body = """
    mov.u32 %r1, 0;
    mov.u32 %r2, %tid.x;
    $again: add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 3;
    @%p1 bra $again;
    shl.b32 %r3, %r1, 1;
    add.u32 %r4, %r3, %r5;
    """
    with pytest.raises(PtxFault) as raised:
        run(body, threads=2)
    text = str(raised.value)
    assert "never written: %r5" in text and "add.u32 %r4, %r3, %r5" in text
    assert "thread (0, 0, 0) of block (0, 0, 0)" in text


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_become_floats_in_one_rounding(value: int) -> None:
    assert rounded(value, 64) == float(value)
    nearest = rounded(value, 32)
    below = float(np.nextafter(np.float32(nearest), np.float32(-np.inf)))
    above = float(np.nextafter(np.float32(nearest), np.float32(np.inf)))
    assert abs(int(nearest) - value) <= min(abs(int(below) - value), abs(int(above) - value))
