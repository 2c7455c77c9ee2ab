"""HIP through AMD's bindings, imported at first use."""

from __future__ import annotations

from typing import Any

from ..errors import BackendError
from ..once import once
from .forked import forked, was_forked, watch_forks


@once
def load_hip() -> Any:
    """The module ``hip`` of the package ``hip``, initialised.

    Raises BackendError that says which of package, library and device is missing, or that the
    process was forked from one that uses the driver.
    """
    if was_forked():
        raise forked()
    try:
        # In some versions it is a module of that package, in others one of another.
        from hip import hip as module
    except ImportError as problem:
        raise BackendError(
            f"the hip backend needs AMD's Python bindings, which cannot be imported: {problem}",
            'run `pip install "sharedoa[hip]"`',
        ) from problem
    hip: Any = module
    try:
        error, *_ = hip.hipInit(0)
        counted, devices = (error, 0) if error else hip.hipGetDeviceCount()
    except (RuntimeError, OSError) as problem:
        raise BackendError(
            f"the hip backend needs ROCm's HIP library, and none was found: {problem}",
            "install ROCm, or add the folder of libamdhip64.so to LD_LIBRARY_PATH",
        ) from problem
    if counted or not devices:
        raise BackendError(
            f"HIP finds no device: {counted.name} ({int(counted)})",
            "check that `rocminfo` lists a GPU, that you may open /dev/kfd, and that "
            "HIP_VISIBLE_DEVICES does not hide it",
        )
    watch_forks("HIP", load_hip.cache_clear)
    return hip
