"""What the statements of a random program about memory may name, and which thread may touch it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from ..signatures import Named

Lines = list[str]
FLOATS = ("f32", "f64")
#: Of fields and arrays; atomics and shared sums have ``WIDE`` ones.
NUMBERS = ("i32", "i32", "i64", "u32", "f32", "u8", "i16", "f64", "u64")
WIDE = ("i32", "i64", "u32", "u64")
VALUES, INTS, REFERENCES = 3, 4, 2
"""Elements of the inline arrays ``iv``, ``il`` and ``ir``."""
NODES = "oa.Array[Node]"


@dataclass(frozen=True)
class Scope:
    """What a statement may name: references that are not null, arrays, numbers; ``locals`` may be
    assigned to, ``places`` are numbers that index, ``room`` bounds how deep blocks nest."""

    references: tuple[str, ...]
    nodes: tuple[str, ...]
    ints: tuple[str, ...]
    numbers: tuple[Named, ...]
    locals: tuple[Named, ...]
    chosen: tuple[str, ...]
    places: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    in_loop: bool = False
    room: int = 2
    own: str = "o"

    def deeper(self) -> Scope:
        return replace(self, room=self.room - 1)


class Rules:
    """Which thread may touch what, by the name of a field or array. In a tame program each is read
    by all and written by none (None), or touched only by the thread whose object ``o`` or whose
    element ``b[i]`` it belongs to, or in all objects by atomics of one kind, or by stores of one
    constant. In others anything goes (""), which is seldom defined for many threads."""

    def __init__(self, random: Random, *, is_tame: bool) -> None:
        self._random, self._is_tame = random, is_tame
        self._found: dict[str, str | None] = {}
        self.operator = random.choice(("add", "min", "max"))

    def keep(self, *names: str) -> None:
        """Nobody writes these."""
        self._found.update(dict.fromkeys(names))

    def of(self, name: str) -> str | None:
        if not self._is_tame:
            return ""
        if name not in self._found:
            choices: list[str | None] = [None, None, "o", "o", "o"]
            if name[0] == "f":
                choices += ["b[i]", "mark", "atomic"]
            elif name == "x":
                choices += ["atomic"]
            elif len(name) > 1:
                choices += ["b[i]"]
            self._found[name] = self._random.choice(choices)
        return self._found[name]

    def reach(self, field: str, scope: Scope, *, write: bool) -> str | None:
        """The reference through which the field is touched; "" for any."""
        rule = self.of(field)
        if rule == "" or (rule is None and not write):
            return ""
        if rule == "b[i]":
            return rule if "i" in scope.places else None
        return scope.own if rule == "o" else None
