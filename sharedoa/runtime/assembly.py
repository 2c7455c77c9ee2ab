"""``kernel.asm``: the text of every stage of a compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from ..errors import ConfigurationError
from ..heap.heap import Heap
from ..targets.amdgpu import AmdgpuTarget
from ..targets.base import Target
from ..targets.host import HostTarget
from ..targets.nvptx import NvptxTarget
from .pipeline import EXTENSIONS, ON_DEMAND

if TYPE_CHECKING:
    from .launch import Program

_TARGETS: dict[str, Callable[[], Target]] = {
    "host": HostTarget,
    "nvptx": NvptxTarget,
    "amdgpu": AmdgpuTarget,
}


@cache
def open_target(name: str) -> Target:
    """A target by name, for code that is looked at or assembled rather than launched here."""
    if name not in _TARGETS:
        raise ConfigurationError(
            f"there is no target {name!r}", f"valid targets: {', '.join(_TARGETS)}"
        )
    return _TARGETS[name]()


class Assembly(Mapping[str, str | bytes]):
    """Stages by extension: text, or bytes for ``o``. ``ptx`` is there without a GPU too."""

    def __init__(self, program: Program, heap: Heap) -> None:
        self._program, self._heap = program, heap

    def __getitem__(self, extension: str) -> str | bytes:
        if extension not in EXTENSIONS:
            raise ConfigurationError(
                f"no stage makes {extension!r}", f"valid extensions: {', '.join(EXTENSIONS)}"
            )
        heap, target = self._heap, self._heap.backend.target
        made_by = {"ptx": ("nvptx",), "s": ("host", "amdgpu"), "o": ("host", "amdgpu")}
        able = made_by.get(extension, (target.name,))
        if target.name not in able:
            target = open_target(able[0])
        given = self._program.last_given(heap, heap.mode)
        compilation = self._program.compilation(heap, heap.mode, heap.debug, target, given)
        make = ON_DEMAND.get(extension)
        return compilation.products[extension] if make is None else make(compilation)

    def __iter__(self) -> Iterator[str]:
        return iter(EXTENSIONS)

    def __len__(self) -> int:
        return len(EXTENSIONS)

    def _ipython_key_completions_(self) -> list[str]:
        return list(EXTENSIONS)
