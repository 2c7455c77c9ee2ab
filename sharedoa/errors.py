"""The two kinds of error: the user's, always with what to do about it, and ours."""

from __future__ import annotations

import linecache
import platform
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .location import Location


class SharedOAError(Exception):
    """Base of every error that a user's program can cause. ``help`` says what to do."""

    def __init__(self, message: str, help: str = "") -> None:
        self.message = message
        self.help = help
        super().__init__(f"{message}\nhelp: {help}" if help else message)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows."""
        from .tracebacks import rendered

        return rendered(self)


class ConfigurationError(SharedOAError, ValueError):
    """An unknown or unusable mode, backend, layout, variable or value."""


class ClassError(SharedOAError, TypeError):
    """A class that cannot be a shared type, or a use of it that its declaration forbids."""


class UnresolvedNameError(ClassError):
    """An annotation names something that does not exist, or does not exist yet."""


class ArgumentError(SharedOAError, TypeError):
    """A launch, call or assignment with the wrong number or type of values."""


class EmptyError(SharedOAError, ValueError):
    """The smallest, or largest, of nothing."""


class ExportError(SharedOAError, BufferError):
    """An array or a field that other libraries cannot use where it is."""


class HeapError(SharedOAError, MemoryError):
    """No room, or a reference that is not a live object of this heap."""


class BackendError(SharedOAError, RuntimeError):
    """A backend was asked for that this machine does not have, or its driver refused."""


class DumpError(SharedOAError, ValueError):
    """A dump file that is truncated, damaged or not ours."""


class DeviceError(SharedOAError, RuntimeError):
    """A kernel did something wrong while it ran: which kernel, source line, thread and object."""


class Diagnostic:
    """One complaint about the user's source: a message, a place, and what to write instead."""

    def __init__(self, message: str, location: Location | None, help: str = "") -> None:
        self.message = message
        self.location = location
        self.help = help

    def __str__(self) -> str:
        lines = [self.message]
        where = self.location
        if where is not None:
            from .tracebacks import shown_file

            file = shown_file(where.file)
            lines[0] = f"{file}:{where.line}: in {where.function}: {self.message}"
            source = linecache.getline(where.file, where.line).rstrip("\n")
            if source:
                last = where.end_column if where.end_line == where.line else len(source)
                # ast columns count UTF-8 bytes; the caret counts characters
                start = len(source.encode()[: where.column].decode(errors="ignore"))
                stop = len(source.encode()[:last].decode(errors="ignore"))
                lines += [f"    {source}", "    " + " " * start + "^" * max(1, stop - start)]
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)


class CompileError(SharedOAError):
    """Source outside the subset or with wrong types; ``diagnostics`` holds every complaint."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        Exception.__init__(self, "\n\n".join(map(str, diagnostics)))
        self.message = str(diagnostics[0].message)
        self.help = diagnostics[0].help

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.diagnostics))


class InternalError(RuntimeError):
    """A fault of sharedoa itself; carries the versions that a report needs."""

    def __init__(self, message: str) -> None:
        from llvmlite import __version__ as llvmlite_version
        from numpy import __version__ as numpy_version

        super().__init__(
            f"{message}\nThis is a fault in sharedoa, not in your program: please report it with "
            f"the program and these versions: Python {sys.version.split()[0]}, "
            f"{platform.platform()}, numpy {numpy_version}, llvmlite {llvmlite_version}"
        )
