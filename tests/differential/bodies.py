"""Random bodies of methods and functions, as lines of source text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .expressions import Expressions, Scope
from .signatures import FLOATS, INTEGERS, SCALARS, Class, Named, Routine

Lines = list[str]

_INTEGER_UPDATES = ("+=", "-=", "*=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_FLOAT_UPDATES = ("+=", "-=", "*=", "/=", "//=", "%=")


def indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


@dataclass
class Access:
    """What a method's body may do with its object. ``writable`` are fields that it may assign,
    ``inline_arrays`` and ``inline_tables`` (of two indices) those whose elements it may.
    ``narrowable`` are references, each with the
    classes that isinstance may find. ``root_fields`` every object in sight has, and ``inquiries``
    are methods that may be called on all of them."""

    writes: bool = False
    writable: list[Named] = field(default_factory=list)
    inline_arrays: list[Named] = field(default_factory=list)
    inline_tables: list[tuple[Named, tuple[int, int]]] = field(default_factory=list)
    narrowable: dict[str, list[Class]] = field(default_factory=dict)
    root_fields: list[Named] = field(default_factory=list)
    inquiries: list[Routine] = field(default_factory=list)


class Body:
    """Makes the statements of one body, with what it may do to ``self`` as ``access`` says."""

    def __init__(
        self,
        expressions: Expressions,
        result: str,
        access: Access,
        pairs: list[Routine],
        stirrers: list[Routine],
    ) -> None:
        """``pairs`` have two results; ``stirrers`` are given a list first, of what they give."""
        self.random, self.expressions = expressions.random, expressions
        self.result, self.access = result, access
        self.pairs, self.stirrers = pairs, stirrers
        self.types = [*SCALARS, *expressions.structs]
        self._locals = 0

    def lines(self, scope: Scope, statements: int, depth: int, calls: int) -> Lines:
        """A body of about ``statements`` statements that returns ``result`` on every path."""
        self.expressions.calls_left = calls
        made, scope = self.block(scope, statements, depth, in_loop=False)
        return [*made, f"return {self.expressions.storable_in(self.result, scope, depth)}"]

    def block(
        self, scope: Scope, statements: int, depth: int, *, in_loop: bool
    ) -> tuple[Lines, Scope]:
        """Statements one after another, and the scope after them."""
        lines: Lines = []
        while statements > 0:
            simple = statements < 3 or self.random.random() < 0.6
            choices = self._simple(in_loop) if simple else self._compound()
            used, made, scope = self.random.choice(choices)(scope, statements, depth)
            lines += made
            statements -= used
        return lines, scope

    def _simple(self, in_loop: bool) -> list[Callable[..., tuple[int, Lines, Scope]]]:
        choices = [self._new_local, self._new_local, self._assign_local, self._update_local]
        choices += [self._swap, self._fill_list, self._list_of_items]
        if self.access.writable:
            choices += [self._assign_field, self._update_field]
        if self.access.inline_arrays:
            choices += [self._assign_element]
        if self.access.inline_tables:
            choices += [self._assign_in_table]
        if self.access.writes:
            choices += [self._repoint]
        if self.pairs:
            choices += [self._unpack]
        choices += [self._leave_loop if in_loop else self._leave]
        return choices

    def _compound(self) -> list[Callable[..., tuple[int, Lines, Scope]]]:
        choices = [self._if, self._if, self._for, self._while, self._for_each, self._match]
        choices += [self._if_named]
        if self.access.narrowable:
            choices += [self._narrow, self._walk_peers, self._walk_children]
        return choices

    def _name(self, prefix: str) -> str:
        self._locals += 1
        return f"{prefix}{self._locals}"

    def _some_local(self, scope: Scope, types: tuple[str, ...] | None = None) -> Named | None:
        found = [n for n in scope.readable if n.text.isidentifier() and n.text != "depth"]
        found = [n for n in found if n.type in (types or self.types)]
        return self.random.choice(found) if found else None

    # ------------------------------------------------------ simple statements

    def _new_local(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        name = Named(self._name("v"), self.random.choice(self.types))
        value = self.expressions.make(name.type, scope, depth)
        declared = f": {name.type}" if self.random.random() < 0.2 else ""
        return 1, [f"{name.text}{declared} = {value}"], scope.with_names(name)

    def _assign_local(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        name = self._some_local(scope)
        if name is None:
            return self._new_local(scope, room, depth)
        return 1, [f"{name.text} = {self.expressions.make(name.type, scope, depth)}"], scope

    def _update_local(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        name = self._some_local(scope, INTEGERS + FLOATS)
        if name is None:
            return self._new_local(scope, room, depth)
        return 1, [self._update(name, scope, depth)], scope

    def _update(self, place: Named, scope: Scope, depth: int) -> str:
        """``place op= operand``, where the operand is of the place's type or a small literal."""
        symbols = _FLOAT_UPDATES if place.type in FLOATS else _INTEGER_UPDATES
        symbol = self.random.choice(symbols)
        literal = self.expressions.safe and symbol in ("//=", "%=")
        if literal or self.random.random() < 0.2:
            return f"{place.text} {symbol} {self.random.randint(1, 9)}"
        return f"{place.text} {symbol} {self.expressions.make(place.type, scope, depth)}"

    def _swap(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        first = self._some_local(scope)
        if first is None:
            return self._new_local(scope, room, depth)
        second = self._some_local(scope, (first.type,)) or first
        value = self.expressions.make(first.type, scope, depth - 1)
        line = self.random.choice(
            (
                f"{first.text}, {second.text} = {second.text}, {value}",
                f"{first.text} = {second.text} = {value}",
            )
        )
        return 1, [line], scope

    def _assign_field(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        name = self.random.choice(self.access.writable)
        return 1, [f"{name.text} = {self.expressions.storable_in(name.type, scope, depth)}"], scope

    def _update_field(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        fields = [name for name in self.access.writable if name.type in INTEGERS + FLOATS]
        if not fields:
            return self._assign_field(scope, room, depth)
        return 1, [self._update(self.random.choice(fields), scope, depth)], scope

    def _assign_element(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        array = self.random.choice(self.access.inline_arrays)
        place = f"{array.text}[{self.expressions.index(f'len({array.text})', scope)}]"
        if array.type in INTEGERS + FLOATS and self.random.random() < 0.5:
            return 1, [self._update(Named(place, array.type), scope, depth)], scope
        return 1, [f"{place} = {self.expressions.storable_in(array.type, scope, depth)}"], scope

    def _assign_in_table(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        table, lengths = self.random.choice(self.access.inline_tables)
        indices = [self.expressions.index(str(length), scope) for length in lengths]
        place = f"{table.text}[{', '.join(indices)}]"
        if table.type in INTEGERS + FLOATS and self.random.random() < 0.5:
            return 1, [self._update(Named(place, table.type), scope, depth)], scope
        return 1, [f"{place} = {self.expressions.storable_in(table.type, scope, depth)}"], scope

    def _list_of_items(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        """A list that is made item by item, perhaps of vectors, and what all are together."""
        type = self.random.choice([*INTEGERS, *FLOATS, *self.expressions.structs])
        items, name, read = self._name("l"), self._name("k"), Named(self._name("v"), type)
        each = self._without_calls_in(type, scope.with_counter(name), depth - 1)
        length = self.random.randint(1, 4)
        lines = [f"{items} = [{each} for {name} in range({length})]"]
        place, other = (self.expressions.index(str(length), scope) for _ in range(2))
        if type in INTEGERS + FLOATS and self.random.random() < 0.5:
            lines.append(self._update(Named(f"{items}[{place}]", type), scope, depth - 1))
        found = f"{items}[{other}]"
        if type in INTEGERS + FLOATS:
            found = self.random.choice((found, f"sum({items}, {type}(0))", f"max({items})"))
        return 1, [*lines, f"{read.text} = {found}"], scope.with_names(read)

    def _without_calls_in(self, type: str, scope: Scope, depth: int) -> str:
        left, self.expressions.calls_left = self.expressions.calls_left, 0
        made = self.expressions.make(type, scope, depth)
        self.expressions.calls_left = left
        return made

    def _fill_list(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        """A list of this thread's own, also by another name, and what is in it afterwards."""
        type = self.random.choice((*INTEGERS, *FLOATS, "bool"))
        items, read = self._name("l"), Named(self._name("v"), type)
        values = [self.expressions.make(read.type, scope, 1) for _ in range(2)]
        length = self.random.randint(1, 5)
        made = self.random.choice((f"[{values[0]}] * {length}", f"[{', '.join(values)}]"))
        place, other = (self.expressions.index(f"len({items})", scope) for _ in range(2))
        lines = [f"{items} = {made}", f"{items}b = {items}"]
        lines += [f"{items}b[{place}] = {self.expressions.make(read.type, scope, depth - 1)}"]
        stirring = [each for each in self.stirrers if each.result == type]
        if stirring:
            called = self.random.choice(stirring)
            given = self.expressions.make(called.parameters[0].type, scope, depth - 1)
            lines.append(f"{items}[0] = {called.name}({items}b, {given})")
        return 1, [*lines, f"{read.text} = {items}[{other}]"], scope.with_names(read)

    def _repoint(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        test = self.expressions.condition(scope, depth - 1)
        return 1, [f"if {test}:", "    self.peer = self.peer.peer"], scope

    def _unpack(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        called = self.random.choice(self.pairs)
        types = called.result.removeprefix("tuple[").removesuffix("]").split(", ")
        names = [Named(self._name("t"), type) for type in types]
        value = self.expressions.call("", called, scope, depth - 1)
        line = f"{', '.join(n.text for n in names)} = {value}"
        return 1, [line], scope.with_names(*names)

    def _leave(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        test = self.expressions.condition(scope, depth)
        value = self.expressions.storable_in(self.result, scope, depth - 1)
        return 1, [f"if {test}:", f"    return {value}"], scope

    def _leave_loop(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        how = self.random.choice(("break", "continue", None))
        if how is None:
            return self._leave(scope, room, depth)
        return 1, [f"if {self.expressions.condition(scope, depth)}:", f"    {how}"], scope

    # ---------------------------------------------------- compound statements

    def _if(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        half = max(1, room // 2)
        lines = [f"if {self.expressions.condition(scope, depth)}:"]
        lines += indent(self.block(scope, half, depth - 1, in_loop=False)[0])
        if self.random.random() < 0.3:
            lines.append(f"elif {self.expressions.condition(scope, depth)}:")
            lines += indent(self.block(scope, 1, depth - 1, in_loop=False)[0])
        if self.random.random() < 0.5:
            lines.append("else:")
            lines += indent(self.block(scope, half, depth - 1, in_loop=False)[0])
        return room, lines, scope

    def _else(self, scope: Scope, depth: int) -> Lines:
        if self.random.random() < 0.7:
            return []
        return ["else:", *indent(self.block(scope, 1, depth - 1, in_loop=False)[0])]

    def _for(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        name = self._name("k")
        narrow = self.expressions.make("i16", scope, depth - 1)
        bounds = self.random.choice(("3", "1, 4", "4, 0, -1", "0, 7, 3", f"int({narrow}) % 4"))
        lines = [f"for {name} in range({bounds}):"]
        inner = self._without_calls(scope.with_counter(name), room - 1, depth - 1)
        lines += indent(inner) + self._else(scope, depth)
        if self.random.random() < 0.3:  # the counter keeps its last value, or the one before
            return room, [f"{name} = 9", *lines], scope.with_counter(name)
        return room, lines, scope

    def _while(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        name = self._name("w")
        test = f"{name} < {self.random.randint(1, 4)}"
        if self.random.random() < 0.4:
            test += f" and {self.expressions.condition(scope, depth - 1)}"
        inside = scope.with_counter(name)
        lines = [f"{name} = 0", f"while {test}:", f"    {name} += 1"]
        lines += indent(self._without_calls(inside, room - 1, depth - 1))
        return room, lines + self._else(inside, depth), inside

    def _for_each(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        """A loop over items, perhaps with their numbers or side by side with others."""
        name, item = self._name("e"), self.expressions.items(scope, depth)
        if self.access.inline_arrays and self.random.random() < 0.5:
            array = self.random.choice(self.access.inline_arrays)
            item = array.type, array.text
        type, items = item
        inside = scope.with_names(Named(name, type))
        lines = [f"for {name} in {items}:"]
        if self.random.random() < 0.3:
            counter = self._name("k")
            inside = inside.with_counter(counter)
            lines = [f"for {counter}, {name} in enumerate({items}, {self.random.randint(0, 3)}):"]
        elif self.random.random() < 0.4:
            other = self._name("e")
            second, more = "i32", scope.array
            if not scope.array or self.random.random() < 0.7:
                second, more = self.expressions.items(scope, depth)
            inside = inside.with_names(Named(other, second))
            lines = [f"for {name}, {other} in zip({items}, {more}):"]
        lines += indent(self._without_calls(inside, room - 1, depth - 1)) + self._else(scope, depth)
        return room, lines, scope

    def _if_named(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        """A condition that keeps what it looks at."""
        name = Named(self._name("n"), self.random.choice(SCALARS))
        known, rest = scope.with_names(name), max(1, room - 1)
        test = f"({name.text} := {self.expressions.make(name.type, scope, depth)})"
        test += f" {self.random.choice(('<', '!='))} {self.expressions.make(name.type, scope, 0)}"
        if self.random.random() < 0.5:
            test += f" {self.random.choice(('and', 'or'))} {self.expressions.condition(known, 1)}"
        lines = [f"if {test}:", *indent(self.block(known, rest, depth - 1, in_loop=False)[0])]
        if self.random.random() < 0.3:
            test = f"{self.expressions.condition(scope, depth - 1)} and ({test})"
            lines[0] = f"if {test}:"
            return room, lines, scope
        return room, lines, known

    def _match(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        """Cases of a number; the last one may name it."""
        type = self.random.choice(INTEGERS)
        lines = [f"match {self.expressions.make(type, scope, depth)}:"]
        for _ in range(self.random.randint(1, 3)):
            numbers = self.random.sample(range(9), self.random.randint(1, 3))
            guard = f" if {self.expressions.condition(scope, 1)}" * (self.random.random() < 0.3)
            lines.append(f"    case {' | '.join(map(str, numbers))}{guard}:")
            lines += indent(indent(self.block(scope, 1, depth - 1, in_loop=False)[0]))
        name = Named(self._name("m"), type)
        inside = scope.with_names(name)
        lines.append(f"    case {name.text}:")
        lines += indent(indent(self.block(inside, 1, depth - 1, in_loop=False)[0]))
        return room, lines, scope

    def _without_calls(self, scope: Scope, statements: int, depth: int) -> Lines:
        """The body of a loop: at most one call, or the work would grow with every level."""
        left = self.expressions.calls_left
        self.expressions.calls_left = min(left, 1)
        lines, _ = self.block(scope, statements, depth, in_loop=True)
        self.expressions.calls_left = max(0, left - 1)
        return lines

    def _walk_peers(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        """A local reference that moves along, and virtual calls on where it arrives."""
        name, counter = self._name("q"), self._name("k")
        stop = self.expressions.condition(scope, depth - 1)
        lines = [f"{name} = self.peer", f"for {counter} in range({self.random.randint(0, 3)}):"]
        lines += [f"    {name} = {name}.peer", f"    if {stop}:", "        break"]
        seen = [Named(f"{name}.{f.text}", f.type) for f in self.access.root_fields]
        calls = [(f"{name}.", called) for called in self.access.inquiries]
        after = scope.with_names(*seen)
        return room, lines, replace(after, calls=[*scope.calls, *calls])

    def _walk_children(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        """The chain of objects that belong to this thread, to its end."""
        name = self._name("c")
        fields = [Named(f"{name}.{f.text}", f.type) for f in self.access.root_fields]
        inside = scope.with_names(*fields)
        lines = [f"{name} = self.child", f"while {name} is not None:"]
        numbers = [f for f in fields if f.type in INTEGERS + FLOATS and not f.text.endswith(".id")]
        if self.access.writes and numbers:
            update = self._update(self.random.choice(numbers), inside, depth - 1)
            lines.append(f"    {update}")
        test = self.expressions.condition(inside, depth - 1)
        lines += [f"    if {test}:", "        break", f"    {name} = {name}.child"]
        return room, lines, scope

    def _narrow(self, scope: Scope, room: int, depth: int) -> tuple[int, Lines, Scope]:
        """A local that ``isinstance`` shows to be of a subclass, whose own fields are read."""
        reference = self.random.choice(list(self.access.narrowable))
        cls = self.random.choice(self.access.narrowable[reference])
        name = self._name("p")
        fields = [Named(f"{name}.{f.text}", f.type) for f in cls.all_fields if f.type in self.types]
        inside = replace(scope, readable=[*scope.readable, *fields, *fields])
        lines = [f"{name} = {reference}", f"if isinstance({name}, {cls.name}):"]
        lines += indent(self.block(inside, room - 1, depth - 1, in_loop=False)[0])
        return room, lines + self._else(scope, depth), scope
