"""What a compiled program says of its classes: read from the initialisers and the constructions
that ``sharedoa_class.h`` made, so that nothing has to run."""

from __future__ import annotations

import struct

from dispatch.dataclass import dataclass, field
from ptxpass.text.flow import FunctionFlow
from ptxpass.text.misplaced import misplaced_tables
from ptxpass.text.syntax import (
    Call,
    Function,
    Group,
    Memory,
    Module,
    Raw,
    SymbolValue,
    Variable,
)
from ptxpass.text.table_stores import TableUses
from ptxpass.text.values import FunctionValues, SymbolAddress

from ..errors import ClassError
from .specification import spelling

_FORMAT = 1
_PREFIXES = tuple(f"sharedoa_{what}_" for what in ("name", "class", "field", "base"))
_KEEP = "sharedoa_keep_"
_VTABLE = "_ZTV"
_ADDRESS_POINT = 16
"""Bytes from a vtable's start to where objects point: after the offset to the top and the RTTI."""


@dataclass
class Description:
    """One class: ``fields`` are (offset, size) in bytes by label, ``bases`` the spellings of its
    declared bases, ``vtable`` the symbol of its vtable, None for an abstract class.

    ``inherits_once``: it has one base at most with virtual functions, and no virtual base.
    ``inside``: the vtables of objects that a construction makes inside of it.
    """

    name: str
    size: int
    alignment: int
    is_abstract: bool
    is_polymorphic: bool
    vtable: str | None
    inherits_once: bool = True
    inside: frozenset[str] = frozenset()
    fields: dict[str, tuple[int, int]] = field(default_factory=dict)
    bases: set[str] = field(default_factory=set)


def read_descriptions(module: Module) -> dict[str, Description]:
    """By the spelling of the class's name. Raises ClassError for what cannot be used."""
    variables, functions = module.variables, module.functions
    names = {
        symbol.removeprefix(_PREFIXES[0]): _text(variable)
        for symbol, variable in variables.items()
        if symbol.startswith(_PREFIXES[0])
    }
    by_identifier: dict[str, Description] = {}
    uses = TableUses(module)
    for identifier, name in names.items():
        words = _words(variables[f"sharedoa_class_{identifier}"])
        if words[0] != _FORMAT:
            raise ClassError(
                f"{module.name}: class {name} is described in format {words[0]}, not {_FORMAT}",
                "compile it with the sharedoa_class.h of this sharedoa",
            )
        keep = functions.get(_KEEP + identifier)
        is_abstract, is_polymorphic = bool(words[3]), bool(words[4])
        stored: tuple[str | None, int] = None, _ADDRESS_POINT
        if is_polymorphic and not is_abstract:
            found = _vtable(keep, variables)
            if found is None:
                raise ClassError(
                    f"{module.name}: the vtable of {name} was not found",
                    "override a function in that class or declare no copy constructor, and keep "
                    "the kernels sharedoa_keep_... in the PTX",
                )
            stored = found
        vtable, offset = stored
        once = vtable is None or (offset == _ADDRESS_POINT and _has_one_part(variables[vtable]))
        inside = frozenset[str]() if keep is None else misplaced_tables(module, uses, keep.name)
        by_identifier[identifier] = Description(
            name, words[1], words[2], is_abstract, is_polymorphic, vtable, once, inside
        )
    for symbol, variable in variables.items():
        if symbol.startswith("sharedoa_field_"):
            identifier, _, label = symbol.removeprefix("sharedoa_field_").partition("__")
            if identifier in by_identifier:
                offset, size = _words(variable)
                by_identifier[identifier].fields[label] = offset, size
    _read_bases(by_identifier, variables)
    return _by_spelling(by_identifier)


def _read_bases(classes: dict[str, Description], variables: dict[str, Variable]) -> None:
    for derived, description in classes.items():
        for base, other in classes.items():
            variable = variables.get(f"sharedoa_base_{derived}__{base}")
            if variable is not None and _words(variable)[0]:
                description.bases.add(spelling(other.name))


def _by_spelling(classes: dict[str, Description]) -> dict[str, Description]:
    """A class may be described by its author and by us: together they say most."""
    found: dict[str, Description] = {}
    for description in classes.values():
        earlier = found.setdefault(spelling(description.name), description)
        earlier.fields.update(description.fields)
        earlier.bases |= description.bases
    return found


def _words(variable: Variable) -> tuple[int, ...]:
    data = variable.data()
    return struct.unpack(f"<{len(data) // 8}Q", data)


def _text(variable: Variable) -> str:
    return variable.data().rstrip(b"\0").decode()


# ---------------------------------------------------------------- vtables


def _vtable(keep: Function | None, variables: dict[str, Variable]) -> tuple[str, int] | None:
    """The vtable whose address a construction stores at the start of its object, and the bytes
    added to it."""
    if keep is None or keep.body is None:
        return None
    stored = _stored_at_start(keep, variables)
    if stored is not None:
        return stored
    # Without optimisation the construction is a call of sharedoa_made<Class, how>::in, whose name
    # spells the class as the vtable's does.
    called = [s.target.text for s in keep.body if isinstance(s, Call)]
    for symbol in variables:
        if symbol.startswith(_VTABLE):
            part = f"sharedoa_madeI{symbol.removeprefix(_VTABLE)}Li"
            if any(part in name for name in called):
                return symbol, _ADDRESS_POINT
    return None


def _stored_at_start(keep: Function, variables: dict[str, Variable]) -> tuple[str, int] | None:
    """The last vtable address that is stored at the place that ``keep`` is given first."""
    flow = FunctionFlow(keep)
    values = FunctionValues(flow)
    found = None
    for index, instruction in flow.instructions():
        if instruction.opcode != "st" or len(instruction.operands) < 2:
            continue
        target, source = instruction.operands[:2]
        if not isinstance(target, Memory):
            continue
        at = values.address(target, index)
        if at.offset != 0 or not values.is_first_parameter(at.base):
            continue
        first = source.parts[0] if isinstance(source, Group) else source
        what = values.location(values.operand(first, index))
        if isinstance(what.base, SymbolAddress) and what.base.name in variables:
            found = what.base.name, what.offset
    return found


def _has_one_part(vtable: Variable) -> bool:
    """Whether there are only functions after the two zeros: further parts, for further bases, begin
    with their offset."""
    return all(isinstance(value, SymbolValue) or value == 0 for value in vtable.initial or ())


# ---------------------------------------------------------------- after reading


def without_descriptions(module: Module) -> None:
    """Take out what only describes the program; the lines of what stays keep their numbers."""
    if any(isinstance(item, Raw) and item.name == ".section" for item in module.items):
        return  # debug information refers to all of it
    for place, item in enumerate(module.items):
        described = isinstance(item, Variable) and item.name.startswith(_PREFIXES)
        kept = isinstance(item, Function) and item.name.startswith(_KEEP)
        if described or kept:
            lines = _all_text(item).count("\n")
            module.items[place] = Raw(item.leading, "\n" * lines, item.line, name="")


def _all_text(item: Variable | Function | object) -> str:
    if isinstance(item, Function) and item.body is not None:
        return item.text + "".join(s.leading + s.text for s in item.body) + item.tail
    return item.text if isinstance(item, (Variable, Function)) else ""
