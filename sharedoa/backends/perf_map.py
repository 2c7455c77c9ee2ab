"""Tells ``perf`` of Linux which addresses are functions of kernels: ``/tmp/perf-<pid>.map``.

The format is that of tools/perf/Documentation/jit-interface.txt in Linux: a line a function, its
address and size in hexadecimal digits, and its name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ptxpass.input_file import WITHOUT_LINKS

from ..errors import ConfigurationError
from .object_file import symbols

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class PerfMap:
    """The map of this process."""

    file: Path

    def __init__(self) -> None:
        """Raises ConfigurationError where there is no ``perf``, or its file cannot be written."""
        if sys.platform != "linux":
            raise ConfigurationError("perf maps are for Linux", "leave out --perf-map")
        self.file = Path(f"/tmp/perf-{os.getpid()}.map")
        try:
            # Python writes to it, too, if it is asked to; else it is of a process that has ended.
            if not getattr(sys, "is_stack_trampoline_active", lambda: False)():
                self.file.unlink(missing_ok=True)
            self._write("")
        except OSError as error:
            raise ConfigurationError(
                f"--perf-map: {self.file} cannot be written: {error.strerror}", "remove it"
            ) from error

    def add(self, object_code: bytes, symbol: str, address: int) -> None:
        """``object_code`` was loaded, and its function ``symbol`` lies at ``address``."""
        found = [each for each in symbols(object_code) if each.is_function]
        known = next(each for each in found if each.name == symbol)
        self._write(
            "".join(
                f"{address + each.offset - known.offset:x} {each.size:x} {each.name}\n"
                for each in found
                # Others lie somewhere else.
                if each.section == known.section
            )
        )

    def _write(self, text: str) -> None:
        opened = os.open(self.file, _FLAGS | WITHOUT_LINKS, 0o600)
        try:
            os.write(opened, text.encode())
        finally:
            os.close(opened)
