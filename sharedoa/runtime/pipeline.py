"""The way from a program in SSA form to machine code: an ordered table of stages.

Each stage is named by the extension of what it makes. ``kernel.asm[extension]``, ``SHAREDOA_DUMP``
and the code cache all follow this table.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property
from time import perf_counter
from weakref import ref

from dispatch.dataclass import dataclass, field
from ptxpass.output_file import write_whole

from ..codegen.lower import LoweredModule, lower, take_apart
from ..errors import (
    ConfigurationError,
    InternalError,
    SharedOAError,
)
from ..frontend.program import too_deep
from ..ir.core import Program
from ..ir.description import describe
from ..ir.job import Job
from ..ir.passes.dispatch import SiteReport, reports
from ..ir.pipeline import history, optimised
from ..ir.text import program_text
from ..model.world import World
from ..targets.base import Stages
from ..targets.optimise import assembly_of
from ..uninterrupted import uninterrupted
from . import code_cache, knobs
from .code_cache import descriptions
from .code_cache.descriptions import Found, Outline

always_compiles = False
"""Whether what is found is made all the same, and compared: tests."""


@dataclass(eq=False)
class Compilation:
    """A job on its way. ``products`` holds what each stage made, by extension: text, or bytes for
    ``o``. Where code was found (``code_cache.descriptions``), the rest is made when somebody
    wants to see it."""

    job: Job
    products: Stages = field(init=False)
    found: Found | None = None
    #: How long it took.
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.products = _Products(self)

    @cached_property
    def program(self) -> Program:
        """The job's program after the passes."""
        return optimised(self.job)

    @cached_property
    def lowered(self) -> LoweredModule:
        return lower(self.program, self.job)

    @cached_property
    def outline(self) -> Outline:
        """What loading the code takes, and telling its errors."""
        return Outline.of(self.lowered) if self.found is None else self.found.outline

    def forget(self) -> None:
        """Drop what is large and is made again, the same, when somebody wants to see it."""
        assert self.outline
        self.__dict__.pop("program", None)
        lowered: LoweredModule | None = self.__dict__.pop("lowered", None)
        if lowered is not None:
            take_apart(lowered.module)

    @cached_property
    def reports(self) -> list[SiteReport]:
        """What became of each virtual call."""
        return reports(self.program)


class _Products(Stages):
    """What was not made, as its compilation was found, is made when it is asked for."""

    def __init__(self, compilation: Compilation) -> None:
        super().__init__()
        self._compilation = ref(compilation)

    def __missing__(self, extension: str) -> str | bytes:
        compilation = self._compilation()
        if extension != "dispatch.ll" or compilation is None:
            raise KeyError(extension)
        self[extension] = made = _dispatched_text(compilation)
        return made


def optimised_program(compilation: Compilation) -> Stages:
    """The program in SSA form after all passes."""
    assert compilation.program
    return _to_dump(compilation, "passes.ir", "ir")


def dispatched_ir(compilation: Compilation) -> Stages:
    """LLVM IR, with virtual calls as the mode has them; above it what was chosen, and why."""
    return {"dispatch.ll": _dispatched_text(compilation), **_to_dump(compilation, "ll")}


def _dispatched_text(compilation: Compilation) -> str:
    decisions = [
        f"; {r.location.line_in_file}: {r.static_class}.{r.method} of {', '.join(r.candidates)}: "
        f"{r.decision}, because {r.reason}\n"
        for r in compilation.reports
    ]
    return "".join([*decisions, str(compilation.lowered.module)])


def machine_code(compilation: Compilation) -> Stages:
    """LLVM's optimised IR and the target's code: ``opt.ll``, then ``ptx`` or ``o``."""
    code = _code_text(compilation)
    # An exception between two steps of llvmlite would leave LLVM's objects with two owners.
    with uninterrupted:
        made = code_cache.compiled(compilation.job.target, code, compilation.job.name)
    compilation.products.update(made)
    return {**made, **(_to_dump(compilation, "s") if "o" in made else {})}


def _code_text(compilation: Compilation) -> str:
    text = compilation.products["dispatch.ll"]
    assert isinstance(text, str)
    # What the comments at its head say of lines of the source is no part of the code.
    return "".join(itertools.dropwhile(lambda line: line[0] == ";", text.splitlines(keepends=True)))


STAGES: tuple[tuple[tuple[str, ...], Callable[[Compilation], Stages]], ...] = (
    (("ir",), optimised_program),
    (("dispatch.ll",), dispatched_ir),
    (("opt.ll", "ptx", "o"), machine_code),
)
ON_DEMAND: dict[str, Callable[[Compilation], str]] = {
    "passes.ir": lambda compilation: history(compilation.job),
    "ir": lambda compilation: program_text(compilation.program),
    "ll": lambda c: str(lower(c.program, c.job, canonical=True).module),
    "s": lambda c: assembly_of(str(c.products["opt.ll"]), c.job.target.machine),
}
"""What is made when somebody wants to see it: what passes do to the program, and what they leave;
LLVM IR with virtual calls in canonical form; assembly."""


def _to_dump(compilation: Compilation, *extensions: str) -> Stages:
    if knobs.dump.value() is None:
        return {}
    return {each: ON_DEMAND[each](compilation) for each in extensions}


EXTENSIONS = ("passes.ir", "ir", "ll", "dispatch.ll", "opt.ll", "ptx", "s", "o")
_COMMENTS = {"ptx": "//", "s": "#"}


def compile(job: Job, instead: Callable[[], Job | None] = lambda: None) -> Compilation:
    """Find the job's code, else that of the job ``instead``, or run every stage in order; write
    what they make to ``SHAREDOA_DUMP``. The facts of the compilation's job are complete then.

    Raises CompileError for the user's mistakes, ConfigurationError for a folder that cannot be
    written, InternalError for whatever else goes wrong in a stage.
    """
    begun = perf_counter()
    # What is dumped is made.
    is_kept = knobs.dump.value() is None and code_cache.open_folder() is not None
    world = World.epoch
    description = describe(job) if is_kept else None
    found = None if description is None else descriptions.recall(job, description)
    if description is not None and found is None and (other := instead()) is not None:
        described = describe(other)
        found = None if described is None else descriptions.recall(other, described)
        if found is not None:
            job, description = other, described
    if found is not None and description is not None and not always_compiles:
        job.facts.rest_on(found.questions, description.facts)
        compilation = Compilation(job, found, perf_counter() - begun)
        compilation.products.update(found.stages)
        return compilation
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
    # Another thread may have changed classes since they were described; code is of those now.
    if description is not None and _is_still(world):
        text, asked = _code_text(compilation), job.facts.questions
        if found is None:
            descriptions.remember(job, description, text, compilation.outline, asked)
        elif (text, asked) != (found.text, (*found.questions,)) or (
            compilation.outline != found.outline
        ):
            raise InternalError(f"kernel {job.name}: its description is that of other code")
    compilation.forget()
    compilation.seconds = perf_counter() - begun
    return compilation


def _is_still(epoch: int) -> bool:
    with World.changing:
        return World.epoch == epoch


def _dump(job: Job, made: Stages) -> None:
    folder = knobs.dump.value()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for extension, product in made.items():
            if isinstance(product, str):
                head = (
                    f"{_COMMENTS.get(extension, ';')} {line}\n" for line in str(job).splitlines()
                )
                product = "".join([*head, product])
            write_whole(folder / f"{job.name}.{job.mode.name}.{extension}", product)
    except OSError as error:
        raise ConfigurationError(
            f"SHAREDOA_DUMP: {folder} cannot be written: {error.strerror}",
            "name a folder that exists or can be made",
        ) from error
