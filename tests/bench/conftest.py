"""A library that stands in for CUPTI."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def compiled_cupti(tmp_path_factory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    file = tmp_path_factory.mktemp("cupti") / "libcupti.so"
    source = Path(__file__).with_name("pretend_cupti.c")
    command = ["cc", "-shared", "-fPIC", "-O1", "-pthread", str(source), "-o", str(file)]
    subprocess.run(command, check=True)
    return file


@pytest.fixture
def pretended_cupti(compiled_cupti, tmp_path) -> str:
    """The path of a copy for each test: a loaded library has a state."""
    return str(shutil.copy(compiled_cupti, tmp_path / "libcupti.so"))
