"""M-4: what each mode loads and calls to dispatch, counted in the PTX of one virtual call.

The paper's Table 1: A, the load of the object's vtable pointer, is made by the header modes only; B
is one load from a table of the type; C is an indirect branch. A switch replaces B and C.
"""

from __future__ import annotations

import re

import pytest

import sharedoa as oa
from bench.weighted_family import weighted_family
from dispatch.mode import MODES
from sharedoa import f32
from sharedoa.targets.ptxas import assemble, find_ptxas
from tests.modes import third_of

from .ptx_reading import (
    DispatchPath,
    dispatch_path,
    entry_symbol,
    instructions,
    masks_before_access,
)


class Shape(oa.Object):
    def update(self, k: f32) -> f32: ...


class Moving(Shape):
    x: f32

    def update(self, k: f32) -> f32:
        self.x = self.x + k
        return self.x


class Scaling(Shape):
    y: f32

    def update(self, k: f32) -> f32:
        self.y = self.y * k - f32(3)
        return self.y


class Turning(Shape):
    z: f32

    def update(self, k: f32) -> f32:
        self.z = k - self.z
        return f32(2)


@oa.kernel
def update_each(shapes: oa.Array[Shape], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(shapes):
        out[i] = shapes[i].update(1.5)


@oa.kernel
def update_one(shape: Shape, out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(out):
        out[i] = shape.update(1.5)


# The walk reads one bound a level (the same instruction for every level) and the leaf's type.
WALK = 2
EXPECTED = {
    "cuda": DispatchPath(1, 1, 1, module_table_loads=1),
    "concord": DispatchPath(1, 0, 0),
    "sharedoa": DispatchPath(1, 1, 1, module_table_loads=1),
    "coal": DispatchPath(0, 1, 1, tree_loads=WALK),
    "typepointer": DispatchPath(0, 1, 1),
    "header+vtable": DispatchPath(1, 1, 1, module_table_loads=1),
    "header+switch": DispatchPath(1, 1, 0),
    "tag+vtable": DispatchPath(1, 1, 1),
    "tag+switch": DispatchPath(1, 0, 0),
    "range+vtable": DispatchPath(0, 1, 1, tree_loads=WALK),
    "range+switch": DispatchPath(0, 0, 0, tree_loads=WALK),
    "bits+vtable": DispatchPath(0, 1, 1),
    "bits+switch": DispatchPath(0, 0, 0),
    "auto": DispatchPath(0, 0, 0, tree_loads=WALK),
}


def ptx_of(kernel: oa.Kernel, mode: str) -> tuple[str, int]:
    with oa.Heap(mode=mode, backend="cpu", references="64") as heap:
        ptx = kernel.compile("nvptx").products["ptx"]
        assert isinstance(ptx, str)
        return ptx, heap.mode.header_size


def test_every_mode_is_expected():
    assert set(EXPECTED) == set(MODES)


@pytest.mark.parametrize("mode", EXPECTED)
def test_loads_and_calls_of_a_divergent_call(mode: str):
    assert dispatch_path(*ptx_of(update_each, mode)) == EXPECTED[mode]


def test_windows_need_no_load_and_one_branch():
    family = weighted_family(types=32, field_bytes=16)
    with oa.Heap(mode="auto", backend="cpu", references="64", layout="tile") as heap:
        kept = [heap.new(cls, 128) for cls in family.classes]
        ptx = family.module.light.compile("nvptx").products["ptx"]
        assert len(heap.ranges()) == len(kept) == 32
    assert isinstance(ptx, str)
    assert dispatch_path(ptx, heap.mode.header_size) == DispatchPath()
    found = [operation for operation, _ in instructions(ptx, entry_symbol(ptx))]
    assert found.count("brx.idx") == 1
    # What all methods load is loaded once, before the branch; what they store, behind it.
    assert [op for op in found if op.startswith("ld.global")] == [
        "ld.global.nc.b64",
        "ld.global.b32",
    ]
    assert sum(op.startswith("st.global") for op in found) == 1
    # The window's number, beside the tests of the thread's index.
    assert sum(op.startswith("setp") for op in found) == 3


def test_coal_spares_a_uniform_receiver():
    ptx, _ = ptx_of(update_one, "coal")
    assert "sharedoa_functions" in ptx, "the call goes through the header"
    assert not re.search(r"ld\.const.*sharedoa_state", ptx), "no walk of the range tree"
    assert "uniform" in explanation(update_one, "coal")
    assert "uniform" not in explanation(update_each, "coal")


def explanation(kernel: oa.Kernel, mode: str) -> str:
    with oa.Heap(mode=mode, backend="cpu"):
        return kernel.explain()


@pytest.mark.parametrize("mode", ["typepointer", "bits+vtable"])
def test_typepointer_masks_every_access(mode: str):
    ptx, _ = ptx_of(update_each, mode)
    methods = re.findall(r"^\.func .*\b(\w+_\$_\w+_\$_update)\(\n", ptx, re.MULTILINE)
    assert len(set(methods)) == 3
    for method in set(methods):
        masked, accesses = masks_before_access(ptx, method)
        assert masked == accesses > 0


@pytest.mark.parametrize("mode", ["sharedoa", "coal"])
def test_untagged_references_are_not_masked(mode: str):
    assert str((1 << 49) - 1) not in ptx_of(update_each, mode)[0]


@pytest.mark.parametrize("mode", EXPECTED)
def test_ptxas_accepts_it_without_spills(mode: str):
    try:
        find_ptxas()
    except oa.BackendError:
        pytest.skip("no ptxas on this machine")
    report = assemble(ptx_of(update_each, mode)[0], "sm_90")
    assert report.registers > 0
    if EXPECTED[mode].indirect_calls == 0:
        assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)


@pytest.mark.parametrize("mode", third_of([*EXPECTED], 0))
def test_amdgpu_object_is_emitted(mode: str):
    with oa.Heap(mode=mode, backend="cpu"):
        product = update_each.compile("amdgpu").products["o"]
    assert isinstance(product, bytes)
    assert product.startswith(b"\x7fELF")
