"""Stages and identity of host code; that it runs is tested with the CPU backend."""

from __future__ import annotations

import pytest

from sharedoa.errors import InternalError
from sharedoa.targets.host import HostTarget
from sharedoa.targets.optimise import assembly_of, parse

from .hand_written import kernel_text, store_coordinates


def test_stages():
    target = HostTarget()
    stages = target.compile(kernel_text(target, store_coordinates))
    assert set(stages) == {"opt.ll", "o"}
    assert "define" in stages["opt.ll"]
    assert "kernel:" in assembly_of(stages["opt.ll"], target.machine)
    assert isinstance(stages["o"], bytes)


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
    text = """
declare void @use(ptr)
define void @kernel(i64 %".1") {
  %room = alloca [1000000 x i8]
  call void @use(ptr %room)
  ret void
}
"""
    target = HostTarget()
    plain = str(target.machine.emit_assembly(parse(text)))
    stages = target.compile(text)
    made = assembly_of(stages["opt.ll"], target.machine)
    assert '"probe-stack"="inline-asm"' in stages["opt.ll"]
    touches = [len(t.split("(%rsp)")) for t in (plain, made)]
    assert "rsp" not in plain or touches[0] < touches[1]


def test_code_that_uses_null_stays():
    text = """
define void @kernel(i64 %x, i1 %c) {
  br i1 %c, label %use, label %done
use:
  store i64 %x, ptr null
  br label %done
done:
  ret void
}
"""
    assert "store" in HostTarget().compile(text)["opt.ll"]
