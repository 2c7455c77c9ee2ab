"""Threads of a warp that wait for one another, in the interpreter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.differential.effort import examples

from . import Machine, PtxFault

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
ALL = "-1"


def run(
    body: str,
    threads: int = 32,
    choose: Callable[[Sequence[int]], Collection[int]] | None = None,
) -> list[int]:
    """%r1 of every thread at the end, which is 7 before; %r0 is its number, %p0 whether it is
    odd."""
    registers = ".reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<9>;"
    before = """ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, 7; and.b32 %r9, %r0, 1;
    setp.ne.u32 %p0, %r9, 0;"""
    after = "mul.wide.u32 %rd1, %r0, 4; add.s64 %rd1, %rd0, %rd1; st.global.u32 [%rd1], %r1; ret;"
    code = f"{{\n{registers}\n{before}\n{body}\n{after}\n}}"
    machine = Machine(f"{HEAD}.visible .entry k (.param .u64 out) {code}")
    if choose is not None:
        machine.choose = choose
    out = machine.allocate(4 * threads, "out", bytes(4 * threads))
    machine.launch("k", [out], threads=threads)
    data = machine.memory.read(out, 4 * threads)
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def test_threads_of_two_warps_are_never_together() -> None:
    body = f"bar.warp.sync {ALL};\nvote.sync.ballot.b32 %r1, %p0, {ALL};"
    assert run(body, threads=64) == [0xAAAA_AAAA] * 64
    assert run("activemask.b32 %r1;", threads=48) == [2**32 - 1] * 32 + [0xFFFF] * 16


@pytest.mark.parametrize(
    ("instruction", "combine"),
    [
        ("add.s32", operator.add),
        ("add.u32", operator.add),
        ("min.s32", min),
        ("max.s32", max),
        ("min.u32", min),
        ("max.u32", max),
        ("or.b32", operator.or_),
        ("and.b32", operator.and_),
        ("xor.b32", operator.xor),
    ],
)
def test_reductions(instruction: str, combine: Callable[[int, int], int]) -> None:
    """Of numbers that are large without a sign, some of them negative with one."""
    factor, offset = 0x0F37_79B1, 0x7000_0000
    numbers = [(factor * i | offset) % 2**32 for i in range(32)]
    if instruction.endswith("s32"):
        numbers = [n - 2**32 if n >= 2**31 else n for n in numbers]
    body = f"mul.lo.u32 %r2, %r0, {factor}; or.b32 %r2, %r2, {offset};"
    found = run(f"{body}\nredux.sync.{instruction} %r1, %r2, {ALL};")
    assert found == [reduce(combine, numbers) % 2**32] * 32


@pytest.mark.parametrize(
    ("kind", "operands", "source"),
    [
        ("idx", "5, 31", lambda lane: 5),
        ("idx", "37, 31", lambda lane: 5),
        ("idx", "3, 0x181f", lambda lane: lane // 8 * 8 + 3),
        ("up", "3, 0", lambda lane: lane - 3 if lane >= 3 else lane),
        ("up", "3, 0x1800", lambda lane: lane - 3 if lane % 8 >= 3 else lane),
        ("down", "3, 31", lambda lane: lane + 3 if lane <= 28 else lane),
        ("bfly", "6, 31", lambda lane: lane ^ 6),
    ],
)
def test_shuffles(kind: str, operands: str, source: Callable[[int], int]) -> None:
    values = "mul.lo.u32 %r2, %r0, 10;"
    shuffle = f"shfl.sync.{kind}.b32 %r1|%p1, %r2, {operands}, {ALL};"
    assert run(f"{values}{shuffle}") == [10 * source(lane) for lane in range(32)]


def test_shuffles_tell_whether_there_is_such_a_lane() -> None:
    body = f"shfl.sync.up.b32 %r2|%p1, %r0, 4, 0, {ALL}; selp.b32 %r1, 1, 0, %p1;"
    assert run(body) == [0] * 4 + [1] * 28


@pytest.mark.parametrize(
    ("name", "mask"),
    [
        ("eq", lambda lane: 1 << lane),
        ("lt", lambda lane: (1 << lane) - 1),
        ("le", lambda lane: (2 << lane) - 1),
        ("gt", lambda lane: 2**32 - (2 << lane)),
        ("ge", lambda lane: 2**32 - (1 << lane)),
    ],
)
def test_masks_of_lanes(name: str, mask: Callable[[int], int]) -> None:
    expected = [mask(lane) for lane in range(32)] * 2
    assert run(f"mov.u32 %r1, %lanemask_{name};", threads=64) == expected


def test_threads_may_take_different_ways_to_where_they_meet() -> None:
    body = f"""
    mov.u32 %r2, 0;
