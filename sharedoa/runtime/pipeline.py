"""The way from a program in SSA form to machine code: an ordered table of stages.

Each stage is named by the extension of what it makes. ``kernel.asm[extension]``, ``SHAREDOA_DUMP``
and the code cache all follow this table.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from ptxpass.ir import Environment, SiteReport, rewrite
from ptxpass.output_file import write_whole

from ..codegen.lower import LoweredModule, lower
from ..errors import (
    ConfigurationError,
    InternalError,
    SharedOAError,
)
from ..frontend.program import too_deep
from ..ir.core import Program
from ..ir.job import Job
from ..ir.pipeline import history, optimised
from ..ir.text import program_text
from ..targets.base import Stages
from ..uninterrupted import uninterrupted
from . import code_cache, knobs

HISTORY = "passes.ir"
"""What passes do to the program, which is found out when somebody wants to see it."""


@dataclass(eq=False)
class Compilation:
    """A job on its way. ``products`` holds what each stage made, by extension: text, or bytes for
    ``o``."""

    job: Job
    products: Stages = field(default_factory=dict)
    reports: list[SiteReport] = field(default_factory=list)
    _program: Program | None = None
    _lowered: LoweredModule | None = None

    @property
    def program(self) -> Program:
        """The job's program after the passes."""
        assert self._program is not None
        return self._program

    @property
    def lowered(self) -> LoweredModule:
        assert self._lowered is not None
        return self._lowered


def optimised_program(compilation: Compilation) -> Stages:
    """The program in SSA form after all passes."""
    compilation._program = optimised(compilation.job)
    found: Stages = {"ir": program_text(compilation.program)}
    if knobs.dump.value() is not None:
        found[HISTORY] = history(compilation.job)
    return found


def canonical_ir(compilation: Compilation) -> Stages:
    """Every virtual call as a C++ compiler emits it."""
    compilation._lowered = lower(compilation.program, compilation.job)
    return {"ll": str(compilation.lowered.module)}


def dispatched_ir(compilation: Compilation) -> Stages:
    """Every virtual call as the mode makes it, and above all of them what was chosen and why."""
    c, lowered, job = compilation, compilation.lowered, compilation.job
    environment = Environment(
        object_space=job.target.object_space,
        constant_space=job.target.constant_space,
        is_device=job.target.is_device,
        emit_address=lowered.emit_address,
        emit_order=job.encoding.emit_order,
        kernel=lowered.kernel_symbol,
        debug=job.debug,
        on_no_type=lowered.on_no_type,
        emit_vtable_address=lowered.emit_vtable_address,
        populated=job.facts.populated() if lowered.sites or lowered.queries else None,
        ranges=job.facts.ranges,
    )
    c.reports = rewrite(lowered.module, lowered.sites, lowered.queries, job.mode, environment)
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
        return code_cache.compiled(compilation.job.target, code, compilation.job.name)


STAGES: tuple[tuple[tuple[str, ...], Callable[[Compilation], Stages]], ...] = (
    (("ir",), optimised_program),
    (("ll",), canonical_ir),
    (("dispatch.ll",), dispatched_ir),
    (("opt.ll", "ptx", "s", "o"), machine_code),
)
_COMMENTS = dict.fromkeys((HISTORY, "ir", "ll", "dispatch.ll", "opt.ll"), ";") | {
    "ptx": "//",
    "s": "#",
}
EXTENSIONS = (HISTORY, *(extension for extensions, _ in STAGES for extension in extensions))


def compile(job: Job) -> Compilation:
    """Run every stage in order; write what they make to ``SHAREDOA_DUMP``. The job's facts are
    complete then.

    Raises CompileError for the user's mistakes, ConfigurationError for a folder that cannot be
    written, InternalError for whatever else goes wrong in a stage.
    """
    compilation = Compilation(job)
    for extensions, stage in STAGES:
        try:
            made = stage(compilation)
        except (SharedOAError, InternalError):
            raise
        except RecursionError as error:
            kernel = job.program.kernel
            raise too_deep(f"{kernel.name}, or of what it calls,", kernel.location) from error
        except Exception as error:
            raise InternalError(
                f"kernel {job.name}, stage {extensions[0]}: {type(error).__name__}: {error}"
            ) from error
        compilation.products.update(made)
        _dump(job, made)
    job.facts.close()
    return compilation


def _dump(job: Job, made: Stages) -> None:
    folder = knobs.dump.value()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for extension, product in made.items():
            if isinstance(product, str):
                head = (f"{_COMMENTS[extension]} {line}\n" for line in str(job).splitlines())
                product = "".join([*head, product])
            write_whole(folder / f"{job.name}.{job.mode.name}.{extension}", product)
    except OSError as error:
        raise ConfigurationError(
            f"SHAREDOA_DUMP: {folder} cannot be written: {error.strerror}",
            "name a folder that exists or can be made",
        ) from error
