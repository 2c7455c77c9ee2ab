"""CUPTI, NVIDIA's library for profilers: where it is, which version, and its refusals as ours."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from sharedoa.errors import ConfigurationError

#: Results of CUPTI's functions that mean something to us.
SUCCESS, MAX_LIMIT_REACHED, INVALID_KIND = 0, 12, 21
#: Numbers of ``cuptiGetVersion`` whose records are known to begin as the declared ones. Headers of
#: 12.1 (18), 12.9 (28), 13.0 (130001) and 13.5 (130500) were compared.
KNOWN_VERSIONS = (range(18, 100), range(130_000, 140_000))
#: Where records are declared as we read them, to compare with NVIDIA's headers.
DECLARATIONS = "bench/cupti/kernel_records.py and bench/page_migrations/records.py"

_PRIVILEGES = "run as root, or load the driver's module with NVreg_RestrictProfilingToAdminUsers=0"
_UNIFIED_MEMORY = (
    "the driver hands out these events through /dev/nvidia-uvm-tools: pass it through to the "
    "container or machine that this runs in, and start it without MPS"
)
_OTHER_PROFILER = "run it without ncu, nsys, compute-sanitizer or cuda-gdb"
_DRIVER = (
    "check that `nvidia-smi` works, and that this CUPTI is not of a newer major version of CUDA "
    "than the driver"
)
_HELP = {
    "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES": _PRIVILEGES,
    "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES": _PRIVILEGES,
    "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED": _UNIFIED_MEMORY,
    "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE": _UNIFIED_MEMORY,
    "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES": "show it one GPU only: set "
    "CUDA_VISIBLE_DEVICES=0",
    "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS": _UNIFIED_MEMORY,
    "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED": _OTHER_PROFILER,
    "CUPTI_ERROR_NOT_COMPATIBLE": _OTHER_PROFILER,
    "CUPTI_ERROR_NOT_INITIALIZED": _DRIVER,
    "CUPTI_ERROR_UNKNOWN": _DRIVER,
}
_PACKAGES = ("nvidia-cuda-cupti", "nvidia-cuda-cupti-cu13", "nvidia-cuda-cupti-cu12")
#: Folders of a toolkit that may hold the library.
_FOLDERS = ("extras/CUPTI/lib64", "lib64", "lib")
_NAMES = ("libcupti.so", "libcupti.so.13", "libcupti.so.12")

_WORD, _SIZE, _ANY = ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p
#: What is called, with the types of its arguments; each gives a CUptiResult.
_FUNCTIONS = {
    "cuptiGetVersion": (_ANY,),
    "cuptiGetResultString": (_WORD, _ANY),
    "cuptiGetTimestamp": (_ANY,),
    "cuptiActivityRegisterCallbacks": (_ANY, _ANY),
    "cuptiActivityConfigureUnifiedMemoryCounter": (_ANY, _WORD),
    "cuptiActivityEnable": (_WORD,),
    "cuptiActivityDisable": (_WORD,),
    "cuptiActivityFlushAll": (_WORD,),
    "cuptiActivityGetNextRecord": (_ANY, _SIZE, _ANY),
    "cuptiActivityGetNumDroppedRecords": (_ANY, _WORD, _ANY),
}


class CuptiError(ConfigurationError):
    """CUPTI is missing, is of an unknown version, or refuses what it is asked for."""


def find() -> str:
    """The library's path: of the CUDA toolkit, of NVIDIA's Python package, or its bare name where
    only the system's loader can find it. Raises CuptiError if it is nowhere."""
    for file in _candidates():
        if file.is_file():
            return str(file)
    for name in _NAMES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    raise CuptiError(
        "CUPTI is needed, and there is no libcupti.so in a CUDA toolkit, in the Python packages "
        f"{', '.join(_PACKAGES)}, or where the system looks",
        "run `pip install nvidia-cuda-cupti` (for CUDA 12: nvidia-cuda-cupti-cu12), or set "
        "CUDA_HOME to a toolkit",
    )


def _candidates() -> Iterator[Path]:
    compiler = shutil.which("nvcc")
    homes = [
        *(os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)),
        *([str(Path(compiler).resolve().parents[1])] if compiler else []),
        "/usr/local/cuda",
    ]
    for home in homes:
        for folder in _FOLDERS:
            yield from (Path(home, folder, name) for name in _NAMES)
    for package in _PACKAGES:
        try:
            found = files(package) or []
        except PackageNotFoundError:
            continue
        yield from (Path(str(f.locate())) for f in found if f.name in _NAMES)


class Cupti:
    """The loaded library. ``call`` raises what it refuses."""

    def __init__(self, library: Any) -> None:
        """``library`` is a ``ctypes.CDLL``, or what answers like one. Raises CuptiError for a
        version whose records are unknown."""
        self._library = library
        for name, types in _FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, _WORD
        number = _WORD()
        self.call("cuptiGetVersion", ctypes.byref(number))
        #: As ``cuptiGetVersion`` gives it: 28 for CUDA 12.9, from 13 on such as 130001.
        self.version = number.value
        if not any(self.version in versions for versions in KNOWN_VERSIONS):
            raise CuptiError(
                f"version {self.version} of CUPTI is not known: its records may be laid out "
                "otherwise",
                "use CUPTI of CUDA 12 or 13, or compare the structs of its cupti_activity.h with "
                f"{DECLARATIONS} and add the version to KNOWN_VERSIONS in bench/cupti/library.py",
            )

    @classmethod
    def load(cls, path: str) -> Cupti:
        """Raises CuptiError if it cannot be loaded or used."""
        try:
            library = ctypes.CDLL(path)
            return cls(library)
        except (OSError, AttributeError) as problem:
            raise CuptiError(
                f"{path} cannot be used as CUPTI: {problem}", "install CUPTI of CUDA 12 or 13"
            ) from problem

    def result(self, name: str, *arguments: Any) -> int:
        """Call a function; its CUptiResult."""
        found: int = getattr(self._library, name)(*arguments)
        return found

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; raises CuptiError, with what can be done about it, if it refuses."""
        result = self.result(name, *arguments)
        if result != SUCCESS:
            word = self._name_of(result)
            raise CuptiError(
                f"{name} refused: {word} ({result})",
                _HELP.get(word, f"{_DRIVER}, and look the result up in CUPTI's documentation"),
            )

    def timestamp(self) -> int:
        """Now, in the nanoseconds of the records."""
        now = ctypes.c_uint64()
        self.call("cuptiGetTimestamp", ctypes.byref(now))
        return now.value

    def _name_of(self, result: int) -> str:
        text = ctypes.c_char_p()
        self._library.cuptiGetResultString(result, ctypes.byref(text))
        return text.value.decode() if text.value else "unknown result"
