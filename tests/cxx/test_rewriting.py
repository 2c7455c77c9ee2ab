"""Every mode's module is one that NVIDIA's assembler takes, and says what it did."""

from __future__ import annotations

import pytest

import sharedoa as oa
from dispatch.mode import MODES, parse_mode
from ptxpass.text import read_module
from sharedoa import cxx
from sharedoa.runtime import knobs
from sharedoa.targets.ptxas import assemble, find_ptxas

from ..modes import half_of
from .sources import many_classes


@pytest.fixture(scope="module")
def architecture() -> str:
    try:
        find_ptxas()
    except oa.BackendError as problem:
        pytest.skip(str(problem))
    return "sm_90"


def test_every_mode_assembles(shapes: cxx.Program, mode: str, architecture: str):
    assert assemble(shapes.ptx(mode), architecture).registers > 0


@pytest.mark.parametrize("mode", half_of(["coal", "bits+switch", "range+vtable", "tag+switch"], 0))
def test_many_classes_assemble(mode: str, architecture: str):
    source, names = many_classes(32)
    program = cxx.compile(source, {"Base": [], **{name: [("seed", "i4")] for name in names}})
    assert assemble(program.ptx(mode), architecture).registers > 0
    (report,) = [call for call in program.report(mode) if call.function == "values"]
    assert len(report.candidates) == 32


def test_type_indices_are_those_of_the_classes(shapes: cxx.Program):
    found = {cls.symbol: cls.type_index for cls in shapes._rewritten("auto").classes}
    ours = {
        cls.__sharedoa__.foreign.vtable: cls.__sharedoa__.type_index
        for cls in shapes.classes.values()
    }
    del ours[None]
    assert found == ours


def test_reports_say_what_was_done(shapes: cxx.Program):
    calls = {call.function: call for call in shapes.report("bits+switch")}
    assert calls.keys() == {"total", "_Z8grow_allPP5Shapefi", "grow_one"}
    assert len(calls["total"].candidates) == 3
    assert calls["total"].decision != shapes.report("sharedoa")[0].decision
    text = shapes.source_ptx.splitlines()
    assert "call" in "".join(text[calls["total"].line - 1 : calls["total"].line + 8])


def test_the_mode_is_that_of_the_settings(shapes: cxx.Program):
    with knobs.scope(mode="typepointer"):
        assert shapes.ptx() == shapes.ptx("typepointer")
    assert shapes.ptx() == shapes.ptx(parse_mode("auto"))
    with pytest.raises(oa.ConfigurationError, match="unknown mode"):
        shapes.ptx("vtbl")


@pytest.mark.parametrize("mode", MODES)
def test_what_the_runtime_needs_is_there(shapes: cxx.Program, mode: str):
    module = read_module(shapes.ptx(mode))
    assert module.variables["sharedoa_state"].space == "const"
    assert module.variables["sharedoa_vtables"].count == 3
    assert not [name for name in module.functions if name.startswith("sharedoa_keep")]
