"""Stages of a compilation: their text, dumps, and the table of call sites."""

from __future__ import annotations

import re
import weakref

import pytest

import sharedoa as oa
from dispatch.header_format import VTABLE_POINTER
from dispatch.mode import MODES
from sharedoa import f32, i32
from sharedoa.collection import nothing_collected
from sharedoa.ir.pipeline import PIPELINE
from sharedoa.runtime import knobs, pipeline
from sharedoa.targets import ptxas

from ..modes import rotated
from ..source_files import load_module


class Base(oa.Object):
    value: i32

    def get(self, factor: i32) -> i32: ...


class One(Base):
    def get(self, factor: i32) -> i32:
        return self.value * factor


class Two(Base):
    def get(self, factor: i32) -> i32:
        return self.value + factor


@oa.kernel
def collect(objects: oa.Array[Base], out: oa.Array[i32]):
    i = oa.grid(1)
    if i < len(objects):
        base = objects[i]
        out[i] = base.get(2) + (1 if isinstance(base, Two) else 0)


@pytest.fixture
def heap_of_mode(mode):
    with oa.Heap(mode=mode, backend="cpu", capacity="256MiB") as heap:
        yield heap


def test_what_llvm_was_given_goes_at_once(heap_of_mode, monkeypatch):
    """Its instructions, which know one another, do not wait until Python looks for cycles."""
    made, lower = list[weakref.ref[object]](), pipeline.lower

    def noting(*given):
        lowered = lower(*given)
        blocks = [block for each in lowered.module.functions for block in each.blocks]
        made.extend(weakref.ref(each) for block in blocks for each in block.instructions)
        return lowered

    monkeypatch.setattr(pipeline, "lower", noting)
    with nothing_collected():
        assert "ret" in collect.compile("nvptx").products["dispatch.ll"]
        left = [each() for each in made if each() is not None]
        assert len(made) > 20 and not left


def test_every_stage_has_a_text(heap_of_mode):
    assert list(collect.asm) == [
        "passes.ir", "ir", "ll", "dispatch.ll", "opt.ll", "ptx", "s", "o"
    ]  # fmt: skip
    assert " = call_virtual " in collect.asm["ir"]
    assert " = type_test " in collect.asm["ir"]
    begun, *changed = re.findall(r"^; (.*)$", collect.asm["passes.ir"], re.MULTILINE)
    assert begun == "as the front end made it"
    assert set(changed) <= {f"after {each.name}" for each in PIPELINE}
    assert collect.asm["passes.ir"].endswith(collect.asm["ir"])
    canonical, dispatched = collect.asm["ll"], collect.asm["dispatch.ll"]
    # What a mode makes of calls is not there yet: only what they mean.
    has_pointers = heap_of_mode.mode.header == VTABLE_POINTER
    assert ("sharedoa_functions_Base" in canonical) == has_pointers
    for name in ("declare i32 @sharedoa_type_index", "declare i32 @sharedoa_virtual_Base"):
        assert (name in canonical.replace('"', "")) == (not has_pointers)
        assert name.split("@")[1] not in dispatched
    assert not re.search("sharedoa_(lookup|rows|bounds|window)", canonical)
    assert "Base.get of One, Two: " in collect.asm["dispatch.ll"].partition("\n")[0]
    assert "define void @kernel_collect" in collect.asm["opt.ll"]
    assert ".visible .entry kernel_collect" in collect.asm["ptx"]
    assert "kernel_collect" in collect.asm["s"]
    assert isinstance(collect.asm["o"], bytes)
    with pytest.raises(oa.ConfigurationError, match="cubin") as caught:
        collect.asm["cubin"]
    assert "dispatch.ll" in caught.value.help


@pytest.mark.parametrize(
    ("mode", "target", "debug"),
    rotated(MODES, ["host", "nvptx", "amdgpu"], [False, True]),
    indirect=["mode"],
)
def test_every_mode_compiles_for_every_target(heap_of_mode, target, debug):
    compilation = collect.compile(target, debug=debug)
    if target == "nvptx":
        ptxas.assemble(compilation.products["ptx"], compilation.job.target.architecture)
    else:
        assert b"ELF" in compilation.products["o"][:4]
    with pytest.raises(oa.ConfigurationError, match="spirv"):
        collect.compile("spirv")


def test_dump_writes_every_stage(tmp_path, monkeypatch):
    monkeypatch.setenv("SHAREDOA_DUMP", str(tmp_path / "deep" / "dump"))
    with oa.Heap(mode="coal", backend="cpu", capacity="256MiB"):

        @oa.kernel
        def dumped(out: oa.Array[f32]):
            out[oa.grid(1)] = f32(1)

        dumped[1](oa.zeros(1, f32))
    names = {file.name for file in (tmp_path / "deep" / "dump").iterdir()}
    stages = ("passes.ir", "ir", "ll", "dispatch.ll", "opt.ll", "s", "o")
    assert names == {f"dumped.coal.{extension}" for extension in stages}


def test_a_dump_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        oa.Heap(backend="cpu", capacity="256MiB"),
        knobs.scope(dump=tmp_path / "file"),
        pytest.raises(oa.ConfigurationError, match="SHAREDOA_DUMP"),
    ):

        @oa.kernel
        def refused(x: i32):
            pass

        refused[1](1)


def test_explain_names_each_call_and_its_reason():
    decisions = {
        "cuda": "header + vtable",
        "concord": "tag + switch",
        "coal": "range + vtable",
        "typepointer": "bits + vtable",
        "header+switch": "header + switch",
    }
    for mode in MODES:
        with oa.Heap(mode=mode, backend="cpu", capacity="256MiB"):
            text = collect.explain()
            assert f"mode {mode}" in text and "Base.get" in text
            assert ("classes that have objects" in text) == (mode == "auto")
            assert "One, Two" in text and "test_pipeline.py:" in text
            assert decisions.get(mode, "") in text
            assert re.search(r"object code of \d{3,} bytes$", text)


def test_explain_without_virtual_calls():
    @oa.kernel
    def plain(x: i32):
        pass

    with oa.Heap(backend="cpu", capacity="256MiB"):
        assert "no virtual calls" in plain.explain()


def test_a_fault_of_ours_is_told_as_such(monkeypatch):
    def broken(compilation):
        raise KeyError("x")

    monkeypatch.setattr(pipeline, "STAGES", ((("ir",), broken),))

    @oa.kernel
    def plain(x: i32):
        pass

    with (
        oa.Heap(backend="cpu", capacity="256MiB"),
        pytest.raises(oa.InternalError, match="kernel plain, stage ir: KeyError") as caught,
    ):
        plain[1](1)
    assert "report" in str(caught.value) and "llvmlite" in str(caught.value)


@pytest.mark.parametrize("axes", [0, 4, 17])
def test_a_grid_of_other_axes_is_a_complaint(tmp_path, axes):
    module = load_module(
        tmp_path,
        f"""
        @oa.kernel
        def k(out: oa.Array[i32]):
            i = oa.grid({axes})
        """,
    )
    with pytest.raises(oa.CompileError, match="grid"):
        module.k[1](oa.zeros(1, i32))