$again:
    setp.ge.u32 %p1, %r2, %r0;
    @%p1 bra $meet;
    add.u32 %r2, %r2, 1;
    bra $again;
$meet:
    redux.sync.max.u32 %r1, %r2, {ALL};
    """
    assert run(body) == [31] * 32


def test_halves_of_a_warp_meet_at_places_of_their_own() -> None:
    body = """
    @%p0 bra $odd;
    redux.sync.add.u32 %r1, %r0, 0x55555555;
    bra $end;
$odd:
    redux.sync.add.u32 %r1, %r0, 0xAAAAAAAA;
$end:
    """
    assert run(body) == [240, 256] * 16


def test_some_wait_for_their_warp_and_then_all_for_their_block() -> None:
    body = f"""
    vote.sync.ballot.b32 %r1, %p0, {ALL};
    bar.sync 0;
    redux.sync.or.b32 %r1, %r0, {ALL};
    """
    assert run(body, threads=64) == [31] * 32 + [63] * 32


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"@%p0 redux.sync.add.u32 %r1, %r0, {ALL};", "lane 0 does not come to redux.*of lane 1"),
        ("redux.sync.add.u32 %r1, %r0, 3;", "lane 2 comes to redux.* but is not in 0x00000003"),
        (f"@%p0 bar.sync 0;\n@!%p0 bar.warp.sync {ALL};", "lane 1 does not come to bar.warp.sync"),
        (f"@%p0 ret;\nvote.sync.ballot.b32 %r1, %p0, {ALL};", "lane 1 does not come to vote"),
        (
            f"@%p0 bra $odd;\nbar.warp.sync {ALL};\nbra $end;\n$odd: bar.warp.sync {ALL};\n$end:",
            "lane 1 does not come to .* of lane 0; lane 0 does not come to .* of lane 1",
        ),
        (f"redux.sync.add.u32 %r1, %r5, {ALL};", "never written"),
        (f"shfl.sync.idx.b32 %r2, %r5, 0, 31, {ALL};\nadd.u32 %r1, %r2, 1;", "never written: %r2"),
        ("vote.ballot.b32 %r1, %p0;", "whom they wait for"),
    ],
)
def test_who_waits_for_ever_is_a_fault(body: str, message: str) -> None:
    with pytest.raises(PtxFault, match=message):
        run(body)


def test_what_a_lane_has_not_may_be_fetched_and_not_used() -> None:
    body = f"@%p0 mov.u32 %r5, 3;\nshfl.sync.up.b32 %r2, %r5, 1, 0, {ALL};\n@!%p0 mov.u32 %r2, 4;"
    # Odd lanes fetch what even ones have never written.
    assert run(f"{body}\n@!%p0 mov.u32 %r1, %r2;") == [4, 7] * 16


@settings(max_examples=examples(60))
@given(st.data())
def test_any_threads_may_be_active_together(data: st.DataObject) -> None:
    """Each thread gets the mask of a group that it is in, and may wait for the others in it."""
    met: list[set[int]] = []

    def choose(lanes: Sequence[int]) -> Collection[int]:
        some = data.draw(st.sets(st.sampled_from(lanes), min_size=1))
        met.append(some)
        return some

    found = run("activemask.b32 %r2;\nredux.sync.or.b32 %r1, %r2, %r2;", choose=choose)
    assert sorted(lane for group in met for lane in group) == list(range(32))
    for group in met:
        assert {found[lane] for lane in group} == {sum(1 << lane for lane in group)}


def test_those_that_are_left_wait_for_those_that_come_later() -> None:
    """One thread at a time; the first of them goes around again and finds the others."""
    groups: list[list[int]] = []

    def choose(lanes: Sequence[int]) -> Collection[int]:
        groups.append(list(lanes))
        return lanes if len(groups) == 2 else lanes[:1]

    body = """
    mov.u32 %r3, 0;
$again:
    activemask.b32 %r1;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 2;
    @%p1 bra $again;
    """
    found = run(body, choose=choose)
    everyone = list(range(32))
    assert groups[0] == groups[1] == everyone
    assert groups[2] == everyone[1:]
    assert found[0] == 2**32 - 1
