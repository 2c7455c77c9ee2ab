"""Every math function on every target: values on the host, machine code for GPUs."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from sharedoa.backends.native_code import NativeLibrary, ffi, host_target
from sharedoa.frontend.tree import MATH_FUNCTIONS
from sharedoa.targets import libdevice
from sharedoa.targets.amdgpu import AmdgpuTarget
from sharedoa.targets.base import F32, F64, I1, I64, Target
from sharedoa.targets.nvptx import NvptxTarget
from sharedoa.targets.ptxas import assemble

from ..modes import half_of, rotated
from .hand_written import kernel_text, place

ARITY = {"atan2": 2, "pow": 2, "fmod": 2, "hypot": 2, "copysign": 2, "fma": 3}
POINTS: dict[int, list[tuple[float, ...]]] = {
    2: [(0.5, 0.25), (-3.5, 2.0), (7.25, -2.5), (1e-3, 3.0)],
    3: [(0.5, 0.25, 1.0), (-3.5, 2.0, 7.0), (0.1, 10.0, -1.0)],
}
UNARY = [0.5, 0.25, 0.999, 1e-3, 0.75]
SPECIAL = [1.0, math.nan, math.inf, -math.inf, 0.0]


def reference(name: str, arguments: tuple[float, ...]) -> float:
    if name == "fma":
        return arguments[0] * arguments[1] + arguments[2]
    if name == "fabs":
        return abs(arguments[0])
    if name == "rint":
        return float(round(arguments[0]))
    return float(getattr(math, name)(*arguments))


def points(name: str) -> list[tuple[float, ...]]:
    if name.startswith("is"):
        return [(value,) for value in SPECIAL]
    if name == "pow":
        return [(0.5, 0.25), (3.5, 2.0), (-2.0, 3.0)]
    if name in ("acosh", "atanh"):  # away from where a rounded argument changes much
        return [(value + 1.5 if name == "acosh" else value / 2,) for value in UNARY]
    if name in ARITY:
        return POINTS[ARITY[name]]
    return [(value,) for value in UNARY]


def emit_call(name: str, type):
    """out[x] = name(in[0][x], in[1][x], ...)"""

    def emit(target: Target, builder, leaves, thread):
        out, *inputs = leaves
        values = [builder.load(place(target, builder, array, thread[0], type)) for array in inputs]
        result = target.emit_math(builder, name, values)
        if result.type == I1:
            result = builder.uitofp(result, type)
        builder.store(result, place(target, builder, out, thread[0], type))

    return emit


def call_text(target: Target, name: str, type) -> str:
    return kernel_text(target, emit_call(name, type), [I64] * (1 + ARITY.get(name, 1)))


@pytest.mark.parametrize(("name", "type"), rotated(MATH_FUNCTIONS, [F32, F64]))
def test_host_values(name: str, type):
    target, dtype = host_target(), np.float32 if type == F32 else np.float64
    code = target.compile(call_text(target, name, type))["o"]
    assert isinstance(code, bytes)
    library = NativeLibrary(code, ("kernel",), {})
    rows = points(name)
    # Elements lie 8 bytes apart, whatever their width.
    arrays = [np.zeros((len(rows), 8 // dtype().itemsize), dtype) for _ in range(len(rows[0]) + 1)]
    for array, column in zip(arrays[1:], zip(*rows, strict=True), strict=True):
        array[:, 0] = column
    slots = (ctypes.c_uint64 * len(arrays))(*[array.ctypes.data for array in arrays])
    entry = library.function("kernel", "void(*)(int64_t, int64_t, int64_t, int64_t, void *)")
    entry(0, len(rows), len(rows), 1, ffi.cast("void *", ctypes.addressof(slots)))
    expected = [reference(name, row) for row in rows]
    tolerance = 4e-7 if type == F32 else 1e-15
    np.testing.assert_allclose(arrays[0][:, 0], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "type"),
    rotated(half_of([*MATH_FUNCTIONS], 0), [F32, F64]),
)
def test_gpu_code(name: str, type):
    nvptx, amdgpu = NvptxTarget(), AmdgpuTarget()
    ptx = nvptx.compile(call_text(nvptx, name, type))["ptx"]
    assert isinstance(ptx, str)
    assert "__nv_" not in ptx, "libdevice functions are inlined"
    assert "nvvm_reflect" not in ptx
    assemble(ptx, nvptx.architecture)
    assert amdgpu.compile(call_text(amdgpu, name, type))["o"][:4] == b"\x7fELF"


def test_libdevice_is_linked_only_where_it_is_used(monkeypatch: pytest.MonkeyPatch):
    target = NvptxTarget()
    monkeypatch.setattr(libdevice, "find_libdevice", lambda: pytest.fail("libdevice was opened"))
    assert "sqrt.rn.f64" in target.compile(call_text(target, "sqrt", F64))["ptx"]


def test_only_what_is_used_is_linked():
    target = NvptxTarget()
    text = target.compile(call_text(target, "tanh", F32))["opt.ll"]
    assert isinstance(text, str)
    assert text.count("\ndefine ") <= 2


def test_absent_libdevice_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(libdevice, "nvidia_wheel_folders", list)
    monkeypatch.setattr(libdevice, "cuda_toolkits", lambda: [tmp_path])
    libdevice.find_libdevice.cache_clear()
    with pytest.raises(libdevice.BackendError, match="nvidia-nvvm") as caught:
        libdevice.find_libdevice()
    assert str(tmp_path) in str(caught.value)
    libdevice.find_libdevice.cache_clear()


def test_a_toolkit_named_by_the_environment_is_searched(monkeypatch, tmp_path):
    folder = tmp_path / "nvvm" / "libdevice"
    folder.mkdir(parents=True)
    (folder / libdevice.FILE_NAME).write_bytes(b"")
    monkeypatch.setattr(libdevice, "nvidia_wheel_folders", list)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    libdevice.find_libdevice.cache_clear()
    assert libdevice.find_libdevice() == folder / libdevice.FILE_NAME
    libdevice.find_libdevice.cache_clear()
