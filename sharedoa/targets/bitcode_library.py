"""Libraries of functions in LLVM bitcode: taking what a module uses, and linking it in."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from llvmlite import binding as llvm

from .optimise import run_passes


def declared(ir_text: str, prefix: str) -> frozenset[str]:
    """The functions of a library, whose names begin with ``prefix``, that a module declares."""
    if prefix not in ir_text:
        return frozenset()
    return frozenset(re.findall(rf'^declare .*@"?({prefix}\w+)"?\(', ir_text, re.MULTILINE))


def extract(library: Any, names: Collection[str], machine: Any) -> bytes | frozenset[str]:
    """Bitcode of just these functions and what they use, as linking and optimising a whole library
    takes seconds; or the names of those that it does not have."""
    for value in (*library.functions, *library.global_variables):
        if not value.is_declaration and value.name not in names:
            value.linkage = llvm.Linkage.internal
    there = {each.name for each in library.functions if not each.is_declaration}
    missing = frozenset(names) - there
    if missing:
        return missing
    run_passes(library, machine, "global_dead_code_eliminate")
    return bytes(library.as_bitcode())


def link_in(module: Any, bitcode: bytes, names: Collection[str]) -> None:
    """Link ``extract``'s bitcode into ``module``, its functions as internal ones."""
    part = llvm.parse_bitcode(bitcode)
    part.triple, part.data_layout = module.triple, module.data_layout
    module.link_in(part)
    for name in names:
        module.get_function(name).linkage = llvm.Linkage.internal
