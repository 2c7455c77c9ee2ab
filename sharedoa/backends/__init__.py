"""Where kernels run: python, cpu, and each device of cuda and hip."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from ..errors import BackendError, ConfigurationError, DeviceError
from .base import Availability, Backend
from .forked import was_forked

__all__ = ["BACKENDS", "Availability", "Backend", "available", "open_backend"]

BACKENDS = ("cuda", "hip", "cpu", "python")
#: ``auto`` takes the first of these that works; the last one always does.
_AUTOMATIC = ("cuda", "hip", "cpu")
_OF_DEVICES = ("cuda", "hip")
_UNTRIED = "this backend was never run on hardware by its authors"


def _open_cuda(ordinal: int) -> Backend:
    from .cuda import CudaBackend
    from .cuda_device import cuda_device

    return CudaBackend(cuda_device(ordinal))


def _open_hip(ordinal: int) -> Backend:
    from .hip import HipBackend
    from .hip_device import hip_device

    return HipBackend(hip_device(ordinal))


def _open_cpu(_: int) -> Backend:
    from .cpu import CpuBackend

    return CpuBackend()


def _open_python(_: int) -> Backend:
    from .python import PythonBackend

    return PythonBackend()


_OPENERS: dict[str, Callable[[int], Backend]] = {
    "cuda": _open_cuda,
    "hip": _open_hip,
    "cpu": _open_cpu,
    "python": _open_python,
}


def open_backend(name: str) -> Backend:
    """The backend ``name``, or for ``auto`` the first of cuda, hip, cpu that works here; in a
    process that was forked from one which uses a GPU that is refused, too. ``cuda`` is the first
    device, ``cuda:1`` the second.

    Raises ConfigurationError for an unknown name, BackendError with what is missing for one that
    does not work on this machine, DeviceError if a kernel has cost the process its device.
    """
    if name == "auto":
        return _open_first_that_works()
    kind, colon, ordinal = name.partition(":")
    is_device = kind in _OF_DEVICES and ordinal.isdecimal()
    if kind not in _OPENERS or (colon and not is_device):
        raise ConfigurationError(
            f"there is no backend {name!r}",
            f"choose one of: auto, {', '.join(BACKENDS)}; cuda:1 is the second GPU",
        )
    if sys.platform == "win32" and kind != "python":
        raise BackendError(
            f"the backend {kind} needs threads, signals and memory as POSIX systems have them",
            "use Linux under WSL; the backend python works on Windows, too, but is untested there",
        )
    return _OPENERS[kind](int(ordinal or 0))


def _open_first_that_works() -> Backend:
    for name in _AUTOMATIC[:-1]:
        try:
            return open_backend(name)
        except BackendError:
            # A worker that falls back to the CPU would be slow in silence.
            if was_forked():
                raise
    return open_backend(_AUTOMATIC[-1])


def available() -> list[Availability]:
    """Every backend, and each device after the first, whether it works here, and if not what is
    missing and how to get it."""
    return [found for name in BACKENDS for found in _probe(name)]


def _probe(name: str) -> Iterator[Availability]:
    try:
        open_backend(name)
    except (BackendError, DeviceError) as problem:
        untried = f"; {_UNTRIED}" if name == "hip" else ""
        yield Availability(name, False, f"{problem}{untried}")
    else:
        yield Availability(name, True, _description(name))
    if name in _OF_DEVICES:
        yield from _further_devices(name)


def _further_devices(kind: str) -> Iterator[Availability]:
    """They are not opened, as each would take memory for it."""
    from .cuda_device import cuda_devices
    from .hip_device import hip_devices

    try:
        found = cuda_devices() if kind == "cuda" else hip_devices()
    except BackendError:
        return
    for ordinal, each in enumerate(found[1:], start=1):
        missing = "" if each.missing is None else str(BackendError(*each.missing))
        yield Availability(f"{kind}:{ordinal}", not missing, missing or str(each))


def _description(name: str) -> str:
    if name == "cuda":
        from .cuda_device import cuda_device

        device = cuda_device(0)
        return f"{device.description}, driver for CUDA {device.driver_version}"
    if name == "hip":
        from .hip_device import hip_device

        return f"{hip_device(0).description}; {_UNTRIED}"
    if name == "cpu":
        from ..cores import worker_count
        from .native_code import host_target

        return f"{worker_count()} threads, {host_target().fingerprint}"
    return "CPython itself"
