"""Where kernels run: python, cpu, cuda; hip is known but not there yet."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import BackendError, ConfigurationError, DeviceError
from .base import Availability, Backend
from .cuda_driver import was_forked

__all__ = ["BACKENDS", "Availability", "Backend", "available", "open_backend"]

BACKENDS = ("cuda", "hip", "cpu", "python")
#: ``auto`` takes the first of these that works; the last one always does.
_AUTOMATIC = ("cuda", "hip", "cpu")


def _open_cuda() -> Backend:
    from .cuda import CudaBackend

    return CudaBackend()


def _open_hip() -> Backend:
    raise BackendError(
        "the hip backend cannot launch kernels yet; kernels are compiled for AMD GPUs only to be "
        "checked",
        "use SHAREDOA_BACKEND=cpu on machines with AMD GPUs",
    )


def _open_cpu() -> Backend:
    from .cpu import CpuBackend

    return CpuBackend()


def _open_python() -> Backend:
    from .python import PythonBackend

    return PythonBackend()


_OPENERS: dict[str, Callable[[], Backend]] = {
    "cuda": _open_cuda,
    "hip": _open_hip,
    "cpu": _open_cpu,
    "python": _open_python,
}


def open_backend(name: str) -> Backend:
    """The backend ``name``, or for ``auto`` the first of cuda, hip, cpu that works here; in a
    process that was forked from one which uses CUDA that is refused, too.

    Raises ConfigurationError for an unknown name, BackendError with what is missing for one that
    does not work on this machine, DeviceError if a kernel has cost the process its device.
    """
    if name == "auto":
        return _open_first_that_works()
    if name not in _OPENERS:
        raise ConfigurationError(
            f"there is no backend {name!r}", f"choose one of: auto, {', '.join(BACKENDS)}"
        )
    return _OPENERS[name]()


def _open_first_that_works() -> Backend:
    for name in _AUTOMATIC[:-1]:
        try:
            return _OPENERS[name]()
        except BackendError:
            # A worker that falls back to the CPU would be slow in silence.
            if was_forked():
                raise
    return _open_cpu()


def available() -> list[Availability]:
    """Every backend, whether it works here, and if not what is missing and how to get it."""
    return [_probe(name) for name in BACKENDS]


def _probe(name: str) -> Availability:
    try:
        _OPENERS[name]()
    except (BackendError, DeviceError) as problem:
        return Availability(name, False, str(problem))
    return Availability(name, True, _description(name))


def _description(name: str) -> str:
    if name == "cuda":
        from .cuda_context import cuda_context

        context = cuda_context()
        major, minor = context.capability
        return (
            f"{context.device_name}, compute capability {major}.{minor}, "
            f"driver for CUDA {context.driver_version}"
        )
    if name == "cpu":
        from .native_code import host_target
        from .thread_pool import worker_count

        return f"{worker_count()} threads, {host_target().fingerprint}"
    return "CPython itself"
