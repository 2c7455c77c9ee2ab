"""Programs in SSA form: those of the applications, and random ones; what passes may know."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import apps
from dispatch.mode import AUTO, parse_mode
from sharedoa import ir
from sharedoa.frontend import translate_kernel, tree
from sharedoa.frontend.to_ir import to_ir
from sharedoa.ir.core import Function, Program, Region
from sharedoa.ir.evaluation import Number
from sharedoa.ir.job import Facts, Job
from sharedoa.ir.passes.unused import remove_unused
from sharedoa.ir.pipeline import PIPELINE, Pass, run_passes
from sharedoa.ir.text import NOWHERE
from sharedoa.ir.verify import verify
from sharedoa.model.layout import Header, Layout
from sharedoa.model.reference import PlainReference
from sharedoa.model.run_form import RunForm
from sharedoa.model.types import VOID
from sharedoa.runtime.kernel import Kernel
from sharedoa.targets.host import HostTarget
from sharedoa.targets.nvptx import NvptxTarget

from ..differential.programs import Size, make_program
from ..differential.running import load
from ..frontend.translated import kernel_from


def program_of(kernel: Callable[..., Any]) -> ir.Program:
    """What the front end makes of a kernel, which may be a plain function."""
    function = kernel.function if isinstance(kernel, Kernel) else kernel
    return to_ir(_tree_of(function))


@lru_cache(128)
def _tree_of(function: Callable[..., Any]) -> tree.Program:
    return translate_kernel(function).program


def program_from(folder: Path, parameters: str, body: str, **names: Any) -> ir.Program:
    """A kernel of these lines, without what nobody needs, as most passes get it."""
    program = program_of(kernel_from(folder, parameters, body, **names))
    remove_unused(program, debug=False)
    return program


@cache
def app_kernels() -> dict[str, Kernel]:
    """The kernels that modules of ``apps`` hold."""
    found: dict[str, Kernel] = {}
    for module in pkgutil.walk_packages(apps.__path__, "apps."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Kernel):
                    found.setdefault(f"{value.function.__module__}.{name}", value)
    return found


def random_program(folder: Path, seed: int, size: Size) -> ir.Program:
    return program_of(load(make_program(seed, size), folder).run)


def job(
    device: bool = False,
    debug: bool = False,
    shares_loops: bool = False,
    runs: Mapping[int, RunForm] | None = None,
    populated: Collection[int] | None = None,
    constants: Mapping[int, Number] | None = None,
    nones: Collection[int] = (),
) -> Job:
    """What passes may know, of objects that lie one after another, in a mode in which all of them
    may run."""
    target = NvptxTarget("sm_90") if device else HostTarget()
    layout, encoding = Layout("aos", Header(8, 8)), PlainReference()
    auto = parse_mode(AUTO)
    mode = auto if shares_loops else replace(auto, name="alone")
    given = _Given(runs or {}, populated, constants or {}, nones)
    return Job("test", _NOTHING, target, layout, encoding, mode, debug, facts=given)


_NOTHING = Program(Function("main", "main", "kernel", VOID, Region(), NOWHERE))


class _Given(Facts):
    """Answers that are there before anybody asks."""

    def __init__(
        self,
        runs: Mapping[int, RunForm],
        populated: Collection[int] | None,
        constants: Mapping[int, Number],
        nones: Collection[int],
    ) -> None:
        super().__init__()
        self._runs, self._populated, self._constants = runs, populated, constants
        self._nones = nones

    def run(self, parameter: int) -> RunForm | None:
        return self._runs.get(parameter)

    def populated(self) -> frozenset[int] | None:
        return None if self._populated is None else frozenset(self._populated)

    def constant(self, parameter: int) -> Number | None:
        return self._constants.get(parameter)

    def is_object(self, parameter: int) -> bool:
        return parameter not in self._nones


def contents(program: ir.Program) -> object:
    """All that passes change, to be compared: a program that is the same does the same. Its text
    would do, and takes several times as long."""
    return [
        (each.symbol, _frozen(each.known), each.melded, _shape(each.body))
        for each in program.functions.values()
    ]


def _shape(region: Region) -> object:
    return [
        (region.arguments[:], [each.type for each in region.arguments]),
        *(
            (
                each.kind,
                each.operands[:],
                each.results[:],
                [made.type for made in each.results],
                _frozen(each.attributes) if each.attributes else None,
                [_shape(inner) for inner in each.regions] if each.regions else None,
            )
            for each in region.operations
        ),
    ]


def _frozen(attribute: Any) -> object:
    """As it is now; zeros with their signs."""
    if isinstance(attribute, Mapping):
        return [(key, _frozen(value)) for key, value in attribute.items()]
    if isinstance(attribute, list | tuple | set | frozenset):
        return type(attribute).__name__, [_frozen(each) for each in attribute]
    return (type(attribute), repr(attribute)) if isinstance(attribute, float) else attribute


def run_one(program: ir.Program, job: Job, each: Pass) -> None:
    """Run a pass that applies on a program that was verified, and verify it again."""
    each.run(program, job)
    verify(program, each.name)


def run_all(program: ir.Program, job: Job, passes: Sequence[Pass] = PIPELINE) -> None:
    """Run those of the passes that apply; tests have programs verified before and after each."""
    for _ in run_passes(program, job, passes):
        pass
