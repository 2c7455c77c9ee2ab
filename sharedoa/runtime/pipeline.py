"""The way from a typed tree to machine code: an ordered table of stages.

Each stage is named by the extension of what it makes. ``kernel.asm[extension]``, ``SHAREDOA_DUMP``
and the code cache all follow this table.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from dispatch.mode import Mode
from ptxpass.ir import Environment, SiteReport, rewrite
from ptxpass.output_file import write_whole

from ..codegen.lower import LoweredModule, lower
from ..errors import (
    CompileError,
    ConfigurationError,
    Diagnostic,
    InternalError,
    SharedOAError,
)
from ..frontend import tree
from ..frontend.array_use import stores_references
from ..model.layout import Layout
from ..model.reference import ReferenceEncoding
from ..model.run_form import PieceField, RunForm
from ..targets.base import Stages, Target
from ..uninterrupted import uninterrupted
from . import code_cache, knobs
from .population import Population
from .typed_tree_text import program_text

#: What code rests on besides its program, in modes that look at the heap's objects.
Facts = tuple[Population | None, tuple[PieceField, ...]]


@dataclass(eq=False)
class Compilation:
    """One kernel on its way to one target, in one mode. ``products`` holds what each stage made,
    by extension: text, or bytes for ``o``."""

    name: str
    program: tree.Program
    target: Target
    layout: Layout
    encoding: ReferenceEncoding
    mode: Mode
    debug: bool
    fastmath: bool
    #: Which classes have objects, and where.
    population: Population | None = None
    #: The kernel's parameters that are arrays of objects side by side, by place.
    runs: tuple[tuple[int, RunForm], ...] = ()
    #: Fields whose arrays are pieces of one array of objects side by side (``heap.pieces``).
    pieces: tuple[PieceField, ...] = ()
    products: Stages = field(default_factory=dict)
    reports: list[SiteReport] = field(default_factory=list)
    _lowered: LoweredModule | None = None

    @property
    def facts(self) -> Facts:
        return self.population, self.pieces

    @cached_property
    def stores_references(self) -> bool:
        """Whether a launch may change elements of arrays of references."""
        return stores_references(self.program)

    @property
    def lowered(self) -> LoweredModule:
        assert self._lowered is not None
        return self._lowered


def typed_tree(compilation: Compilation) -> Stages:
    return {"tir": program_text(compilation.program)}


def canonical_ir(compilation: Compilation) -> Stages:
    """Every virtual call as a C++ compiler emits it."""
    c = compilation
    c._lowered = lower(
        c.program, c.target, c.layout, c.encoding, c.mode, c.debug, dict(c.runs), c.pieces,
        c.fastmath, None if c.population is None else c.population.populated,
    )  # fmt: skip
    return {"ll": str(c.lowered.module)}


def dispatched_ir(compilation: Compilation) -> Stages:
    """Every virtual call as the mode makes it, and above all of them what was chosen and why."""
    c, lowered = compilation, compilation.lowered
    environment = Environment(
        object_space=c.target.object_space,
        constant_space=c.target.constant_space,
        is_device=c.target.is_device,
        emit_address=lowered.emit_address,
        emit_order=c.encoding.emit_order,
        kernel=lowered.kernel_symbol,
        debug=c.debug,
        on_no_type=lowered.on_no_type,
        emit_vtable_address=lowered.emit_vtable_address,
        populated=None if c.population is None else c.population.populated,
        ranges=() if c.population is None else c.population.ranges,
        windows=None if c.population is None else c.population.windows,
    )
    c.reports = rewrite(lowered.module, lowered.sites, lowered.queries, c.mode, environment)
    decisions = [
        f"; {r.location}: {r.static_class}.{r.method} of {', '.join(r.candidates)}: {r.decision}, "
        f"because {r.reason}\n"
        for r in c.reports
    ]
    return {"dispatch.ll": "".join([*decisions, str(lowered.module)])}


def machine_code(compilation: Compilation) -> Stages:
    """LLVM's optimised IR and the target's code: ``opt.ll``, then ``ptx``, or ``s`` and ``o``."""
    text = compilation.products["dispatch.ll"]
    assert isinstance(text, str)
    # What the comments at its head say of lines of the source is no part of the code.
    code = "".join(itertools.dropwhile(lambda line: line[0] == ";", text.splitlines(keepends=True)))
    # An exception between two steps of llvmlite would leave LLVM's objects with two owners.
    with uninterrupted:
        return code_cache.compiled(compilation.target, code, compilation.name)


STAGES: tuple[tuple[tuple[str, ...], Callable[[Compilation], Stages]], ...] = (
    (("tir",), typed_tree),
    (("ll",), canonical_ir),
    (("dispatch.ll",), dispatched_ir),
    (("opt.ll", "ptx", "s", "o"), machine_code),
)
EXTENSIONS = tuple(extension for extensions, _ in STAGES for extension in extensions)


def compile(compilation: Compilation) -> None:
    """Run every stage in order; write what they make to ``SHAREDOA_DUMP``.

    Raises CompileError for the user's mistakes, ConfigurationError for a folder that cannot be
    written, InternalError for whatever else goes wrong in a stage.
    """
    for extensions, stage in STAGES:
        try:
            made = stage(compilation)
        except (SharedOAError, InternalError):
            raise
        except RecursionError as error:
            raise _too_deep(compilation.program.kernel) from error
        except Exception as error:
            raise InternalError(
                f"kernel {compilation.name}, stage {extensions[0]}: {type(error).__name__}: {error}"
            ) from error
        compilation.products.update(made)
        _dump(compilation, made)


def _too_deep(kernel: tree.Function) -> CompileError:
    return CompileError(
        [
            Diagnostic(
                f"the statements or expressions of {kernel.name}, or of what it calls, nest too "
                "deeply",
                kernel.location,
                "a long chain of elif, or of operators, nests as deeply as it is long: divide it "
                "into several statements or @oa.func functions",
            )
        ]
    )


def _dump(compilation: Compilation, made: Stages) -> None:
    folder = knobs.dump.value()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for extension, product in made.items():
            file = folder / f"{compilation.name}.{compilation.mode.name}.{extension}"
            write_whole(file, product)
    except OSError as error:
        raise ConfigurationError(
            f"SHAREDOA_DUMP: {folder} cannot be written: {error.strerror}",
            "name a folder that exists or can be made",
        ) from error
