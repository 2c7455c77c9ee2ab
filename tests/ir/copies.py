"""Random kernels that copy between objects which may be the same: by fields, members, elements."""

from __future__ import annotations

from random import Random

from .kernels import BEGIN, END, OBJECTS


class Copies:
    """Lines of source: stores, many of which could wait for the loads that follow."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def kernel(self) -> str:
        lines = [self._line() for _ in range(self._random.randint(3, 12))]
        return f"{BEGIN}y = i32(2)\n" + "\n".join(lines) + f"{END}x + y"

    def _line(self) -> str:
        random = self._random
        kinds = [self._store] * 6 + [self._read] * 3 + [self._loop, self._loop, self._other]
        return random.choice(kinds)()

    def _store(self) -> str:
        random = self._random
        if random.random() < 0.3:
            made = f"Pair({self._number()}, {self._number()})"
            return f"{self._object()}.pair = {random.choice((f'{self._object()}.pair', made))}"
        return f"{self._place()} {random.choice(('=', '=', '=', '+='))} {self._number()}"

    def _read(self) -> str:
        return f"{self._random.choice('xy')} = {self._number()}"

    def _loop(self) -> str:
        """Often one that does nothing but copy."""
        random = self._random
        one, other = (f"{self._object()}.items" for _ in "ab")
        shift = random.choice(("k", "k", "k", "3 - k", "(k + 1) % 4"))
        bounds = random.choice(("4", "1, 3", "3, -1, -1", "0, 4, 2", "0", "x % 3"))
        value = random.choice((f"{other}[{shift}]", f"{other}[{shift}] + i32(k)", self._number()))
        return f"for k in range({bounds}): {one}[k] = {value}"

    def _other(self) -> str:
        random = self._random
        test = f"{self._number()} > {self._number()}"
        value = self._number()
        return random.choice(
            [
                f"if {test}: {self._store()}",
                f"{random.choice('de')} = cells[t * {OBJECTS} + {random.choice('012')}]",
                f"{self._object()}.put({value})",
                f"{self._object()}.next = {self._object()}",
                f"oa.atomic_add({self._object()}, 'f', {value})",
                f"while x > 3: x = x // 2 - {random.choice('01')}",
            ]
        )

    def _object(self) -> str:
        return self._random.choice(("d", "d", "e", "e", "d.next", "e.next"))

    def _number(self) -> str:
        member = f"{self._object()}.pair.{self._random.choice(('left', 'right'))}"
        return member if self._random.random() < 0.3 else self._place()

    def _place(self) -> str:
        random = self._random
        index = random.choice(("0", "1", "2", "3", "-1", "-2", "x % 4", "y % 4"))
        item = self._object()
        kinds = [f"{item}.f", f"{item}.f", f"{item}.g", f"out[t * 3 + {random.choice('01')}]"]
        return random.choice([*kinds, *[f"{item}.items[{index}]"] * 2])
