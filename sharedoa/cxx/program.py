"""A C++ program: its classes, its kernels, and the modules that the modes make of it."""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dispatch.dataclass import dataclass, field
from dispatch.mode import Mode, parse_mode
from ptxpass.text import CallReport, PtxError, Rewriting, print_module, read_module, rewrite
from ptxpass.text.syntax import Call, Function, Module
from ptxpass.text.tables import VTABLES

from ..backends.cuda import CudaBackend
from ..backends.gpu import GpuKernel, GpuModule
from ..errors import ArgumentError, ClassError, CompileError, Diagnostic
from ..forks import renew_in_child
from ..heap.heap import Heap
from ..runtime import knobs
from .classes import CxxClass, declare_classes
from .description import read_descriptions, without_descriptions
from .kernels import Kernel
from .parameter_types import CxxType
from .specification import ClassSpecification

#: Functions that the driver itself provides.
_OF_THE_DRIVER = frozenset({"vprintf", "malloc", "free", "__assertfail"})

T = TypeVar("T")


class Named(Mapping[str, T]):
    """Classes or kernels by name; an unknown name is an ArgumentError that lists them."""

    def __init__(self, what: str, program: str, found: Mapping[str, T]) -> None:
        self._what, self._program, self._found = what, program, found

    def __getitem__(self, name: str) -> T:
        if name not in self._found:
            raise ArgumentError(
                f"{self._program} has no {self._what} {name!r}",
                f"it has {', '.join(self._found) or 'none'}",
            )
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def get(self, name: str, default: Any = None) -> Any:
        return self._found.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {found!r}' for name, found in self._found.items())}}}"


@dataclass(eq=False)
class Loaded:
    """The module of one mode on the device; ``vtables`` are what objects point to, by symbol."""

    backend: CudaBackend
    module: GpuModule
    vtables: Mapping[str, int]
    lock: Any = field(default_factory=lambda: renew_in_child(threading.RLock()))
    _kernels: dict[str, GpuKernel] = field(default_factory=dict)
    _heap: Callable[[], Heap | None] = lambda: None
    _epoch: int = -1

    def kernel(self, kernel: Kernel) -> GpuKernel:
        found = self._kernels.get(kernel.symbol)
        if found is None:
            found = self._kernels[kernel.symbol] = self.backend.kernel(
                self.module, kernel.symbol, kernel.parameters.words, kernel.name
            )
        return found

    def bound(self, heap: Heap, launch: Callable[[], None]) -> None:
        """``launch``, for which the state block holds what ``heap`` gives."""
        launching = heap.memory.launching
        this, is_part = object(), self.lock._is_owned
        try:
            launching[this] = is_part
            while self._heap() is not heap or self._epoch != heap.layout_epoch:
                # It looks at everything again, and goes on to use nothing else.
                del launching[this]
                epoch, self._epoch = heap.layout_epoch, -1
                self.backend.set_module_state(self.module, heap.launch_state())
                self._heap, self._epoch = weakref.ref(heap), epoch
                launching[this] = is_part
            launch()
        finally:
            launching.pop(this, None)


