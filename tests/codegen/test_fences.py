"""Fences between what a thread does in memory and what it tells other blocks."""

from __future__ import annotations

import re

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.model.intrinsics import fence

_MEMORY = re.compile(r"^\s*(ld\.global|st\.global|fence\.acq_rel\.gpu)", re.MULTILINE)


@oa.kernel
def kernel_read_twice(numbers: oa.Array[i32], told: oa.Array[i32], out: oa.Array[i32]) -> None:
    before = numbers[0]
    told[0] = 1
    fence()
    told[0] = 2
    out[0] = before + numbers[0]


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_it_changes_no_numbers(backend: str) -> None:
    with oa.Heap(backend=backend, capacity="64MiB"):
        told, out = oa.zeros(1, i32), oa.zeros(1, i32)
        kernel_read_twice[1](oa.array(i32, [21]), told, out)
        assert out[0] == 42 and told[0] == 2


def test_memory_is_used_anew_after_it() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        text = str(kernel_read_twice.compile("nvptx").products["ptx"])
        before, after = "".join(f"{each} " for each in _MEMORY.findall(text)).split("fence")
        for part in (before, after):
            assert "ld.global" in part and "st.global" in part
        amd = kernel_read_twice.compile("amdgpu").products["opt.ll"]
        assert 'fence syncscope("agent") acq_rel' in str(amd)
