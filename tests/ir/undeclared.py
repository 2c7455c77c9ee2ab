"""Operations of kinds that nobody declared, put anywhere into programs.

What ``frobnicate`` does, no declared kind could: it looks at all memory of its thread, and at its
operands, notes them, and changes some of it; what it changes depends on what it was given. Its
results are numbers or places in memory. ``around`` runs its region as often as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from sharedoa.ir.core import Function, LvalueType, Operation, Program, Region, Value, defined_in
from sharedoa.ir.operations import kind_of
from sharedoa.ir.rewrite import make, replace_uses, uses_in
from sharedoa.model.scalars import i32

from .interpreter import Lvalue, Machine, Thing, Thread, load, store
from .kernels import OBJECTS, THREADS, make_world

_PLACE = LvalueType(i32)


class Inserting:
    """Puts undeclared operations into a program; ``count`` of them."""

    def __init__(self, program: Program, seed: int, count: int) -> None:
        self._random = Random(seed)
        for _ in range(count):
            function = self._random.choice([*program.functions.values()])
            self._into(function)

    def _into(self, function: Function) -> None:
        places = list(_places(function.body, ()))
        region, at, visible = self._random.choice(places)
        if self._random.random() < 0.15:
            self._wrap(function, region, at)
        else:
            self._insert(region, at, visible)

    def _insert(self, region: Region, at: int, visible: Sequence[Value]) -> None:
        """What is inserted uses what is visible there, and operations that follow use it."""
        random = self._random
        given = random.sample(visible, min(len(visible), random.randint(0, 3)))
        types: list[Any] = random.choice(([], [i32], [_PLACE]))
        location = region.operations[at].location
        made = make("frobnicate", given, location, types, number=random.randrange(100))
        new = [made]
        if types == [i32]:
            self._use(region.operations[at:], made.result)
        elif types:
            read = make("load", [made.result], location, [i32])
            write = make("store", [read.result, made.result], location)
            new += [read, *[write] * random.randint(0, 1)]
            self._use(region.operations[at:], read.result)
        region.operations[at:at] = new

    def _use(self, following: list[Operation], value: Value) -> None:
        """One of the operations takes the value instead of another number."""
        uses = [
            (operation, number)
            for operation in following
            for number, operand in enumerate(operation.operands)
            if operand.type == i32 and kind_of(operation) is not None
        ]
        if uses:
            operation, number = self._random.choice(uses)
            operation.operands[number] = value

    def _wrap(self, function: Function, region: Region, at: int) -> None:
        """Some operations become the region of one whose results are what they make."""
        stop = at + self._random.randint(0, 4)
        inside, rest = region.operations[at:stop], region.operations[stop:]
        if not rest:
            inside, rest = inside[:-1], inside[-1:]
        own = Region([Value(i32) for _ in range(self._random.randint(0, 2))], inside)
        used, made = uses_in(Region([], rest)), defined_in(Region([], inside))
        needed = [value for value in used if value in made]
        if any(isinstance(value.type, LvalueType) for value in needed):
            return  # no region passes those on
        for argument in own.arguments:
            self._use(inside, argument)
        needed += [v for each in inside for v in each.results if v.type == i32 and v not in used]
        location = rest[0].location
        own.operations = [*inside, make("yield", needed, location)]
        types = [value.type for value in needed]
        around = make("around", [], location, types, [own], times=self._random.randint(1, 2))
        behind = Region([], rest)
        replace_uses(behind, dict(zip(needed, around.results, strict=True)))
        region.operations = [*region.operations[:at], around, *behind.operations]


def _places(region: Region, visible: tuple[Value, ...]) -> Any:
    """Where operations may be put: before which one of which region, and what is visible there."""
    visible = (*visible, *region.arguments)
    for at, operation in enumerate(region.operations):
        yield region, at, visible
        for inner in operation.regions:
            yield from _places(inner, visible)
        visible = (*visible, *operation.results)


class World:
    """A kernel's arguments, and what undeclared operations do to them."""

    def __init__(self, seed: int) -> None:
        self.cells, self.numbers, self.out, self.c = make_world(seed)

    def run(self, program: Program, order: int) -> Any:
        """What a run leaves in memory, and what operations saw on the way."""
        undeclared = {"frobnicate": self._frobnicate, "around": self._around}
        machine = Machine(program, order, undeclared)
        seen = machine.run((self.cells, self.numbers, self.out, self.c), THREADS)
        return [self._fields(cell) for cell in self.cells], self.out, seen

    def _frobnicate(
        self, operation: Operation, given: Sequence[Any], thread: Thread
    ) -> Sequence[Any]:
        first, number = thread.number * OBJECTS, operation["number"]
        own = self.cells[first : first + OBJECTS]
        out = self.out[thread.number * 3 : thread.number * 3 + 3]
        seen = [self._seen(value) for value in given]
        thread.reported.append((number, seen, [*map(self._fields, own)], [*out]))
        places = [Lvalue(cell, name) for cell in own for name in ("f", "g")]
        places += [Lvalue(cell, "items", (k,)) for cell in own for k in range(4)]
        places += [Lvalue(cell, "pair", ("left",)) for cell in own]
        chosen = places[number % len(places)]
        numbers = [value for value in given if isinstance(value, int)]
        store(chosen, (load(chosen) + sum(numbers, number)) % 5)
        if not operation.results:
            return ()
        is_place = isinstance(operation.result.type, LvalueType)
        return [places[number * 7 % len(places)] if is_place else number % 4]

    def _around(self, operation: Operation, given: Sequence[Any], thread: Thread) -> Sequence[Any]:
        arguments = [thread.number + 2] * len(operation.regions[0].arguments)
        return [arguments] * operation["times"]

    def _seen(self, value: Any) -> Any:
        if isinstance(value, Lvalue):
            return self._seen(value.holder), value.key, value.path, self._seen(load(value))
        if isinstance(value, Thing):
            return "cell", self.cells.index(value)
        return "array" if isinstance(value, list) else value

    def _fields(self, cell: Thing) -> dict[str, Any]:
        return {name: self._seen(value) for name, value in cell.fields.items()}
