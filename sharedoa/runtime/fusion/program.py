"""The program of launches that are one: a kernel that calls theirs, one after another, or each in
threads of its own.

All are translated together, so that what is known of the objects that methods are called on holds
for the calls of all. What is the same array or object in two launches is one parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from ... import ir
from ...frontend import Translation, tree
from ...frontend.program import ProgramBuilder, kernel_symbol
from ...heap.arrays import Array
from ...heap.run import RunOfObjects
from ...model.classes import Signature
from ...model.object import Object
from ...model.types import VOID, Type
from ..launch import Program
from ..program_source import Source
from .threads import Share, share_threads, tell_threads

Places = tuple[tuple[int, ...], ...]
"""Of each launch's parameters, the parameters of the kernel that they become."""
Picked = tuple[int, int]
"""A launch, and which of its arguments."""
_PROGRAMS_KEPT = 512


def together(
    launches: Sequence[tuple[Program, tuple[Any, ...]]], shares: tuple[Share, ...] = ()
) -> tuple[Program, tuple[Picked, ...]]:
    """The one program of launches with these arguments, and which of them are its own. ``shares``:
    the threads of each, if they do not have the same."""
    places: list[tuple[int, ...]] = []
    picked: list[Picked] = []
    known: dict[Any, int] = {}
    for number, (program, given) in enumerate(launches):
        found = []
        types = program.source.signature.types
        for parameter, (type, argument) in enumerate(zip(types, given, strict=True)):
            key = _identity(argument, type)
            place = len(picked) if key is None else known.setdefault(key, len(picked))
            if place == len(picked):
                picked.append((number, parameter))
            found.append(place)
        places.append(tuple(found))
    programs = tuple(program for program, _ in launches)
    return _program(programs, tuple(places), shares), tuple(picked)


def _identity(argument: Any, type: Type) -> Any:
    """What is equal for arguments that are the same; None for those that may differ next time."""
    if isinstance(argument, Array):
        return type, argument._address, argument.shape
    if isinstance(argument, RunOfObjects):
        return type, argument._run.place, argument._run.slot, len(argument)
    return (type, argument._reference) if isinstance(argument, Object) else None


@lru_cache(maxsize=_PROGRAMS_KEPT)
def _program(programs: tuple[Program, ...], places: Places, shares: tuple[Share, ...]) -> Program:
    sources = [program.source for program in programs]
    signature = _signature(sources, places)
    name = (" | " if shares else " + ").join(source.name for source in sources)
    return Program(
        Source(
            name,
            signature,
            lambda: _translated(name, sources, signature, places, shares),
            _not_in_cpython,
            uses_barrier=False,
        )
    )


def _not_in_cpython(*given: Any) -> None:
    raise AssertionError("CPython runs launches one by one")


def _signature(sources: Sequence[Source], places: Places) -> Signature:
    names: dict[int, str] = {}
    types: dict[int, Type] = {}
    for source, own in zip(sources, places, strict=True):
        signature = source.signature
        for name, type, place in zip(signature.names, signature.types, own, strict=True):
            if place not in names:
                taken = names.values()
                names[place] = name if name not in taken else f"{name}_{place}"
                types[place] = type
    order = sorted(names)
    return Signature(tuple(names[p] for p in order), tuple(types[p] for p in order), VOID)


class _Together(Translation):
    """Of a program whose functions ask for their threads; only the kernel is told, and tells
    them."""

    shares: tuple[Share, ...] = ()

    @cached_property
    def ir(self) -> ir.Program:
        found: ir.Program = Translation.ir.func(self)  # type: ignore[attr-defined]
        if self.shares:
            share_threads(found, self.shares)
        else:
            tell_threads(found)
        return found


def _translated(
    name: str,
    sources: Sequence[Source],
    signature: Signature,
    places: Places,
    shares: tuple[Share, ...],
) -> Translation:
    builder = ProgramBuilder()
    code = sources[0].function.__code__
    line = code.co_firstlineno
    location = tree.Location(code.co_filename, line, 0, line, 0, name)
    variables = [tree.Variable(n, t) for n, t in zip(signature.names, signature.types, strict=True)]
    body: list[tree.Statement] = []
    for number, (source, own) in enumerate(zip(sources, places, strict=True)):
        # Each has a function of its own, which is sure to become part of the kernel.
        symbol = f"part.{number}.{source.name}"
        assert source.add_to is not None
        source.add_to(builder, symbol)
        given: list[tree.Expression] = [
            tree.Local(variables[place].type, location, variables[place]) for place in own
        ]
        call = tree.DirectCall(VOID, location, symbol, given)
        body.append(tree.Evaluate(location, call))
    symbol = kernel_symbol(name)
    kernel = tree.Function(symbol, name, "kernel", variables, VOID, body, location)
    made = _Together(builder.complete(kernel), list(dict.fromkeys(builder.dependencies)))
    made.shares = shares
    return made
