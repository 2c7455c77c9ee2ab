"""LLVM's own optimisation, once for all targets: the O3 pipeline of the new pass manager."""

from __future__ import annotations

from itertools import islice
from typing import Any

from llvmlite import binding as llvm

from ..errors import InternalError
from ..uninterrupted import uninterrupted
from .base import Stages

OPTIMISATION_LEVEL = 3


def parse(ir_text: str) -> Any:
    """LLVM's module for ``ir_text``; InternalError with LLVM's message when it is not valid."""
    try:
        module = llvm.parse_assembly(ir_text)
        module.verify()
    except RuntimeError as problem:
        raise InternalError(f"LLVM refuses the code generated for a kernel: {problem}") from problem
    return module


def optimise(module: Any, machine: Any) -> None:
    """Run the O3 pipeline over ``module`` in place; results stay IEEE where the IR
    does not say that they may be approximate."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION_LEVEL)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def run_passes(module: Any, machine: Any, *names: str) -> None:
    """Run single passes over ``module`` in place, by llvmlite's names for them."""
    passes = llvm.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


_MANY_BLOCKS = 1000
"""In functions of more blocks LLVM takes the time of a square to put copies of what follows at
their ends."""


def copy_no_ends(module: Any) -> None:
    """Have functions of very many blocks, such as a switch over a thousand classes, selected for
    size: as fast, and written in half the time."""
    for function in module.functions:
        if next(islice(function.blocks, _MANY_BLOCKS, None), None) is not None:
            function.add_function_attribute("optsize")


def emit_native(module: Any, machine: Any) -> Stages:
    """An optimised module as text, and its object code."""
    # The text first: emitting changes the module.
    return {"opt.ll": str(module), "o": machine.emit_object(module)}


def assembly_of(optimised: str, machine: Any) -> str:
    """The instructions of the object code that ``emit_native`` made with this text: few read them,
    and they take as long to make."""
    with uninterrupted:
        assembly: str = machine.emit_assembly(parse(optimised))
        return assembly
