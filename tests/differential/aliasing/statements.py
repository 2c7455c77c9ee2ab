"""Random statements about memory: stores of all kinds, branches, loops over ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..signatures import Named
from .expressions import Expressions, wide
from .scope import INTS, VALUES, WIDE, Lines, Scope


def indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


@dataclass
class Statements(Expressions):
    """``own`` is that of ``Program``; ``made`` counts loops, for the names of their variables."""

    own: dict[str, tuple[Named, ...]] = field(init=False)
    made: int = 0

    def _body(self, scope: Scope, count: int) -> Lines:
        lines = [f"{name.text} = {name.type}({self.random.randrange(4)})" for name in scope.locals]
        lines += [f"{name} = {self.random.choice(scope.references)}" for name in scope.chosen]
        return lines + self._statements(scope, count)

    def _statements(self, scope: Scope, count: int) -> Lines:
        lines: Lines = []
        for _ in range(count):
            lines += self._statement(scope)
        return lines

    def _statement(self, scope: Scope) -> Lines:
        kinds: list[tuple[int, Callable[[Scope], Lines]]] = [
            (1, self._rename), (4, self._assign), (3, self._choose), (8, self._store),
            (2, self._element), (4, self._inline), (2, self._link), (1, self._atomic),
            (1, self._narrowed),
        ]  # fmt: skip
        if "stored references" in self.features:
            kinds.append((3, self._store_reference))
        if "stored arrays" in self.features:
            kinds.append((1, self._store_array))
        if scope.calls:
            kinds.append((1, lambda scope: [f"u0 = {self._call(scope)}"]))
        if scope.room > 0:
            kinds += [(2, self._if), (3, self._loop), (1, self._copy)]
        if scope.in_loop:
            kinds += [(3, self._reduce), (1, lambda s: [f"if {self._test(s)}:", "    continue"])]
        weights = [weight for weight, _ in kinds]
        return self.random.choices(kinds, weights)[0][1](scope)

    def _assign(self, scope: Scope) -> Lines:
        name = self.random.choice(scope.locals)
        return [f"{name.text} = {self._number(name.type, scope, 2)}"]

    def _rename(self, scope: Scope) -> Lines:
        """An array's name becomes another array's, for some threads."""
        arrays = self.random.choice((scope.nodes, scope.ints))
        whole = [array for array in arrays if "." not in array and self._is_whole(array)]
        if len(whole) < 2 or self.random.random() < 0.5:
            return self._assign(scope)
        one, other = self.random.sample(whole, 2)
        self.written |= {one, other}
        return [f"if {self._test(scope)}:", f"    {one} = {other}"]

    def _reduce(self, scope: Scope, of: Named | None = None) -> Lines:
        name = self.random.choice(scope.locals)
        value = f"{name.type}({of.text})" if of else self._number(name.type, scope, 1)
        if self.random.random() < 0.3:
            return [f"{name.text} = {self.random.choice(('min', 'max'))}({name.text}, {value})"]
        return [f"{name.text} {self.random.choice(('+', '+', '^', '|', '&'))}= {value}"]

    def _choose(self, scope: Scope) -> Lines:
        return [f"{self.random.choice(scope.chosen)} = {self._reference(scope)}"]

    def _store(self, scope: Scope) -> Lines:
        if self.random.random() < 0.2:
            owner = self._reach("v", scope, write=True)
            return self._assign(scope) if owner is None else [f"{owner}.v = {self._struct(scope)}"]
        name = self._place(scope, write=True)
        if name is None:
            return self._assign(scope)
        if self.random.random() < 0.3:
            return [f"{name.text} {self.random.choice('+-*')}= {self._number(name.type, scope, 1)}"]
        return [f"{name.text} = {self._number(name.type, scope, 1)}"]

    def _struct(self, scope: Scope) -> str:
        roll = self.random.random()
        field = "v" if roll < 0.4 or "values in inline arrays" not in self.features else "iv"
        owner = self._reach(field, scope, write=False) if roll < 0.6 else None
        if owner is not None:
            return f"{owner}.{field}" + (
                "" if field == "v" else f"[{self.random.randrange(VALUES)}]"
            )
        return f"V({', '.join(self._leaf(type, scope) for type in self.value)})"

    def _element(self, scope: Scope) -> Lines:
        place = self._int_element(scope, write=True)
        symbol = self.random.choice(("=", "=", "+=", "^="))
        if place is None:
            return self._assign(scope)
        return [f"{place} {symbol} {self._number('i32', scope, 1)}"]

    def _inline(self, scope: Scope) -> Lines:
        with_values = "values in inline arrays" in self.features
        field = "iv" if with_values and self.random.random() < 0.6 else "il"
        owner = self._reach(field, scope, write=True)
        if owner is None:
            return self._store(scope)
        place = self._inline_place(scope, VALUES if field == "iv" else INTS)
        if field == "il":
            return [f"{owner}.il[{place}] = {self._number(self.inline, scope, 1)}"]
        lines = [f"{owner}.iv[{place}] = {self._struct(scope)}"]
        if self.random.random() < 0.8:  # what was stored is read by another name
            again = self._inline_place(scope, VALUES, variable=0.8)
            owner = self._reach("iv", scope, write=False)
            name = self._place(scope, write=True)
            if name is not None:
                read = f"{owner}.iv[{again}].{self.random.choice('pq')}"
                lines.append(f"{name.text} = {name.type}({read})")
        return lines

    def _inline_place(self, scope: Scope, length: int, variable: float = 0.5) -> str:
        if self.random.random() > variable:
            return str(self.random.choice((0, 1, 2, -1)))
        known = [wide(n) for n in (*scope.numbers, *scope.locals) if n.type in WIDE]
        return f"int({self.random.choice(known)}) % {length}" if known else "1"

    def _link(self, scope: Scope) -> Lines:
        field = self.random.choice(("opt", "nxt", "nxt", "ir", "ir"))
        owner = self._reach(field, scope, write=True)
        if owner is None:
            return self._choose(scope)
        value = self._reference(scope)
        if field == "opt" and self.random.random() < 0.3:
            value = "None"
        place = f"[{self.random.choice((0, 1, -1))}]" if field == "ir" else ""
        return [f"{owner}.{field}{place} = {value}"]

    def _node_element(self, scope: Scope) -> tuple[str, str] | None:
        """An array and an index of an element that a thread may store to."""
        array = self.random.choice(scope.nodes)
        if "." in array and self.rules.reach("nodes", scope, write=False) not in ("", scope.own):
            return None
        index = self._element_index(array, array, scope, write=True)
        if index is None:
            return None
        self.written.add(array)
        return array, index

    def _store_reference(self, scope: Scope) -> Lines:
        element = self._node_element(scope)
        if element is None:
            return self._link(scope)
        array, index = element
        place = f"{array}[{index}]"
        roll = self.random.random()
        if "exchanges" in self.features and roll < 0.3:
            old = f"{self._reference(scope)}, " if roll < 0.1 else ""
            how = "cas" if old else "exch"
            value = self._reference(scope)
            return [f"{scope.chosen[0]} = oa.atomic_{how}({array}, {index}, {old}{value})"]
        second = self._node_element(scope) if roll < 0.5 else None
        if second is not None:
            other = f"{second[0]}[{second[1]}]"
            return [f"{place}, {other} = {other}, {place}"]
        return [f"{place} = {self._reference(scope)}"]

    def _store_array(self, scope: Scope) -> Lines:
        field = self.random.choice(("nums", "nodes", "nodes"))
        owner = self._reach(field, scope, write=True)
        if owner is None:
            return self._link(scope)
        array = self.random.choice(scope.ints if field == "nums" else scope.nodes)
        self.written.add(array)
        return [f"{owner}.{field} = {array}"]

    def _atomic(self, scope: Scope) -> Lines:
        operator = self.random.choice(("add", "add", "sub", "min", "max", "exch"))
        fields = [name for name in self.fields if name.type in WIDE]
        name = self.random.choice(fields) if fields and self.random.random() < 0.6 else None
        rule = self.rules.of("x" if name is None else name.text)
        if rule == "atomic":  # many threads at once
            operator = self.rules.operator
            target = self._reference(scope)
            place = f"x, {self._index('x', scope)}" if name is None else f'{target}, "{name.text}"'
            type = "i32" if name is None else name.type
            if name is None and "x" not in scope.ints:
                return self._assign(scope)
            return [f"oa.atomic_{operator}({place}, {self._number(type, scope, 1)})"]
        if name is not None:
            owner = self._reach(name.text, scope, write=True)
            if owner is None:
                return self._assign(scope)
            place, type = f'{owner}, "{name.text}"', name.type
        else:
            element = self._int_element(scope, write=True)
            if element is None:
                return self._assign(scope)
            place, type = element.replace("[", ", ", 1)[:-1], "i32"
        call = f"oa.atomic_{operator}({place}, {self._number(type, scope, 1)})"
        same = [name.text for name in scope.locals if name.type == type]
        if same and self.random.random() < 0.3:
            return [f"{self.random.choice(same)} = {call}"]
        return [call]

    def _narrowed(self, scope: Scope) -> Lines:
        """A field that a subclass adds."""
        if scope.own == "self":
            return self._choose(scope)
        cls = self.random.choice(("C0", "C1", "C2"))
        own = self.random.choice(self.own[cls])
        name = scope.chosen[0]
        owner = self._reach("own", scope, write=True)
        if owner is None:
            return self._choose(scope)
        value = self._number(own.type, scope, 1)
        lines = [f"if isinstance({name}, {cls}):", f"    {name}.{own.text} = {value}"]
        return [f"{name} = {owner}", *lines]

    def _if(self, scope: Scope) -> Lines:
        inner = scope.deeper()
        if "branches around loops" not in self.features:
            inner = replace(inner, room=0)
        lines = [
            f"if {self._test(scope)}:",
            *indent(self._statements(inner, self.random.randint(1, 3))),
        ]
        if self.random.random() < 0.4:
            lines += ["else:", *indent(self._statements(inner, self.random.randint(1, 2)))]
        return lines

    def _loop(self, scope: Scope, *, shared: bool = False) -> Lines:
        """A loop over a range that differs by thread, what it leaves behind, and what comes of
        it: variables that were read and assigned before, in it, and after."""
        self.made += 1
        counter, own = f"j{self.made}", Named(f"h{self.made}", "i32")
        reference = self._reference(scope)
        bounds = f"{reference}.b, {reference}.e"
        roll = self.random.random()
        if shared:  # long for some threads of a warp, and nothing but sums
            bounds, roll = "o.b, o.e", 0.5
        element = self._int_element(scope) if roll < 0.2 else None
        if element is not None:
            bounds = f"{self.random.choice(('0', f'{reference}.b'))}, {element} % 9"
        inner = replace(
            scope.deeper(),
            places=(counter, counter, *scope.places),
            calls=(),
            in_loop=True,
            locals=(*scope.locals, own),
        )
        after = self._assign(scope) if self.random.random() < 0.5 else []
        array = self._whole(scope.ints)
        first = [f"i32({counter}) * 3", "i32(7)"] + [f"{array}[{counter}]"] * (3 if array else 0)
        first = self.random.choice(first)
        marked = [name for name in self.fields if self.rules.of(name.text) in ("", "mark")]
        nodes = self._whole(scope.nodes)
        if roll > 0.7 and marked and nodes:  # marks objects in a range, in any order
            name = self.random.choice(marked)
            body = [f"{nodes}[{counter} % len({nodes})].{name.text} = {name.type}(4)"]
            if self.random.random() < 0.4:
                body.insert(0, f"if {self._test(scope)}:")
                body[1] = f"    {body[1]}"
        else:
            body = [f"{own.text} = {first}"]
            if (
                shared or self.random.random() < 0.6
            ):  # sums and locals alone, so that it can be shared
                left = self.random.choice(scope.locals)
                if self.random.random() < 0.5:
                    body.append(f"{left.text} = {self._number(left.type, inner, 1)}")
                    after = [f"{left.text} = {self._number(left.type, scope, 1)}"]
                else:
                    left = Named("", "")
                sums = [name for name in scope.locals if name.text != left.text]
                if sums:
                    body += self._reduce(replace(inner, locals=tuple(sums), numbers=()), own)
            else:
                body += self._statements(
                    replace(inner, room=min(inner.room, 0)), self.random.randint(1, 3)
                )
        loop = [f"for {counter} in range({bounds}):", *indent(body)]
        if "branches around loops" in self.features and self.random.random() < 0.5:
            before = self._assign(scope) if self.random.random() < 0.4 else []
            lines = [f"if {self._test(scope)}:", *indent([*before, *loop, *after])]
            if self.random.random() < 0.3:
                lines += ["else:", *indent(self._assign(scope))]
            return lines
        return [*loop, *after]

    def _copy(self, scope: Scope) -> Lines:
        """Element by element, in a loop that is written out."""
        self.made += 1
        with_values = "values in inline arrays" in self.features
        field = "iv" if with_values and self.random.random() < 0.5 else "il"
        name, one = f"k{self.made}", self._reach(field, scope, write=True)
        other = self._reach(field, scope, write=False)
        if one is None or other is None:
            return self._assign(scope)
        length = VALUES if field == "iv" else INTS
        read = self.random.choice((name, name, f"-1 - {name}", f"({name} + 1) % {length}"))
        return [
            f"for {name} in range({length}):",
            f"    {one}.{field}[{name}] = {other}.{field}[{read}]",
        ]
