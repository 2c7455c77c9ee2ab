"""Kernels for GPUs that need not be there: PTX assembles, AMD objects are made."""

from __future__ import annotations

import re

import pytest
from llvmlite import ir

from sharedoa.errors import BackendError, InternalError
from sharedoa.targets.amdgpu import AmdgpuTarget
from sharedoa.targets.base import F32, F64, I1, I8, I16, I32, I64, POINTER, Target
from sharedoa.targets.nvptx import ARCHITECTURES, NvptxTarget, architecture_for
from sharedoa.targets.optimise import assembly_of
from sharedoa.targets.ptxas import assemble

from .hand_written import kernel_text, place, store_coordinates


@pytest.fixture(params=["nvptx", "amdgpu"])
def target(request: pytest.FixtureRequest) -> Target:
    return NvptxTarget() if request.param == "nvptx" else AmdgpuTarget()


def check(target: Target, text: str) -> str:
    """Compile to machine code; the text of PTX or assembly."""
    stages = target.compile(text)
    if isinstance(target, NvptxTarget):
        ptx = stages["ptx"]
        assert isinstance(ptx, str)
        assert assemble(ptx, target.architecture).cubin[:4] == b"\x7fELF"
        return ptx
    code = stages["o"]
    assert isinstance(code, bytes)
    assert code[:4] == b"\x7fELF"
    return assembly_of(str(stages["opt.ll"]), target.machine)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture(architecture: str):
    target = NvptxTarget(architecture)
    ptx = target.compile(kernel_text(target, store_coordinates))["ptx"]
    assert isinstance(ptx, str)
    assert f".target {architecture}\n" in ptx
    assert ".visible .entry kernel(" in ptx
    try:
        assert assemble(ptx, architecture).registers > 0
    except InternalError as problem:
        # Each toolkit drops the oldest devices and does not know the newest.
        if architecture in ("sm_80", "sm_90") or "not defined for option" not in str(problem):
            raise


@pytest.mark.parametrize(
    ("device", "expected"),
    [("sm_70", "sm_70"), ("sm_87", "sm_86"), ("sm_90", "sm_90"), ("sm_131", ARCHITECTURES[-1])],
)
def test_architecture_for_a_device(device: str, expected: str):
    assert architecture_for(device) == expected


def test_the_architectures_are_in_order():
    numbers = [int(name[3:]) for name in ARCHITECTURES]
    assert numbers == sorted(numbers)


def test_index_arithmetic_is_32_bits_wide():
    ptx = check(NvptxTarget(), kernel_text(NvptxTarget(), store_coordinates))
    assert "mad.lo.s32" in ptx
    assert "cvt.u64.u32" in ptx or "mul.wide.u32" in ptx


def test_the_state_block_can_be_found_by_name(target: Target):
    assert "sharedoa_state" in check(target, kernel_text(target, store_coordinates))


def test_barrier(target: Target):
    def emit(target, builder, leaves, thread):
        builder.store(thread[0], place(target, builder, leaves[0], thread[0]))
        target.emit_barrier(builder)
        other = builder.load(place(target, builder, leaves[0], builder.xor(thread[0], I64(1))))
        builder.store(other, place(target, builder, leaves[0], thread[0]))

    text = check(target, kernel_text(target, emit, uses_barrier=True))
    assert ("bar.sync" if target.name == "nvptx" else "s_barrier") in text


def test_indirect_call_through_a_table(target: Target):
    def emit(target, builder, leaves, thread):
        module, type = builder.module, ir.FunctionType(I64, [I64])
        methods = []
        for number in range(2):
            method = ir.Function(module, type, f"method{number}")
            method.linkage = "internal"
            inside = ir.IRBuilder(method.append_basic_block())
            inside.ret(inside.add(method.args[0], I64(number)))
            methods.append(method)
        table_type = ir.ArrayType(POINTER, 2)
        table = ir.GlobalVariable(module, table_type, "table", addrspace=target.constant_space)
        table.global_constant, table.linkage = True, "internal"
        table.initializer = ir.Constant(table_type, methods)
        entry = builder.load(place(target, builder, leaves[0], thread[0]))
        slot = builder.gep(table, [I32(0), builder.trunc(entry, I32)])
        method = builder.load(slot, typ=type.as_pointer())
        builder.store(
            builder.call(method, [thread[0]]), place(target, builder, leaves[0], thread[0])
        )

    text = check(target, kernel_text(target, emit))
    assert (".callprototype" if target.name == "nvptx" else "s_swappc_b64") in text


def test_recursive_function(target: Target):
    def emit(target, builder, leaves, thread):
        double = ir.FunctionType(F64, [F64])
        function = ir.Function(builder.module, double, "recursive")
        function.linkage = "internal"
        inside = ir.IRBuilder(function.append_basic_block())
        with inside.if_then(inside.fcmp_ordered("<", function.args[0], F64(1.0))):
            inside.ret(F64(1.0))
        half = inside.call(function, [inside.fmul(function.args[0], F64(0.5))])
        third = inside.call(function, [inside.fmul(function.args[0], F64(0.3))])
        inside.ret(inside.fadd(half, third))
        result = builder.call(function, [builder.sitofp(thread[0], F64)])
        builder.store(result, place(target, builder, leaves[0], thread[0], F64))

    check(target, kernel_text(target, emit))


@pytest.mark.parametrize("type", [I8, I16, I32, I64, F32, F64], ids=str)
def test_atomics_lower_on_every_type(target: Target, type: ir.Type):
    is_float = type in (F32, F64)
    operators = ("fadd", "fsub", "xchg") if is_float else ("add", "sub", "min", "umax", "xchg")

    def emit(target, builder, leaves, thread):
        pointer = place(target, builder, leaves[0], thread[0], type)
        for operator in operators:
            builder.atomic_rmw(operator, pointer, type(3), "monotonic")
        if not is_float:
            builder.cmpxchg(pointer, type(3), type(4), "monotonic")

    check(target, kernel_text(target, emit))


def test_print_packs_its_arguments():
    def emit(target, builder, leaves, thread):
        truth = builder.icmp_signed("<", thread[0], I64(2))
        assert truth.type == I1
        target.emit_print(builder, ["100% ", thread[0], builder.sitofp(thread[0], F64), truth])

    ptx = check(NvptxTarget(), kernel_text(NvptxTarget(), emit))
    assert "vprintf" in ptx


def test_floats_are_printed_with_digits_that_read_back_the_same():
    def emit(target, builder, leaves, thread):
        double = builder.sitofp(thread[0], F64)
        target.emit_print(builder, [builder.fptrunc(double, F32), " ", double])

    ptx = check(NvptxTarget(), kernel_text(NvptxTarget(), emit))
    texts = re.findall(r"\.b8 text\w*\[\d+\] = \{([\d, ]+)\}", ptx)
    assert b"%.9g %.17g" in [bytes(map(int, text.split(","))) for text in texts]


def test_print_is_refused_for_amd():
    def emit(target, builder, leaves, thread):
        target.emit_print(builder, ["hello"])

    with pytest.raises(BackendError, match="print is not available"):
        kernel_text(AmdgpuTarget(), emit)
