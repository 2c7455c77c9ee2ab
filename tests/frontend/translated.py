"""Translating small kernels, and reading what came out as the text of stage ``tir``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sharedoa.errors import CompileError, Diagnostic
from sharedoa.frontend import translate_kernel, tree

from ..source_files import load_module
from .tree_text import program_text


def translate(function: Callable[..., Any]) -> tree.Program:
    return translate_kernel(function).program


def text_of(function: Callable[..., Any]) -> str:
    """The body of a kernel as text, one statement a line, without the source locations."""
    kernel = program_text(translate(function)).split("\n\n")[0]
    return "\n".join(line.split("  # ")[0].rstrip()[4:] for line in kernel.splitlines()[1:])


def variable_types(function: Callable[..., Any]) -> dict[str, str]:
    """The type of each local of a kernel that its top level assigns, by name."""
    return {
        statement.variable.name: repr(statement.variable.type)
        for statement in translate(function).kernel.body
        if isinstance(statement, tree.Assign)
    }


def kernel_from(folder: Path, parameters: str, body: str, **names: Any) -> Callable[..., Any]:
    """A plain function ``kernel(parameters)`` whose body is the lines of ``body``; ``names`` are
    globals that it uses."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    module = load_module(folder, f"def kernel({parameters}):\n{lines}\n", **names)
    kernel: Callable[..., Any] = module.kernel
    return kernel


def complaints(function: Callable[..., Any]) -> list[Diagnostic]:
    """What is wrong with a kernel; fails when nothing is."""
    with pytest.raises(CompileError) as caught:
        translate_kernel(function)
    return caught.value.diagnostics
