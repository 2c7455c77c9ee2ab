"""Loading compiled host code into this process, and the symbols it is linked against."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from cffi import FFI
from llvmlite import binding as llvm

from ..errors import InternalError
from ..targets.host import HostTarget

ffi = FFI()
_library_numbers = itertools.count()


@cache
def host_target() -> HostTarget:
    """The one host target of the process: detecting the CPU is done once."""
    return HostTarget()


@cache
def _linker() -> Any:
    # JITLink keeps the parts of an object together. LLVM's older linker maps each where there is
    # room: with a heap of gigabytes between two of them, one cannot reach the other.
    return llvm.create_lljit_compiler(host_target().machine, use_jit_link=True)


class NativeLibrary:
    """One object file, loaded and private: its symbols hide from those of every other."""

    def __init__(
        self, object_code: bytes, exports: tuple[str, ...], imports: Mapping[str, int]
    ) -> None:
        builder = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
        for name in exports:
            builder.export_symbol(name)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        try:
            self._tracker = builder.link(_linker(), f"sharedoa-{next(_library_numbers)}")
        except RuntimeError as problem:
            raise InternalError(f"the code of a kernel cannot be loaded: {problem}") from problem

    def address(self, name: str) -> int:
        """Where an exported symbol lies."""
        return int(self._tracker[name])

    def function(self, name: str, type: Any) -> Any:
        """An exported function as a cffi function pointer, of a type as text or ``ffi.typeof`` it;
        calls release the interpreter lock."""
        return ffi.cast(type, self.address(name))


def _print(text: Any) -> None:
    # Through Python's own stream, so that a kernel's output keeps its place among the program's.
    sys.stdout.write(ffi.string(text).decode(errors="replace"))


_print_callback = ffi.callback("void(char *)", _print)


def print_address() -> int:
    """The function that ``print`` in kernels calls with its finished line."""
    return int(ffi.cast("uintptr_t", _print_callback))
