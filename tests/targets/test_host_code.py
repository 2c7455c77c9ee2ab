"""Stages and identity of host code; that it runs is tested with the CPU backend."""

from __future__ import annotations

import pytest
from llvmlite import ir

from sharedoa.errors import InternalError
from sharedoa.targets.base import I8, I64, POINTER, VOID, Target, declare
from sharedoa.targets.host import HostTarget
from sharedoa.targets.optimise import assembly_of, copy_no_ends, parse

from .hand_written import kernel_text, store_coordinates


def test_stages():
    target = HostTarget()
    stages = target.compile(kernel_text(target, store_coordinates))
    assert set(stages) == {"opt.ll", "o"}
    assert "define" in stages["opt.ll"]
    assert "kernel:" in assembly_of(stages["opt.ll"], target.machine)
    assert isinstance(stages["o"], bytes)


@pytest.mark.parametrize(("count", "for_size"), [(100, False), (1100, True)])
def test_functions_of_very_many_blocks_are_selected_for_size(count: int, for_size: bool) -> None:
    cases = "".join(f"i64 {n}, label %case{n} " for n in range(count))
    blocks = "".join(
        f"case{n}: call void @other(i64 {n * n}) br label %end\n" for n in range(count)
    )
    text = (
        "declare void @other(i64)\n"
        f"define void @many(i64 %which) {{ switch i64 %which, label %end [{cases}]\n"
        f"{blocks}end: ret void }}"
    )
    module = parse(text)
    copy_no_ends(module)
    assert ("optsize" in str(module)) == for_size


def test_the_body_is_inlined_and_gone():
    target = HostTarget()
    optimised = target.compile(kernel_text(target, store_coordinates))["opt.ll"]
    assert "kernel.body" not in optimised


def test_code_is_the_same_every_time():
    text = kernel_text(HostTarget(), store_coordinates)
    assert HostTarget().compile(text) == HostTarget().compile(text)


def test_fingerprint_names_machine_and_compiler():
    assert HostTarget().fingerprint == HostTarget().fingerprint
    assert "llvm" in HostTarget().fingerprint


def test_invalid_code_is_our_fault():
    with pytest.raises(InternalError, match="please report"):
        HostTarget().compile("define void @broken() { ret i32 0 }")


def test_large_frames_are_touched_page_by_page():
    """So that no call steps over the end of its stack."""

    def use_room(
        target: Target, builder: ir.IRBuilder, leaves: list[ir.Value], thread: list[ir.Value]
    ) -> None:
        room = builder.alloca(ir.ArrayType(I8, 1_000_000))
        builder.call(declare(builder.module, "use", VOID, [POINTER]), [room])

    target = HostTarget()
    text = kernel_text(target, use_room)
    probe = '"probe-stack"="inline-asm"'
    assert text.count(probe) == text.count("define ") == 2
    made, plain = (
        assembly_of(target.compile(each)["opt.ll"], target.machine)
        for each in (text, text.replace(probe, ""))
    )
    touches = [len(t.split("(%rsp)")) for t in (plain, made)]
    assert "rsp" not in plain or touches[0] < touches[1]


def test_code_that_uses_null_stays():

    def store_to_null(
        target: Target, builder: ir.IRBuilder, leaves: list[ir.Value], thread: list[ir.Value]
    ) -> None:
        with builder.if_then(builder.icmp_signed("<", thread[0], leaves[0])):
            builder.store(I64(77), ir.Constant(POINTER, None))

    target = HostTarget()
    assert "store i64 77" in target.compile(kernel_text(target, store_to_null))["opt.ll"]
