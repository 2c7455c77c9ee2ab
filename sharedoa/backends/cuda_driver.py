"""The CUDA driver through NVIDIA's bindings, imported at first use, its errors as ours."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, NoReturn

from ..errors import BackendError, DeviceError, HeapError

#: After these the context, and with it every object and launch of the process, is lost.
_STICKY_ERRORS = frozenset(
    {
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
    }
)


@cache
def load_driver() -> Any:
    """The module ``cuda.bindings.driver``, initialised.

    Raises BackendError that says which of package, driver and device is missing.
    """
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
            f"the NVIDIA driver does not start: {error_text(driver, error)}",
            "check that `nvidia-smi` lists a device and that CUDA_VISIBLE_DEVICES does not hide it",
        )
    return driver


def error_text(driver: Any, error: Any) -> str:
    """Name, number and the driver's own words."""
    _, words = driver.cuGetErrorString(error)
    described = words.decode() if isinstance(words, bytes) else "unknown error"
    return f"{described} ({error.name}, {int(error)})"


def check(driver: Any, answer: tuple[Any, ...], doing: str) -> Any:
    """The result in a driver call's answer; raises what ``raise_driver_error`` says on failure."""
    error, *results = answer
    if error:
        raise_driver_error(driver, error, doing)
    return results[0] if len(results) == 1 else tuple(results)


def raise_driver_error(driver: Any, error: Any, doing: str) -> NoReturn:
    """HeapError for lack of memory, DeviceError for a kernel's fault, BackendError otherwise."""
    text = f"{doing}: {error_text(driver, error)}"
    if error.name == "CUDA_ERROR_OUT_OF_MEMORY":
        error_code, free, total = driver.cuMemGetInfo()
        figures = "" if error_code else f"; {free:,} of {total:,} bytes of the card are free"
        raise HeapError(text + figures, "free memory on the card, or ask for less")
    if error.name in _STICKY_ERRORS:
        raise DeviceError(
            f"{text}. The CUDA context of this process is lost, with every object in it",
            "start the program again with SHAREDOA_DEBUG=1: it names the source line and object",
        )
    raise BackendError(text, "check the driver's log with `dmesg` and `nvidia-smi`")
