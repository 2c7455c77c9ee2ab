"""The CUDA driver through NVIDIA's bindings, imported at first use."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import BackendError
from ..once import once
from .forked import forked, was_forked, watch_forks


@once
def load_driver() -> Any:
    """The module ``cuda.bindings.driver``, initialised.

    Raises BackendError that says which of package, driver and device is missing, or that the
    process was forked from one that uses the driver.
    """
    if was_forked():
        raise forked()
    try:
        driver = importlib.import_module("cuda.bindings.driver")
    except ImportError as problem:
        raise BackendError(
            f"the cuda backend needs NVIDIA's Python bindings, which cannot be imported: {problem}",
            'run `pip install "sharedoa[cuda]"`',
        ) from problem
    try:
        error, *_ = driver.cuInit(0)
    except (RuntimeError, OSError) as problem:
        raise BackendError(
            f"the cuda backend needs an NVIDIA driver, and none was found: {problem}",
            "install NVIDIA's display driver, or in a container start it with the GPU passed "
            "through; `nvidia-smi` must work",
        ) from problem
    if error:
        raise BackendError(
            f"the NVIDIA driver does not start: {error_words(driver, error)} ({error.name}, "
            f"{int(error)})",
            "check that `nvidia-smi` lists a device and that CUDA_VISIBLE_DEVICES does not hide it",
        )
    watch_forks("CUDA", load_driver.cache_clear)
    return driver


def cuda_version(driver: Any) -> str:
    """The newest CUDA that the driver supports, such as 13.0."""
    number = int(driver.cuDriverGetVersion()[1])
    return f"{number // 1000}.{number % 1000 // 10}"


def error_words(driver: Any, error: Any) -> str:
    """What the driver says of an error."""
    _, words = driver.cuGetErrorString(error)
    return words.decode() if isinstance(words, bytes) else "unknown error"
