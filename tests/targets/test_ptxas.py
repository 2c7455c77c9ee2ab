"""What ptxas says about a kernel, and what is said when it refuses one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sharedoa.errors import BackendError, InternalError
from sharedoa.targets import ptxas
from sharedoa.targets.nvptx import NvptxTarget

from .hand_written import kernel_text, store_coordinates


def ptx() -> str:
    target = NvptxTarget()
    text = target.compile(kernel_text(target, store_coordinates))["ptx"]
    assert isinstance(text, str)
    return text


def test_report():
    report = ptxas.assemble(ptx(), "sm_90")
    assert 4 <= report.registers <= 32
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.cubin[:4] == b"\x7fELF"


def test_report_sums_up_functions_that_were_not_inlined():
    log = """
ptxas info    : Function properties for kernel
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, 400 bytes cmem[0]
ptxas info    : Function properties for method
    48 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""
    report = ptxas._read_report(log, b"")
    assert (report.registers, report.stack) == (40, 48)
    assert (report.spill_stores, report.spill_loads) == (4, 8)


def test_refusal_keeps_the_input_and_says_how_to_reproduce():
    with pytest.raises(InternalError, match="reproduce with") as caught:
        ptxas.assemble(ptx().replace("mad.lo.s32", "mad.wrong.s32"), "sm_90")
    path = re.search(r"\S+kernel\.ptx", str(caught.value))
    assert path is not None
    assert "mad.wrong" in Path(path[0]).read_text()
    assert "mad" in str(caught.value)


def test_absent_ptxas_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ptxas, "_candidates", lambda: iter([Path("/nonexistent/ptxas")]))
    ptxas.find_ptxas.cache_clear()
    with pytest.raises(BackendError, match="nvidia-cuda-nvcc"):
        ptxas.find_ptxas()
    ptxas.find_ptxas.cache_clear()
