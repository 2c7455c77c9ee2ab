"""Which backends there are, which work here, and what is said of those that do not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sharedoa.backends import BACKENDS, available, cuda_driver, open_backend
from sharedoa.errors import BackendError, ConfigurationError


def test_all_are_listed_with_a_reason():
    found = available()
    assert tuple(entry.name for entry in found if ":" not in entry.name) == BACKENDS
    assert all(entry.reason for entry in found)
    works = {entry.name: entry.ok for entry in found}
    assert works["cpu"]
    assert works["python"]


def test_auto_takes_the_first_that_works():
    works = {entry.name: entry.ok for entry in available()}
    assert open_backend("auto").name == ("cuda" if works["cuda"] else "cpu")


def test_unknown_name():
    with pytest.raises(ConfigurationError, match="auto, cuda, hip, cpu, python"):
        open_backend("gpu")


@pytest.fixture
def forgotten_driver():
    cuda_driver.load_driver.cache_clear()
    yield
    cuda_driver.load_driver.cache_clear()


def test_missing_package_says_what_to_install(monkeypatch, forgotten_driver):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(BackendError, match=r"pip install \"sharedoa\[cuda\]\""):
        cuda_driver.load_driver()


class FakeError(int):
    name = "CUDA_ERROR_NO_DEVICE"


class FakeDriver:
    """A driver that answers every start with ``answer``."""

    def __init__(self, answer) -> None:
        self.answer = answer

    def cuInit(self, flags):
        if isinstance(self.answer, Exception):
            raise self.answer
        return (self.answer,)

    def cuGetErrorString(self, error):
        return FakeError(0), b"no CUDA-capable device is detected"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (RuntimeError("Failed to dlopen libcuda.so"), "needs an NVIDIA driver.*dlopen"),
        (FakeError(100), r"no CUDA-capable device is detected \(CUDA_ERROR_NO_DEVICE, 100\)"),
    ],
)
def test_missing_driver_and_device(monkeypatch, forgotten_driver, answer, words):
    monkeypatch.setattr(cuda_driver.importlib, "import_module", lambda name: FakeDriver(answer))
    with pytest.raises(BackendError, match=words) as caught:
        cuda_driver.load_driver()
    assert "nvidia-smi" in caught.value.help


def test_importing_backends_does_not_import_cuda():
    code = "import sys, sharedoa.backends.cpu; sys.exit('cuda' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
