"""NVRTC, NVIDIA's compiler from CUDA C++ to PTX, through NVIDIA's bindings."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..backends.cuda_device import cuda_devices
from ..errors import BackendError, ConfigurationError
from ..runtime import code_cache, knobs
from ..targets.base import Stages
from .trailer import HEADER, header_text

_EXTRA = 'run `pip install "sharedoa[cuda]"` (it brings the nvidia-cuda-nvrtc wheel)'
_ARCHITECTURE = 80
_RELOCATABLE = re.compile(
    r"--?(rdc|relocatable-device-code)(=true)?$|--?(dc|device-c|dlto|dlink-time-opt|lto)$"
)
_READS_FILES = re.compile(r"^\s*#\s*include", re.MULTILINE)


class SourceRefused(Exception):
    """NVRTC refuses a source; ``log`` is all that it says."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


@cache
def load_nvrtc() -> Any:
    """The module ``cuda.bindings.nvrtc``, with its library.

    Raises BackendError that says which of the two is missing.
    """
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
    except ImportError as problem:
        raise BackendError(
            f"compiling C++ needs NVIDIA's Python bindings, which cannot be imported: {problem}",
            _EXTRA,
        ) from problem
    try:
        nvrtc.nvrtcVersion()
    except (RuntimeError, OSError) as problem:
        raise BackendError(
            f"compiling C++ needs NVRTC, and its library was not found: {problem}", _EXTRA
        ) from problem
    return nvrtc


class Nvrtc:
    """The compiler with options for one source; ``file`` is what messages call the source."""

    name = "nvrtc"

    def __init__(self, options: Sequence[str], file: str) -> None:
        """Raises ConfigurationError for options that cannot be used, BackendError without NVRTC."""
        self._nvrtc = load_nvrtc()
        self._file = file
        self.options = self._complete(_checked(options))

    def _complete(self, options: list[str]) -> list[str]:
        if not any(re.match(r"--?std\b", option) for option in options):
            options = ["-std=c++17", *options]
        if not any(re.match(r"--?(gpu-architecture|arch)\b", option) for option in options):
            options = [f"--gpu-architecture=compute_{self._architecture()}", *options]
        return options

    def _architecture(self) -> int:
        """Of the device; without one, what every card since Ampere runs."""
        known = sorted(map(int, self._call("nvrtcGetSupportedArchs")))
        device = _device_architecture()
        usable = [number for number in known if number <= (device or _ARCHITECTURE)]
        if device is not None and not usable:
            raise BackendError(
                f"this NVRTC knows compute capabilities from {known[0] / 10} on, and the device "
                f"has {device / 10}",
                "install an older nvidia-cuda-nvrtc",
            )
        return usable[-1] if usable else known[0]

    @property
    def fingerprint(self) -> str:
        version = ".".join(map(str, self._call("nvrtcVersion")))
        header = hashlib.sha256(header_text().encode()).hexdigest()
        return f"{version} {self._file} {self.options} {header}"

    def libraries(self, text: str) -> str:
        return ""

    def compile(self, text: str) -> Stages:
        """``ptx``, and ``log``: the compiler's warnings. Raises SourceRefused."""
        nvrtc, header = self._nvrtc, header_text().encode()
        source, file = text.encode(), self._file.encode()
        program = self._call("nvrtcCreateProgram", source, file, 1, [header], [HEADER.encode()])
        try:
            options = [option.encode() for option in self.options]
            (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
            log = self._text(program, "ProgramLog")
            if error.name == "NVRTC_ERROR_INVALID_OPTION":
                raise ConfigurationError(
                    f"NVRTC refuses the options {' '.join(self.options)}: {log.strip()}",
                    "pass options of NVRTC, one a string",
                )
            if error.name == "NVRTC_ERROR_COMPILATION":
                raise SourceRefused(log)
            self._check(error, "nvrtcCompileProgram")
            return {"ptx": self._text(program, "PTX"), "log": log}
        finally:
            nvrtc.nvrtcDestroyProgram(program)

    def compile_or_recall(self, text: str, source: str) -> Stages:
        """``compile``, or what an earlier run made of the same text. Files that ``source`` includes
        may have changed since, so then nothing is kept."""
        reads_files = _READS_FILES.search(source) or any("include" in o for o in self.options)
        if reads_files:
            return self.compile(text)
        return code_cache.compiled(self, text, self._file)

    def _text(self, program: Any, what: str) -> str:
        size = self._call(f"nvrtcGet{what}Size", program)
        buffer = bytearray(size)
        self._call(f"nvrtcGet{what}", program, buffer)
        return buffer.split(b"\0")[0].decode(errors="replace")

    def _call(self, name: str, *arguments: Any) -> Any:
        error, *results = getattr(self._nvrtc, name)(*arguments)
        self._check(error, name)
        return results[0] if len(results) == 1 else tuple(results)

    def _check(self, error: Any, doing: str) -> None:
        if error:
            raise BackendError(
                f"{doing}: {error.name}", "check that nvidia-cuda-nvrtc is installed completely"
            )


def _checked(options: Sequence[str]) -> list[str]:
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise ConfigurationError(
            f"options={options!r} is not a list of strings", 'write options=["--use_fast_math"]'
        )
    for option in options:
        if _RELOCATABLE.match(option):
            raise ConfigurationError(
                f"option {option} asks for relocatable code, which needs a linker",
                "leave it out: a program is one source, with everything that it calls",
            )
    return list(options)


def _device_architecture() -> int | None:
    """Compute capability times 10 of the device that kernels run on, None without one."""
    kind, _, ordinal = knobs.backend.value().partition(":")
    if kind not in ("auto", "cuda"):
        return None
    try:
        device = cuda_devices()[int(ordinal or 0)]
    except (BackendError, IndexError):
        return None
    return int(device.architecture.removeprefix("sm_"))
