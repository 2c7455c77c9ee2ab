"""Loading compiled host code into this process, and the symbols it is linked against."""

from __future__ import annotations

import itertools
import mmap
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from cffi import FFI
from llvmlite import binding as llvm

from ..errors import InternalError
from ..once import once
from ..targets.base import Stages
from ..targets.host import HostTarget
from ..uninterrupted import uninterrupted
from .debugger import announce, is_debugged

ffi = FFI()
_library_numbers = itertools.count()


@once
def host_target() -> HostTarget:
    """The one host target of the process: detecting the CPU is done once."""
    return HostTarget()


class _Assembler:
    """Makes object code of texts of this package's own, which are as they should be."""

    name = "assembler"

    @property
    def fingerprint(self) -> str:
        return host_target().fingerprint

    def libraries(self, text: str) -> str:
        return ""

    def compile(self, text: str) -> Stages:
        return {"o": host_target().assemble(text)}


keep: Callable[[Any, str, str], Stages] = lambda compiler, text, label: compiler.compile(text)  # noqa: E731
"""What makes code of a text, and calls it so in listings; those who keep code between runs set
another one (``runtime.code_cache``)."""


def _make(target: Any, symbol: str, write: Callable[[], str]) -> Stages:
    stages: Stages = target.compile(write())
    return stages


keep_own: Callable[[Any, str, Callable[[], str]], Stages] = _make
"""The same for a kernel of the backends' own, whose text is made if it is needed."""


_FRAMES = """
!llvm.dbg.cu = !{!900000}
!llvm.module.flags = !{!900002}
!900000 = distinct !DICompileUnit(language: DW_LANG_C, file: !900001, emissionKind: LineTablesOnly)
!900001 = !DIFile(filename: "sharedoa", directory: "")
!900002 = !{i32 2, !"Debug Info Version", i32 3}
"""
"""With it code comes with what debuggers need to find its callers."""


def assembled(text: str, label: str) -> bytes:
    """Object code of a text of this package's own."""
    if is_debugged():
        text += _FRAMES
    code = keep(_Assembler(), text, label)["o"]
    assert isinstance(code, bytes)
    return code


_LINKED_BYTES = 1 << 24
"""More than any code takes while it is loaded."""


@once
def _linker() -> Any:
    # JITLink keeps the parts of an object together. LLVM's older linker maps each where there is
    # room: with a heap of gigabytes between two of them, one cannot reach the other.
    return llvm.create_lljit_compiler(host_target().machine, use_jit_link=True)


def _unload(tracker: Any) -> None:
    with uninterrupted:
        tracker.close()


def _lacks_memory() -> bool:
    """LLVM does not say so."""
    try:
        mmap.mmap(-1, _LINKED_BYTES).close()
    except OSError:
        return True
    return False


class NativeLibrary:
    """One object file, loaded and private: its symbols hide from those of every other."""

    def __init__(
        self, object_code: bytes, exports: tuple[str, ...], imports: Mapping[str, int]
    ) -> None:
        # An exception between two steps of llvmlite would leave LLVM's objects with two owners.
        with uninterrupted:
            builder = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
            for name in exports:
                builder.export_symbol(name)
            for name, address in imports.items():
                builder.import_symbol(name, address)
            try:
                self._tracker = builder.link(_linker(), f"sharedoa-{next(_library_numbers)}")
            except RuntimeError as problem:
                if _lacks_memory():
                    raise MemoryError("no memory to load the code of a kernel") from problem
                raise InternalError(
                    f"the code of a kernel cannot be loaded: {problem}"
                ) from problem
            weakref.finalize(self, _unload, self._tracker).atexit = False
        announce(self, object_code, {name: self.address(name) for name in exports})

    def address(self, name: str) -> int:
        """Where an exported symbol lies."""
        return int(self._tracker[name])

    def function(self, name: str, type: Any) -> Any:
        """An exported function as a cffi function pointer, of a type as text or ``ffi.typeof`` it;
        calls release the interpreter lock."""
        return ffi.cast(type, self.address(name))


def text_bytes(object_code: bytes) -> int:
    """How much machine code an object file holds."""
    sections = llvm.ObjectFileRef.from_data(object_code).sections()
    return sum(section.size() for section in sections if section.is_text())
