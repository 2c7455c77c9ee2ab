"""Where a module makes objects itself: it stores the address of a vtable.

Objects that code of the module makes need not lie in the heap, so a receiver may then be at an
address of no range, or without tag bits. And an object that is made inside of another one lies in
the other's range, and a reference to it has the other's tag bits.
"""

from __future__ import annotations

from dispatch.dataclass import dataclass

from .names import is_destructor, own_names
from .syntax import Function, Module, SymbolValue, Variable
from .table_stores import TableUses, vtables_in
from .vtables import is_vtable

#: Functions that put objects into the heap, or only make a compiler emit vtables.
_OURS = "sharedoa"


@dataclass(frozen=True)
class Construction:
    """``where``: the function, or the variable that is initialised; ``vtables``: whose objects."""

    where: str
    vtables: tuple[str, ...]


def constructions(module: Module, uses: TableUses) -> list[Construction]:
    """Every function and variable that makes objects, destructors and our own functions left out
    (a destructor puts the table of the base class into an object that exists)."""
    found = []
    for item in module.items:
        if isinstance(item, Function):
            names = vtables_in(item)
            if names and (is_ours(item.name) or _only_destructs(item, uses)):
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


def is_ours(name: str) -> bool:
    """By what the function itself is called, not by the types of its parameters."""
    return any(_OURS in part for part in own_names(name))


def _only_destructs(function: Function, uses: TableUses) -> bool:
    """Whether a function is a destructor that puts tables into its own object alone."""
    if not is_destructor(function.name):
        return False
    stores = uses.stores(function)
    values = stores.values
    return not stores.escapes and all(
        values.is_first_parameter(values.location(store.address).base) for store in stores.all
    )


def _vtables_of(variable: Variable) -> tuple[str, ...]:
    names = [value.name for value in variable.initial or [] if isinstance(value, SymbolValue)]
    return tuple(dict.fromkeys(name for name in names if is_vtable(name)))
