"""Objects for AMD's GPUs: what they say of themselves is what launches give, and they link."""

from __future__ import annotations

import pytest
from llvmlite import binding as llvm
from llvmlite import ir

import sharedoa as oa
from sharedoa import f32, f64, i8, u16
from sharedoa.errors import BackendError
from sharedoa.targets import ocml, rocm
from sharedoa.targets.amdgpu import TRIPLE, AmdgpuTarget
from sharedoa.targets.base import F32, F64, I1, I8, I16, I32, I64

from .code_object import metadata
from .hand_written import kernel_text, place, store_coordinates

LEAVES = (I64, I8, F64, I16, I1, I32, F32, I64)


class Thing(oa.Object):
    weight: f64

    def heavy(self, limit: f64) -> f64:
        return self.weight - limit


class Bulky(Thing):
    def heavy(self, limit: f64) -> f64:
        return limit


@oa.kernel
def weigh(things: oa.Array[Thing], out: oa.Array[f64], small: i8, scale: f32, wide: u16):
    i = oa.grid(1)
    if i < len(things):
        out[i] = things[i].heavy(f64(scale)) + f64(small) + f64(wide)


def laid_out(sizes: list[int]) -> list[tuple[int, int]]:
    """Offset and size of each argument, in order, each aligned to itself."""
    found, end = [], 0
    for size in sizes:
        start = -(-end // size) * size
        found.append((start, size))
        end = start + size
    return found


def given(code: bytes | str) -> tuple[dict, list[tuple[int, int]]]:
    """The only kernel, and the arguments that launches give: others have kinds of their own."""
    assert isinstance(code, bytes)
    (kernel,) = metadata(code)["amdhsa.kernels"]
    arguments = [
        (each[".offset"], each[".size"])
        for each in kernel[".args"]
        if not each[".value_kind"].startswith("hidden_")
    ]
    return kernel, arguments


@pytest.mark.parametrize("architecture", ["gfx90a", "gfx942", "gfx1030", "gfx1100"])
def test_arguments_lie_where_launches_put_them(architecture):
    target = AmdgpuTarget(architecture)
    code = target.compile(kernel_text(target, store_coordinates, LEAVES))["o"]
    kernel, arguments = given(code)
    # The slots of the leaves, cut to their types, then the two numbers of threads.
    sizes = [max(1, type.width // 8) if isinstance(type, ir.IntType) else 0 for type in LEAVES]
    sizes[2], sizes[6] = 8, 4
    assert arguments == laid_out([*sizes, 4, 4])
    assert kernel[".name"] == "kernel" and kernel[".symbol"] == "kernel.kd"
    assert kernel[".wavefront_size"] == target.lanes
    assert kernel[".max_flat_workgroup_size"] == 1024
    assert kernel[".private_segment_fixed_size"] == kernel[".group_segment_fixed_size"] == 0


@pytest.mark.parametrize("mode", ["auto", "coal", "typepointer"])
def test_arguments_of_python_kernels(mode):
    with oa.Heap(mode, "cpu", capacity="64MiB"):
        oa.new(Bulky, 8)
        _, arguments = given(weigh.compile("amdgpu").products["o"])
    assert arguments == laid_out([8, 8, 8, 8, 1, 4, 2, 4, 4])


def test_objects_become_shared_ones():
    try:
        rocm.find_lld()
    except BackendError as problem:
        pytest.skip(str(problem))
    target = AmdgpuTarget()
    code = target.compile(kernel_text(target, store_coordinates))["o"]
    assert isinstance(code, bytes)
    try:
        linked = rocm.link_code_object(code)
    except BackendError as problem:
        assert "is older than the code objects" in str(problem)
        pytest.skip(str(problem))
    assert metadata(linked) == metadata(code)
    assert all(name in linked for name in (b"kernel.kd\0", b"sharedoa_state\0"))

    def calls_nobody(target, builder, leaves, thread):
        type = ir.FunctionType(F64, [F64])
        callee = ir.Function(builder.module, type, "__ocml_sin_f64")
        builder.call(callee, [F64(1.0)])

    text = kernel_text(target, calls_nobody)
    with pytest.raises(BackendError, match="__ocml_sin_f64") as caught:
        rocm.link_code_object(target.compile(text)["o"])
    assert "ROCM_PATH" in caught.value.help


def test_mathematics_is_taken_from_rocm(monkeypatch, tmp_path):
    """A library of the same form: functions, and constants in files of their own."""
    folder = tmp_path / "amdgcn" / "bitcode"
    folder.mkdir(parents=True)
    constant = "= linkonce_odr protected addrspace(4) constant i32"
    texts = {
        "ocml": "@__oclc_ISA_version = external addrspace(4) constant i32\n"
        "@__oclc_wavefrontsize64 = external addrspace(4) constant i32\n"
        "define float @__ocml_sin_f32(float %x) {\n"
        "%v = load i32, ptr addrspace(4) @__oclc_ISA_version\n"
        "%w = load i32, ptr addrspace(4) @__oclc_wavefrontsize64\n"
        "%s = add i32 %v, %w\n%f = uitofp i32 %s to float\n%r = fmul float %x, %f\n"
        "ret float %r }\n"
        "define float @__ocml_cos_f32(float %x) { ret float %x }\n",
        "oclc_isa_version_90a": f"@__oclc_ISA_version {constant} 9010\n",
        "oclc_wavefrontsize64_on": f"@__oclc_wavefrontsize64 {constant} 1\n",
        "oclc_wavefrontsize64_off": f"@__oclc_wavefrontsize64 {constant} 0\n",
    }
    for name, text in texts.items():
        header = f'target triple = "{TRIPLE}"\n'
        module = llvm.parse_assembly(header + text)
        (folder / f"{name}.bc").write_bytes(module.as_bitcode())
    monkeypatch.setattr(ocml, "rocm_folders", lambda: [tmp_path])
    for cached in (ocml.find_ocml, ocml.fingerprint):
        cached.cache_clear()

    def emit(target, builder, leaves, thread):
        given = builder.sitofp(thread[0], F32)
        builder.store(target.emit_math(builder, "sin", [given]), place(target, builder, *leaves,
                      thread[0], F32))  # fmt: skip

    try:
        target = AmdgpuTarget("gfx90a")
        text = kernel_text(target, emit)
        assert target.libraries(text).startswith("ocml ") and "none" not in target.libraries(text)
        optimised = str(target.compile(text)["opt.ll"])
        assert "__ocml_" not in optimised and "9.011000e+03" in optimised
        with pytest.raises(BackendError, match=r"do not know gfx1030.*oclc_isa_version_1030"):
            AmdgpuTarget("gfx1030").compile(kernel_text(AmdgpuTarget("gfx1030"), emit))
        with pytest.raises(BackendError, match="has no __ocml_pow_f32"):
            ocml.link(None, frozenset({"__ocml_pow_f32"}), "gfx90a", 64, target.machine)
    finally:
        for cached in (ocml.find_ocml, ocml.fingerprint):
            cached.cache_clear()


def test_a_missing_linker_is_told(monkeypatch):
    rocm.find_lld.cache_clear()
    monkeypatch.setenv("PATH", "/nowhere")
    for name in ("ROCM_PATH", "HIP_PATH"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setattr(rocm, "rocm_folders", list)
    with pytest.raises(BackendError, match=r"ld\.lld") as caught:
        rocm.link_code_object(b"")
    assert "ROCM_PATH" in caught.value.help
    rocm.find_lld.cache_clear()


def test_a_linker_that_is_too_old_is_told(monkeypatch, tmp_path):
    linker = tmp_path / "ld.lld"
    linker.write_text("#!/bin/sh\necho 'ld.lld: error: unknown abi version: ' >&2\nexit 1\n")
    linker.chmod(0o755)
    monkeypatch.setattr(rocm, "find_lld", lambda: linker)
    with pytest.raises(BackendError, match=r"ld\.lld is older than the code objects") as caught:
        rocm.link_code_object(b"")
    assert "ROCM_PATH" in caught.value.help
