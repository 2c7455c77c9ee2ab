"""Random kernels whose threads share memory of their block.

Each thread writes its own slot of a tile, waits for the others, reads a slot of another one, and
waits again before anything is written: so the order of threads does not matter. What is read goes
into locals, which what comes later may name. Sums of a block are made by atomics, of integers, as
their order does not matter; nobody looks at what they give back. Blocks are whole, so that some
threads of the last one have no object: either all take part, or those that have one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from .expressions import Expressions, Scope
from .signatures import FLOATS, INTEGERS, Named, Routine

Lines = list[str]

#: Of blocks; the last ones have several warps.
SIZES = (2, 8, 32, 64, 64, 96)
BARRIER = "oa.syncthreads()"
_SUMS = ("i32", "i64", "u32", "u64")
#: Slots that threads of a block read, of the first so many: the thread's own is ``t``.
_PLACES = (
    "(t + {k}) % {many}",
    "({many} - 1 - t)",
    "({k} + {counter}) % {many}",
    "(t * 3 + {k}) % {many}",
)
#: How many threads of a block have an object; one where none has.
_WITH_OBJECT = "m"


@dataclass(frozen=True)
class Shared:
    """What a kernel does before its calls: its lines, what they leave to name, of which ``read`` is
    what threads heard, and the threads of a block."""

    declared: Lines
    lines: Lines
    scope: Scope
    read: list[Named]
    threads: int


class Blocks:
    """Makes what threads of a kernel tell each other. ``inquiries`` may be called on what objects
    refer to, and ``fields`` read of it."""

    def __init__(
        self,
        random: Random,
        expressions: Expressions,
        types: list[str],
        fields: list[Named],
        inquiries: list[Routine],
    ) -> None:
        self.random, self.expressions, self.types = random, expressions, types
        self._fields, self._inquiries = fields, inquiries
        self._names = 0
        self._declared: Lines = []
        self._read: list[Named] = []

    def made(self, scope: Scope) -> Shared:
        """``scope`` is that of a thread with an object."""
        size = self.random.choice(SIZES)
        lines: Lines = []
        scope = scope.with_counter("t % 11")
        choices: list[Callable[[Scope, int], tuple[Lines, Scope]]]
        choices = [self._neighbour, self._reference, self._sum, self._rounds, self._neighbour]
        for _ in range(self.random.randint(1, 3)):
            more, scope = self.random.choice(choices)(scope, size)
            lines += more
        start = [f"t = i % {size}", f"m = max(1, min({size}, len(objects) - (i - t)))"]
        return Shared([*start, *self._declared], lines, scope, self._read, size)

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _tile(self, type: str, count: int) -> str:
        name = self._name("tile")
        self._declared.append(f"{name} = oa.shared({type}, {count})")
        return name

    def _local(self, type: str) -> Named:
        """One that has a value before anything was read."""
        name = Named(self._name("s"), type)
        start = self.expressions.leaf(type, Scope())
        self._declared.append(f"{name.text} = {start}")
        self._read.append(name)
        return name

    def _place(self, many: str, counter: str = "0") -> str:
        text = self.random.choice(_PLACES)
        return text.format(k=self.random.randrange(max(SIZES)), counter=counter, many=many)

    def _who(self, size: int) -> str:
        """How many threads of a block take part."""
        return self.random.choice((_WITH_OBJECT, str(size), str(size)))

    def _those(self, many: str, lines: Lines) -> Lines:
        """What these do."""
        if many != _WITH_OBJECT:
            return lines
        return ["if i < len(objects):", *(f"    {line}" for line in lines)]

    def _own(self, scope: Scope) -> Scope:
        """Nothing is called, as what is called changes objects; that happens once."""
        return replace(scope, calls=[])

    def _written(self, tile: str, type: str, scope: Scope) -> Lines:
        value = self.expressions.storable_in(type, self._own(scope), 2)
        lines = [f"{tile}[t] = {value}"]
        if type in INTEGERS and self.random.random() < 0.3:
            lines.append(f"{tile}[t] += {self.expressions.make(type, self._own(scope), 1)}")
        if self.random.random() < 0.3:  # one arm writes, one does
            test = self.expressions.condition(self._own(scope), 1)
            other = self.expressions.storable_in(type, self._own(scope), 1)
            lines = [f"if {test}:", f"    {lines[0]}", "else:", f"    {tile}[t] = {other}"]
        return lines

    def _neighbour(self, scope: Scope, size: int) -> tuple[Lines, Scope]:
        """A value of another thread's."""
        type, many = self.random.choice(self.types), self._who(size)
        tile, read = self._tile(type, size), self._local(type)
        found = f"{tile}[{self._place(many)}]"
        if type in INTEGERS + FLOATS and self.random.random() < 0.3:
            other = f"{tile}[{many} - 1]"
            found = self.random.choice((f"max({found}, {tile}[0])", f"({found} - {other})"))
        lines = [
            *self._those(many, self._written(tile, type, scope)),
            BARRIER,
            *self._those(many, [f"{read.text} = {found}"]),
            BARRIER,
        ]
        return lines, scope.with_names(read)

    def _reference(self, scope: Scope, size: int) -> tuple[Lines, Scope]:
        """What another thread's object refers to; nobody changes that."""
        tile, name = self._tile("Root", size), self._name("q")
        called = self.random.choice(self._inquiries) if self._inquiries else None
        field = self.random.choice(self._fields)
        type = field.type if called is None else called.result
        read = self._local(type)
        value = f"{name}.{field.text}"
        if called is not None:
            value = self.expressions.call(f"{name}.", called, self._own(scope), 1)
        lines = [
            *self._those(_WITH_OBJECT, [f"{tile}[t] = objects[i].peer"]),
            BARRIER,
            *self._those(
                _WITH_OBJECT,
                [f"{name} = {tile}[{self._place(_WITH_OBJECT)}]", f"{read.text} = {value}"],
            ),
            BARRIER,
        ]
        return lines, scope.with_names(read)

    def _sum(self, scope: Scope, size: int) -> tuple[Lines, Scope]:
        """Of a block, in one of a few places."""
        type, places = self.random.choice(_SUMS), self.random.randint(1, 3)
        tile, read = self._tile(type, places), self._local(type)
        value = self.expressions.make(type, self._own(scope), 2)
        apply = self.random.choice(("add", "sub", "min", "max"))
        many = self._who(size)
        add = [f"oa.atomic_{apply}({tile}, {self._place(many)} % {places}, {value})"]
        if self.random.random() < 0.4:
            add = [f"if {self.expressions.condition(self._own(scope), 1)}:", f"    {add[0]}"]
        start = self.expressions.literal(type)
        lines = [
            "if t == 0:",
            f"    for k in range({places}):",
            f"        {tile}[k] = {start}",
            BARRIER,
            *self._those(many, add),
            BARRIER,
            *self._those(many, [f"{read.text} = {tile}[{self._place(many)} % {places}]"]),
            BARRIER,
        ]
        return lines, scope.with_names(read)

    def _rounds(self, scope: Scope, size: int) -> tuple[Lines, Scope]:
        """Values that go from thread to thread in a loop."""
        type, many = self.random.choice(INTEGERS + FLOATS), self._who(size)
        tile, read, counter = self._tile(type, size), self._local(type), self._name("r")
        inside = scope.with_names(read).with_counter(counter)
        taken = f"{tile}[{self._place(many, counter)}]"
        found = self.random.choice((taken, f"{read.text} + {taken}"))
        inner = [
            *self._those(many, self._written(tile, type, inside)),
            BARRIER,
            *self._those(many, [f"{read.text} = {found}"]),
            BARRIER,
        ]
        lines = [f"for {counter} in range({self.random.randint(1, 3)}):"]
        return [*lines, *(f"    {line}" for line in inner)], scope.with_names(read)
