"""What the parameters of kernels are in C++, which PTX does not say: to what they point.

The program is compiled once more, with lines at its end that name its kernels and let it tell
(``SHAREDOA_KERNEL`` of ``sharedoa_class.h``). Nothing else is taken from what that makes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from dispatch.dataclass import dataclass
from ptxpass.text import read_module
from ptxpass.text.syntax import Module

from ..model.scalars import ScalarType
from ..model.types import ReferenceType
from .nvrtc import Nvrtc, SourceRefused

_PREFIX = "sharedoa_kernel_"
_INTEGER, _FLOAT, _VOID = 1, 2, 3


@dataclass(frozen=True)
class CxxType:
    """How often it is a pointer, and what it then is: one of the above, or something else, of so
    many bytes."""

    depth: int
    what: int
    size: int

    @staticmethod
    def of(word: int) -> CxxType:
        return CxxType(word >> 12, word >> 8 & 15, word & 255)

    def takes_object(self) -> bool:
        """Whether it may be given an object of a class."""
        if self.depth == 0:
            return self.what not in (_INTEGER, _FLOAT) or self.is_word
        return self.depth == 1 and self.what not in (_INTEGER, _FLOAT)

    def takes_array(self, element: Any) -> bool:
        """Whether it may be given an array of such elements."""
        if self.depth == 0:
            return self.what != _FLOAT
        if isinstance(element, ReferenceType):
            return self.depth == 2 or (self.depth == 1 and (self.what == _VOID or self.is_word))
        if self.depth > 1:
            return isinstance(element, ScalarType) and element.is_integer and element.bits == 64
        if not isinstance(element, ScalarType) or self.what not in (_INTEGER, _FLOAT):
            return True
        if self.size == 1:
            return True  # bytes of anything
        return element.is_float == (self.what == _FLOAT) and element.bits == 8 * self.size

    @property
    def is_word(self) -> bool:
        """Whether it can hold an address as a number, or point to some."""
        return self.what == _INTEGER and self.size == 8

    def __str__(self) -> str:
        name = {_INTEGER: "an integer", _FLOAT: "a float", _VOID: "void"}.get(self.what, "a class")
        bits = f" of {8 * self.size} bits" if self.what in (_INTEGER, _FLOAT) else ""
        return "a pointer to " * self.depth + name + bits


def parameter_types(
    compiler: Nvrtc, text: str, source: str, names: Sequence[str]
) -> dict[str, list[CxxType]]:
    """Of the kernels in ``text`` that have these names in C++, by name. Those that nothing outside
    can name, such as overloaded ones, are not among them. ``source`` is as for
    ``Nvrtc.compile_or_recall``."""
    if not names:
        return {}
    try:
        made = compiler.compile_or_recall("".join([text, *_lines(names)]), source)
    except SourceRefused:
        if len(names) == 1:
            return {}
        return {
            k: v for n in names for k, v in parameter_types(compiler, text, source, [n]).items()
        }
    ptx = made["ptx"]
    assert isinstance(ptx, str)
    return dict(_read(read_module(ptx, "parameters"), names))


def _lines(names: Sequence[str]) -> Iterator[str]:
    yield "\n"
    for number, name in enumerate(names):
        yield f"SHAREDOA_KERNEL({number}, ::{name})\n"


def _read(module: Module, names: Sequence[str]) -> Iterator[tuple[str, list[CxxType]]]:
    for number, name in enumerate(names):
        variable = module.variables.get(f"{_PREFIX}{number}")
        if variable is not None:
            data = variable.data()
            count, *words = struct.unpack(f"<{len(data) // 8}Q", data)
            yield name, [*map(CxxType.of, words[:count])]
