"""The CUDA driver through NVIDIA's bindings, imported at first use, its errors as ours."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from ..errors import BackendError, HeapError
from ..once import once

if TYPE_CHECKING:
    from .cuda_context import CudaContext

_CUDA_VERSION = 12000
#: After these the driver refuses the process everything, also in other and in new contexts: so
#: measured with driver 580, after destroying all of them, too.
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
            f"the NVIDIA driver does not start: {error_text(driver, error)}",
            "check that `nvidia-smi` lists a device and that CUDA_VISIBLE_DEVICES does not hide it",
        )
    os.register_at_fork(after_in_child=_note_fork)
    return driver


_forked: list[None] = []


def _note_fork() -> None:
    _forked.append(None)
    load_driver.cache_clear()


def was_forked() -> bool:
    """Whether a parent of this process had loaded the driver, which works in that one only."""
    return bool(_forked)


def forked() -> BackendError:
    return BackendError(
        "this process was forked from one that uses CUDA, which NVIDIA's driver does not allow: "
        "neither the GPU nor the parent's objects on it can be used here",
        "start processes with multiprocessing.get_context('spawn'), or fork before the first heap "
        "on the GPU is made; heaps of backend='cpu' work here",
    )


def driver_function(context: CudaContext, name: str) -> int:
    """The address of the driver's function ``name``."""
    address, _ = context.call("cuGetProcAddress", name.encode(), _CUDA_VERSION, 0)
    return int(address)


def is_sticky(error: Any) -> bool:
    """Whether the process has lost the device with this error."""
    return error.name in _STICKY_ERRORS


def error_text(driver: Any, error: Any) -> str:
    """Name, number and the driver's own words."""
    _, words = driver.cuGetErrorString(error)
    described = words.decode() if isinstance(words, bytes) else "unknown error"
    return f"{described} ({error.name}, {int(error)})"


def driver_error(driver: Any, error: Any, doing: str) -> HeapError | BackendError:
    """HeapError for lack of memory, BackendError otherwise."""
    text = f"{doing}: {error_text(driver, error)}"
    if error.name == "CUDA_ERROR_OUT_OF_MEMORY":
        error_code, free, total = driver.cuMemGetInfo()
        figures = "" if error_code else f"; {free:,} of {total:,} bytes of the card are free"
        return HeapError(text + figures, "free memory on the card, or ask for less")
    return BackendError(text, "check the driver's log with `dmesg` and `nvidia-smi`")