class Program:
    """Compiled C++; made by ``cxx.compile`` and ``cxx.load``.

    ``classes`` are Python classes by their C++ names, ``kernels`` the ``__global__`` functions: by
    the name in the source where it is the only one, and always by the symbol. ``source_ptx`` is
    what the compiler wrote, ``log`` its warnings.
    """

    def __init__(
        self, name: str, text: str, classes: Sequence[ClassSpecification] = (), log: str = ""
    ) -> None:
        """Raises ClassError for classes that are not as ``classes`` say, CompileError for text that
        is no complete PTX."""
        self.name = name
        self.source_ptx = text
        self.log = log
        try:
            self._module = read_module(text, name)
        except PtxError as problem:
            raise _refused(problem) from None
        _require_complete(self._module)
        descriptions = read_descriptions(self._module)
        inside = [found.inside for found in descriptions.values()]
        self._inside = frozenset[str]().union(*inside)
        self.classes: Named[Any] = Named(
            "class", name, declare_classes(self, classes, descriptions)
        )
        without_descriptions(self._module)
        self._text = print_module(self._module)
        self.kernels: Named[Kernel] = Named("kernel", name, self._find_kernels())
        self._results: dict[Mode, Rewriting] = {}
        self._modules: dict[tuple[Mode, CudaBackend], Loaded] = {}
        self._lock = renew_in_child(threading.RLock())

    def _find_kernels(self) -> dict[str, Kernel]:
        kernels = [
            Kernel(self, function, self._module)
            for function in self._module.functions.values()
            if function.is_entry and not function.name.startswith("sharedoa_")
        ]
        names = [kernel.name for kernel in kernels]
        plain = {kernel.name: kernel for kernel in kernels if names.count(kernel.name) == 1}
        return {**plain, **{kernel.symbol: kernel for kernel in kernels}}

    def know_parameters(
        self, ask: Callable[[Sequence[str]], Mapping[str, Sequence[CxxType]]]
    ) -> None:
        """Look at arguments with what ``ask`` says of the parameters of kernels, by name."""
        if not self.classes:
            return
        known = ask([n for n, each in self.kernels.items() if n == each.name and each.has_pointers])
        for name, types in known.items():
            self.kernels[name].parameters.know(types)

    def ptx(self, mode: str | Mode | None = None) -> str:
        """The PTX that ``mode`` loads, by default the mode of the settings; needs no device.

        Raises CompileError for a program that the pass cannot rewrite.
        """
        return self._rewritten(mode).text

    def report(self, mode: str | Mode | None = None) -> tuple[CallReport, ...]:
        """What ``mode`` makes of each indirect call, and why: ``function``, ``line`` of the
        compiler's PTX, ``slot``, ``candidates``, ``uniform``, ``decision``, ``reason``."""
        return self._rewritten(mode).calls

    def _rewritten(self, mode: str | Mode | None) -> Rewriting:
        chosen = mode if isinstance(mode, Mode) else parse_mode(knobs.mode.resolve(mode))
        with self._lock:
            if chosen not in self._results:
                try:
                    self._results[chosen] = rewrite(
                        self._text,
                        chosen,
                        self.name,
                        self._type_indices(),
                        misplaced=self._inside,
                    )
                except PtxError as problem:
                    raise _refused(problem) from None
            return self._results[chosen]

    def _type_indices(self) -> dict[str, int]:
        found = {}
        for python_class in self.classes.values():
            cls = python_class.__sharedoa__
            foreign: CxxClass = cls.foreign
            if foreign.vtable is not None:
                found[foreign.vtable] = cls.type_index
        return found

    def loaded(self, mode: Mode, backend: CudaBackend) -> Loaded:
        """The module for ``mode``, loaded at its first use; it stays, as objects point into it."""
        with self._lock:
            found = self._modules.get((mode, backend))
            if found is None:
                found = self._modules[mode, backend] = self._load(mode, backend)
            return found

    def _load(self, mode: Mode, backend: CudaBackend) -> Loaded:
        result = self._rewritten(mode)
        recursive = _is_recursive(read_module(result.text, self.name))
        module = backend.load_module(result.text, recursive, f"the compiler of {self.name}")
        count = len(result.classes)
        addresses: tuple[int, ...] = ()
        if count:
            data = backend.read_global(module, VTABLES)
            addresses = struct.unpack(f"<{count}Q", data[: 8 * count])
        symbols = [cls.symbol for cls in result.classes]
        return Loaded(backend, module, dict(zip(symbols, addresses, strict=True)))

    def __repr__(self) -> str:
        return (
            f"<C++ program {self.name}: {len(self.classes)} classes, "
            f"kernels {', '.join(self.kernels) or 'none'}>"
        )


def _refused(problem: PtxError) -> CompileError:
    return CompileError([Diagnostic(str(problem), None)])


def _require_complete(module: Module) -> None:
    """Raise CompileError or ClassError for PTX that a linker would have to complete."""
    functions, variables = module.functions, module.variables
    for name, function in functions.items():
        if function.body is None and function.linkage == ".extern" and name not in _OF_THE_DRIVER:
            raise _incomplete(module, f"the function {name}")
    for name, variable in variables.items():
        if variable.linkage != ".extern":
            continue
        if variable.space == "shared":
            raise ClassError(
                f"{module.name}: {name} is shared memory whose size a launch gives, which is not "
                "supported",
                "give the array a size",
            )
        raise _incomplete(module, f"the variable {name}")


def _incomplete(module: Module, what: str) -> CompileError:
    help = "compile one source with everything that it calls, without -rdc=true"
    message = f"{module.name}: {what} is declared and not defined: this is relocatable code"
    return CompileError([Diagnostic(message, None, help)])


def _is_recursive(module: Module) -> bool:
    """Whether direct calls lead back to where they came from."""
    functions = module.functions
    callees = {name: _called(function) for name, function in functions.items()}
    done: set[str] = set()

    def returns(name: str, above: frozenset[str]) -> bool:
        if name in above:
            return True
        if name in done:
            return False
        inside = above | {name}
        found = any(returns(callee, inside) for callee in callees.get(name, ()))
        done.add(name)
        return found

    return any(returns(name, frozenset()) for name in functions)


def _called(function: Function) -> list[str]:
    return [s.target.text for s in function.body or () if isinstance(s, Call)]
