"""Compiled programs; without NVRTC there are none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharedoa as oa
from sharedoa import cxx
from sharedoa.cxx.nvrtc import load_nvrtc
from sharedoa.errors import BackendError

from .sources import SHAPES, shape_classes


@pytest.fixture(scope="session", autouse=True)
def _nvrtc() -> None:
    try:
        load_nvrtc()
    except BackendError as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="session")
def shapes(_nvrtc: None) -> cxx.Program:
    return cxx.compile(SHAPES, shape_classes(), name="shapes.cu")


@pytest.fixture
def host_heap() -> Iterator[oa.Heap]:
    """A current heap without a GPU. Objects of C++ need references of 64 bits; a heap that opens
    before the first of them is compiled would take 32 where that is faster."""
    with oa.Heap(backend="cpu", capacity="64MiB", initial_region=8, references="64") as made:
        yield made
