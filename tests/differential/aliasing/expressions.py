"""Random expressions about memory: numbers, references, tests, calls."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace
from random import Random

from ..signatures import Named
from .scope import FLOATS, INTS, NUMBERS, VALUES, WIDE, Rules, Scope


def wide(number: Named) -> str:
    """As ``int`` takes it, which has 64 bits in kernels and any in Python."""
    return f"i64({number.text})" if number.type == "u64" else number.text


@dataclass
class Expressions:
    """``fields``, ``value``, ``inline`` and ``bindings`` are those of ``Program``; who declares the
    program sets them, and the rules. Of the arrays ``written`` more is done than reading."""

    random: Random
    features: Set[str]
    rules: Rules = field(init=False)
    fields: list[Named] = field(init=False)
    value: tuple[str, str] = field(init=False)
    inline: str = field(init=False)
    bindings: dict[str, tuple[str, ...]] = field(init=False)
    written: set[str] = field(default_factory=set)

    def _number(self, type: str, scope: Scope, depth: int) -> str:
        roll = self.random.random()
        if depth <= 0 or roll < 0.3:
            return self._leaf(type, scope)
        if roll < 0.4:
            return (
                f"({self._leaf(type, scope)} if {self._test(scope)} else {self._leaf(type, scope)})"
            )
        if roll < 0.5:
            parts = self._number(type, scope, depth - 1), self._leaf(type, scope)
            return f"{self.random.choice(('min', 'max'))}({', '.join(parts)})"
        if roll < 0.55 and scope.calls and type == "i32":
            return self._call(scope)
        symbol = self.random.choice("+-*" if type in FLOATS else "+-*&|^")
        return f"({self._number(type, scope, depth - 1)} {symbol} {self._leaf(type, scope)})"

    def _leaf(self, type: str, scope: Scope) -> str:
        roll = self.random.random()
        known = [n.text for n in (*scope.numbers, *scope.locals) if n.type == type]
        if known and roll < 0.5:
            return self.random.choice(known)
        if roll < 0.75:
            some = self._read(scope)
            return some.text if some.type == type else f"{type}({some.text})"
        if roll < 0.85 and self.bindings:
            return f"{type}({self._global()})"
        return f"{type}({self.random.choice((0, 1, 2, 3, 5, 9, 100))})"

    def _global(self) -> str:
        known: list[str] = [n for n in ("G", "MOD.rate", "PAIR") if n in self.bindings]
        known += ["SC"] * ("SC" in self.bindings)
        name = self.random.choice(known)
        return {"PAIR": f"PAIR[{self.random.randint(0, 1)}]", "SC": "SC(300) + 1"}.get(name, name)

    def _read(self, scope: Scope) -> Named:
        """A number somewhere in memory."""
        if self.random.random() < 0.4:
            return Named(self._int_element(scope) or "i32(1)", "i32")
        return self._place(scope, write=False) or Named(f"{scope.own}.id", "i32")

    def _int_element(self, scope: Scope, *, write: bool = False) -> str | None:
        array = self.random.choice(scope.ints)
        owner = array if "." not in array or not write else "pieces"
        if "." in array and self.rules.reach("nums", scope, write=False) != scope.own:
            return None
        if write:
            self.written.add(array)
        index = self._element_index(array, owner, scope, write=write)
        return None if index is None else f"{array}[{index}]"

    def _element_index(self, array: str, owner: str, scope: Scope, *, write: bool) -> str | None:
        """Where a thread may look in an array; None for nowhere."""
        if "." in array:
            how = self.rules.of("pieces")
            return (
                self._index(array, scope) if how in ("", "o") or not write and how is None else None
            )
        how = self.rules.of(owner)
        if how == "" or (how is None and not write):
            return self._index(array, scope)
        return "i" if how == "o" and "i" in scope.places else None

    def _place(self, scope: Scope, *, write: bool) -> Named | None:
        """A number of some object."""
        choices = [(field.text, field.text, field.type) for field in self.fields] * 2
        k = self.random.randrange(2)
        if write:
            choices = [choice for choice in choices if self.rules.of(choice[0]) is not None]
        else:
            choices += [("v", f"v.{'pq'[k]}", self.value[k])]
            choices += [("il", f"il[{self._inline_place(scope, INTS)}]", self.inline)]
            if "values in inline arrays" in self.features:
                place = self._inline_place(scope, VALUES)
                choices += [("iv", f"iv[{place}].{'pq'[k]}", self.value[k])] * 2
        if not choices:
            return None
        field, path, type = self.random.choice(choices)
        reference = self._reach(field, scope, write=write)
        return None if reference is None else Named(f"{reference}.{path}", type)

    def _reach(self, field: str, scope: Scope, *, write: bool) -> str | None:
        """A reference through which a thread may touch the field; None if it may not."""
        found = self.rules.reach(field, scope, write=write)
        return self._reference(scope) if found == "" else found

    def _index(self, array: str, scope: Scope) -> str:
        if "i" in scope.places and "." not in array and self.random.random() < 0.65:
            return "i"
        roll = self.random.random()
        if roll < 0.15:
            return self.random.choice(("0", "-1"))
        if scope.places and roll < 0.7:
            place = self.random.choice(scope.places)
            return f"{place} % len({array})"
        if roll < 0.8 and "i" in scope.places:
            return f"(i + 1) % len({array})"
        inner = self.random.choice([wide(n) for n in scope.numbers if n.type in WIDE] or ["2"])
        return f"int({inner}) % len({array})"

    def _reference(self, scope: Scope) -> str:
        roll = self.random.random()
        if roll < 0.3:
            array = self.random.choice(scope.nodes)
            is_read = "." not in array or self.rules.reach("nodes", scope, write=False) in (
                "",
                scope.own,
            )
            index = self._element_index(array, array, scope, write=False) if is_read else None
            if index is not None:
                return f"{array}[{index}]"
        elif roll < 0.45:
            field = self.random.choice(("nxt", "ir"))
            place = "" if field == "nxt" else f"[{self.random.randrange(2)}]"
            some = self.rules.reach(field, scope, write=False)
            if some is not None:
                return f"{some or self.random.choice(scope.references)}.{field}{place}"
        return self.random.choice((*scope.references, *scope.chosen))

    def _test(self, scope: Scope) -> str:
        roll = self.random.random()
        if roll < 0.15:
            return f"{self._reference(scope)} is {self._reference(scope)}"
        if roll < 0.3:
            kinds = ["C0", "C1", "C2", *(["KIND"] * 3 if "KIND" in self.bindings else [])]
            return f"isinstance({self._reference(scope)}, {self.random.choice(kinds)})"
        owner = self._reach("opt", scope, write=False) if roll < 0.35 else None
        if owner is not None:
            return f"{owner}.opt is not None"
        type = self.random.choice(NUMBERS)
        symbol = self.random.choice(("<", ">", "==", "!="))
        return f"{self._leaf(type, scope)} {symbol} {self._leaf(type, scope)}"

    def _call(self, scope: Scope) -> str:
        number = f"{self._leaf('i32', replace(scope, calls=()))}"
        if "a" in scope.nodes and self.random.random() < 0.4:
            called = (
                "PICK" if "PICK" in self.bindings else self.random.choice(("helper0", "helper1"))
            )
            arrays = [self._whole(scope.nodes) for _ in range(2)]
            ints = self._whole(scope.ints)
            if None not in (*arrays, ints):
                self.written |= {*map(str, arrays), str(ints)}
                given = [scope.own, self._reference(scope), *map(str, arrays), str(ints), number]
                return f"{called}({', '.join(given)})"
        ints = self._whole(scope.ints)
        if ints is None or not scope.calls:
            return number
        given = [number, self._reference(scope), ints]
        return f"{self.random.choice(scope.calls)}({', '.join(given)})"

    def _whole(self, arrays: tuple[str, ...]) -> str | None:
        """An array that functions may look at anywhere."""
        array = self.random.choice(arrays)
        return array if "." not in array and self._is_whole(array) else None

    def _is_whole(self, array: str) -> bool:
        return self.rules.of(array) in ("", None)
