"""Random methods that assign inline arrays and value structs as a whole, and read and write their
elements, of the same objects by several names; properties that are assigned; tuples by index."""

from __future__ import annotations

from random import Random

_BEGINNING = """
@oa.value
class Pair:
    items: oa.inline[i32, 3]
    more: i32


class Node(oa.Object):
    a: oa.inline[i32, 3]
    b: oa.inline[i32, 3]
    pair: Pair
    next: Node
    x: i32

    @property
    def total(self) -> i32:
        return self.x + self.a[0]

    @total.setter
    def total(self, value: i32) -> None:
        self.a = [value, self.x, self.a[1]]
        self.x = value - self.a[0]

    def run(self, n: i32) -> i32:
        t = n
        other = self.next.next
"""
_OBJECTS = ("self", "self.next", "other")
_INDICES = ("0", "1", "2", "-1", "n % 3")
#: Nested loops, branches and operators.
_DEPTH = 2


class _Maker:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def text(self) -> str:
        lines = [line for _ in range(self._random.randint(4, 8)) for line in self._statement(2, 0)]
        return "\n".join([_BEGINNING.rstrip(), *lines, "        return t", ""])

    def _pick(self, of: tuple[str, ...]) -> str:
        return self._random.choice(of)

    def _array(self) -> str:
        return f"{self._pick(_OBJECTS)}.{self._pick(('a', 'b'))}"

    def _expression(self, depth: int = 0) -> str:
        kind = self._random.randrange(9 if depth < _DEPTH else 6)
        if kind < 2:
            return self._pick(("t", "n", str(self._random.randint(-3, 9))))
        if kind < 4:
            return f"{self._array()}[{self._pick(_INDICES)}]"
        if kind == 4:
            return f"{self._pick(_OBJECTS)}.{self._pick(('x', 'total', 'pair.more'))}"
        if kind == 5:
            return f"{self._pick(_OBJECTS)}.pair.items[{self._pick(_INDICES)}]"
        first, second = self._expression(depth + 1), self._expression(depth + 1)
        if kind == 6:
            return f"i32(({first}, {second}, t)[{self._pick(_INDICES)}])"
        return f"({first} {self._pick(('+', '-', '*'))} {second})"

    def _three(self) -> str:
        return ", ".join(self._expression() for _ in range(3))

    def _statement(self, indent: int, depth: int) -> list[str]:
        before, object = "    " * indent, self._pick(_OBJECTS)
        kind = self._random.randrange(13)
        if kind >= 11 and depth < _DEPTH:
            inside = range(self._random.randint(1, 3))
            rounds = f"for i{depth} in range({self._pick(('2', 'n % 4'))}):"
            test = f"if {self._expression()} > {self._expression()}:"
            block = [line for _ in inside for line in self._statement(indent + 1, depth + 1)]
            return [before + self._pick((rounds, test)), *block]
        made = {
            0: f"{self._array()} = [{self._three()}]",
            1: f"{self._array()} = ({self._three()})",
            2: f"{self._array()} = [{self._expression()}] * 3",
            3: f"{self._array()} = {self._array()}",
            4: f"{self._array()} = {object}.pair.items",
            5: f"{self._array()}[{self._pick(_INDICES)}] = {self._expression()}",
            6: f"{object}.pair = Pair(({self._three()}), {self._expression()})",
            7: f"{object}.pair = {self._pick(_OBJECTS)}.pair",
            8: f"{object}.total {self._pick(('', '+', '-'))}= {self._expression()}",
            9: f"{object}.x = {self._expression()}",
        }
        return [before + made.get(kind, f"t += {self._expression()}")]


def make_program(seed: int) -> str:
    """The text of a module with a class ``Node`` and its method ``run``."""
    return _Maker(seed).text()
