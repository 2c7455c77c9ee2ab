"""``@oa.kernel``: a function that many threads run, launched as ``kernel[threads](...)``.

The compiler is imported by the first launch, so that importing sharedoa is quick.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, overload

import numpy as np

from ..errors import ArgumentError, ClassError
from ..heap.heap import current_heap
from ..model.annotations import local_names
from ..model.source_text import remember_source
from ..model.type_names import P
from . import host_intrinsics  # noqa: F401  gives oa.grid and atomics their meaning in CPython
from .annotated_locals import form_for_cpython
from .geometry import Geometry, parse_geometry, parse_solid
from .intrinsic_use import IntrinsicUse, intrinsic_use

if TYPE_CHECKING:
    from .assembly import Assembly
    from .launch import Program
    from .pipeline import Compilation

LAUNCH_OPTIONS = ("mode", "debug")
_LAUNCHERS_KEPT = 256
_One = int | np.integer[Any]
#: Threads, or threads and block; along several axes tuples of them.
Sizes = _One | tuple[_One, ...] | tuple[_One | tuple[_One, ...], _One | tuple[_One, ...]]


class Kernel(Generic[P]):
    """A kernel: ``kernel[threads](arguments)`` runs it once for each thread index.

    ``kernel.asm[extension]`` is the text of any stage of its compilation, ``kernel.explain()`` how
    each virtual call finds its method and why.
    """

    __name__: str
    #: ``program_source.Source.is_general``.
    is_general = False

    def __init__(self, function: Callable[P, Any], local: dict[str, Any]) -> None:
        self.function = function
        remember_source(function)
        self.name = function.__name__
        functools.update_wrapper(self, function)
        self._local = local
        self._launchers: dict[Any, Launcher[P]] = {}

    def __reduce__(self) -> str:
        """Pickled and copied as functions are, by name."""
        return self.function.__qualname__

    @functools.cached_property
    def _use(self) -> IntrinsicUse:
        return intrinsic_use(self.function)

    @functools.cached_property
    def program(self) -> Program:
        """Made at first use, so that annotations may name classes that come later."""
        from ..frontend import kernel_signature, translate_kernel
        from .cpython import all_by_position, along_three_axes
        from .launch import Program
        from .program_source import Source

        signature = kernel_signature(self.function, self._local)
        for name in LAUNCH_OPTIONS:
            if name in signature.names:
                raise ClassError(
                    f"kernel {self.name} has a parameter {name}, which is an option of launches",
                    "rename the parameter",
                )
        function = form_for_cpython(self.function)
        if signature.only_named:
            function = all_by_position(function)
        if self._use.axes == 3:
            signature, function = along_three_axes(signature, function)
        return Program(
            Source(
                self.name,
                signature,
                lambda: translate_kernel(self.function, signature),
                function,
                self._use.barrier,
                add_to=lambda builder, symbol: builder.add_kernel(symbol, self.function, signature),
                is_general=self.is_general,
                origin=self.function,
            )
        )

    def __getitem__(self, item: Sizes) -> Launcher[P]:
        is_plain = item.__class__ is int or _are_ints(item)
        found = self._launchers.get(item) if is_plain else None
        if found is None and self._use.axes == 3:
            geometry, extent = parse_solid(item)
            return functools.partial(self._launcher(geometry), extent)
        if found is None:
            found = self._launcher(parse_geometry(item, self._use.axes))
            if is_plain:
                if len(self._launchers) >= _LAUNCHERS_KEPT:
                    self._launchers.clear()
                self._launchers[item] = found
        return found

    def _launcher(self, geometry: Geometry) -> Launcher[P]:
        """Programs take all arguments by position; where a kernel takes some by name only, they are
        put in order first."""
        program = self.program
        launch = program.launcher(geometry)
        if not program.source.signature.only_named:
            return launch

        def launch_named(
            *arguments: Any, mode: Any = None, debug: Any = None, **named: Any
        ) -> None:
            launch(*program.plan.in_order(arguments, named), mode=mode, debug=debug)

        return launch_named

    def __call__(self, *arguments: Any, **named: Any) -> None:
        raise ArgumentError(
            f"kernel {self.name} is called without a number of threads",
            f"write {self.name}[threads](...)",
        )

    def __get__(self, instance: Any, owner: Any = None) -> Kernel[P]:
        """Itself; what has a ``__get__`` is a routine to ``help``, which then says how it is called
        instead of what kernels have in common."""
        return self

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    @property
    def asm(self) -> Assembly:
        """The text of every stage, by extension, for the current heap's settings."""
        from .assembly import Assembly

        return Assembly(self.program, current_heap())

    def compile(self, target: str, *, mode: Any = None, debug: Any = None) -> Compilation:
        """Compile for ``target`` (host, nvptx or amdgpu), with or without such a device; the
        result's ``products`` hold every stage. Layout and references are the current heap's."""
        from .assembly import open_target
        from .launch_settings import launch_settings

        heap = current_heap()
        settings = launch_settings(heap, mode, debug)
        return self.program.compilation(heap, *settings, open_target(target))

    def explain(self, *, mode: Any = None, debug: Any = None) -> str:
        """Each virtual call with its candidate classes, the strategy chosen and why, and what the
        machine code uses, as a table, for the current heap's settings."""
        from .explanation import explain
        from .launch_settings import launch_settings

        heap = current_heap()
        return explain(self.program, heap, *launch_settings(heap, mode, debug))


class Launcher(Protocol[P]):
    """A kernel with its launch sizes; calling it launches."""

    # Where options are given, arguments are checked at the launch alone: no signature of Python's
    # types has the kernel's parameters and these.
    @overload
    def __call__(self, *arguments: P.args, **named: P.kwargs) -> None: ...
    @overload
    def __call__(
        self, *arguments: Any, mode: str, debug: bool | None = None, **named: Any
    ) -> None: ...
    @overload
    def __call__(self, *arguments: Any, debug: bool, **named: Any) -> None: ...
    def __call__(self, *arguments: Any, mode: Any = None, debug: Any = None, **named: Any) -> None:
        """Launch; ``mode`` and ``debug`` are for this launch alone. What goes wrong while the
        kernel runs is raised as DeviceError by whatever waits for it.

        Raises ArgumentError for a wrong number or type of arguments.
        """
        ...


def _are_ints(item: Any) -> bool:
    """Whether it is two ints: tuples of others may equal them and be refused, as (True, 1)."""
    return (
        item.__class__ is tuple and len(item) == 2
        and item[0].__class__ is int and item[1].__class__ is int
    )  # fmt: skip


def kernel(function: Callable[P, None]) -> Kernel[P]:
    """Make a function a kernel (``@oa.kernel``): its parameters have types, it returns nothing.

    Raises ClassError for anything but a function.
    """
    if not inspect.isfunction(function):
        raise ClassError(
            f"@oa.kernel decorates functions, not {function!r}",
            "put it directly above a def",
        )
    frame = sys._getframe(1)
    local = local_names(frame)
    return Kernel(function, local)


def general(kernel: Kernel[P]) -> Kernel[P]:
    """A kernel of ours that takes long to compile and is called with few sets of numbers: no code
    is made that knows them."""
    kernel.is_general = True
    return kernel
