"""Where a module makes objects itself: it stores the address of a vtable.

Objects that code of the module makes need not lie in the heap, so a receiver may then be at an
address of no range, or without tag bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .syntax import Function, Instruction, Module, SymbolValue, Variable, names_in
from .vtables import is_vtable

_DESTRUCTOR = re.compile(r"_ZN.*D[0-2]Ev")
#: Functions that put objects into the heap, or only make a compiler emit vtables.
_OURS = "sharedoa"


@dataclass(frozen=True)
class Construction:
    """``where``: the function, or the variable that is initialised; ``vtables``: whose objects."""

    where: str
    vtables: tuple[str, ...]


def constructions(module: Module) -> list[Construction]:
    """Every function and variable that makes objects, destructors and our own functions left out
    (a destructor puts the table of the base class into an object that exists)."""
    found = []
    for item in module.items:
        if isinstance(item, Function):
            names = vtables_in(item)
            if _DESTRUCTOR.fullmatch(item.name) or _OURS in item.name:
                continue
        elif (
            isinstance(item, Variable)
            and not is_vtable(item.name)
            and not item.name.startswith(("_ZTT", "_ZTC"))
        ):
            names = _vtables_of(item)
        else:
            continue
        if names:
            found.append(Construction(item.name, names))
    return found


def vtables_in(function: Function) -> tuple[str, ...]:
    """The vtables whose address a function takes, each at its first use."""
    found: dict[str, None] = {}
    for statement in function.body or []:
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                found |= dict.fromkeys(n for n in names_in(operand) if is_vtable(n))
    return tuple(found)


def _vtables_of(variable: Variable) -> tuple[str, ...]:
    names = [value.name for value in variable.initial or [] if isinstance(value, SymbolValue)]
    return tuple(dict.fromkeys(name for name in names if is_vtable(name)))
