"""Backends to test: the CPU everywhere, CUDA where there is a device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sharedoa.backends import Backend, open_backend
from sharedoa.errors import BackendError

from ..quick_code import usual_code

__all__ = ["usual_code"]


def _open(name: str) -> Backend:
    try:
        return open_backend(name)
    except BackendError as problem:
        pytest.skip(str(problem))


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Every backend that launches kernels."""
    opened = _open(request.param)
    yield opened
    opened.close()


@pytest.fixture
def cuda_backend() -> Iterator[Backend]:
    opened = _open("cuda")
    yield opened
    opened.close()


@pytest.fixture
def cpu_backend() -> Iterator[Backend]:
    opened = open_backend("cpu")
    yield opened
    opened.close()
