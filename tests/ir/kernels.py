"""Random kernels with loops that threads may share, and what they are run with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import sharedoa as oa
from sharedoa import i32, ir

from ..frontend.translated import kernel_from
from .interpreter import Machine, Thing

THREADS, OBJECTS, ITERATIONS = 3, 3, 4


@oa.value
class Pair:
    left: i32
    right: i32


class Cell(oa.Object):
    f: i32
    g: i32
    next: Cell
    pair: Pair
    items: oa.inline[i32, 4]

    def get(self) -> i32:
        return self.f

    def put(self, v: i32) -> None:
        self.f = v

    def lower(self, v: i32) -> None:
        if self.f > v:
            self.f = v

    def move(self, v: i32) -> None:
        if self.g > v:
            self.f = v

    def meet(self, v: i32) -> None:
        if self.f > v:
            self.g = v


class Odd(Cell):
    def meet(self, v: i32) -> None:
        cell = self.next
        if cell.g > v:
            self.g = v


CLASSES = (Cell, Odd)
PARAMETERS = "cells: oa.Array[Cell], a: oa.Array[i32], out: oa.Array[i32], c: i32"
BEGIN = f"""\
t = oa.grid(1)
n = a[t]
x = i32(t)
s = i32(1)
r = i32(t)
d = cells[t * {OBJECTS}]
e = cells[t * {OBJECTS} + 1]
"""
END = "\nout[t * 3] = s\nout[t * 3 + 1] = r\nout[t * 3 + 2] = "
_PLACES = (["e.f"], ["e.f"], ["e.f"], ["e.f", "e.g"], ["e.f", "d.g"], ["d.g", "e.g"])


class Lines:
    """Lines of source: a kernel's statements, with loops. Each thread has its own objects."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        #: Loops that do both are refused, so most do but one of them.
        self._reduces = self._stores = True
        self._places = _PLACES[0]

    def kernel(self) -> str:
        if self._random.random() < 0.5:
            return BEGIN + "\n".join(self._relaxation()) + END + "c"
        lines = self._block(self._random.randint(1, 3), 0)
        seen = self._random.choice(("x", "c", "d.f", "e.f"))
        return BEGIN + "\n".join(lines) + f"{END}{seen}"

    def _block(self, statements: int, loops: int) -> list[str]:
        return [line for _ in range(statements) for line in self._statement(loops)]

    def _statement(self, loops: int) -> list[str]:
        """In so many loops: outside of any there are few others, where they are what matters."""
        random = self._random
        if loops == 0:
            kinds = [self._assign, self._branch, self._loop, self._loop, self._loop]
        else:
            kinds = [self._assign, self._renew, self._branch, self._branch, self._skip]
            kinds += [self._reduce] * 4 * self._reduces
            kinds += [self._store, self._guarded, self._guarded, self._call] * self._stores
            kinds += [self._loop] * (loops < 2)
        return random.choice(kinds)(loops)

    def _relaxation(self) -> list[str]:
        """One loop whose iterations read fields and store to them."""
        random = self._random
        loops = random.choice((1, 1, 2))
        lines = []
        for _ in range(random.choice((1, 1, 2))):
            read, target = (f"{random.choice('eed')}.{random.choice('ffg')}" for _ in "rt")
            word, bound = random.choice("<>"), random.choice(("1", "2", "c", "a[i + 3]"))
            value = random.choice("025cc")
            test = f"{random.choice((read, read, 'x'))} {word} {bound}"
            call = random.choice(("e.lower", "e.lower", "e.move", "e.meet", "d.put"))
            lines += [
                random.choice(
                    [f"if {test}: {target} = {value}"] * 4
                    + [f"if {test}: {call}({value})", f"{call}({value})", f"x = {read}"]
                )
            ]
        if random.random() < 0.15:
            lines.insert(0, f"s += {random.choice(('e.f', 'e.g', '1'))}")
        random.shuffle(lines)
        lines = [f"e = {self._cell(loops)}", f"d = {self._cell(loops)}", *lines]
        if random.random() < 0.2:
            lines.insert(random.randint(1, 3), f"e = {self._cell(loops)}")
        if loops > 1:
            lines = [f"x = {random.choice('c0')}", "for j in range(2):", *_indented(lines)]
        else:
            lines = [f"x = {random.choice(('c', 'e.f', 'a[i + 3]'))}", *lines]
        return ["for i in range(n):", *_indented(lines)]

    def _assign(self, loops: int) -> list[str]:
        return [f"x = {self._number(loops)}"]

    def _renew(self, loops: int) -> list[str]:
        return [f"{self._random.choice('dee')} = {self._cell(loops)}"]

    def _skip(self, loops: int) -> list[str]:
        return [f"if {self._test(loops)}: continue"]

    def _branch(self, loops: int) -> list[str]:
        lines = [f"if {self._test(loops)}:", *_indented(self._block(1, loops))]
        if self._random.random() < 0.4:
            otherwise = self._block(self._random.randint(1, 2), loops)
            lines += ["else:", *_indented(otherwise)]
        return lines

    def _loop(self, loops: int) -> list[str]:
        random = self._random
        if loops == 0:
            kind = random.choice("rrrrssss*")
            self._reduces, self._stores = kind in "r*", kind in "s*"
            self._places = random.choice(_PLACES)
        lines = [f"e = {self._cell(loops + 1)}"] if random.random() < 0.7 else []
        if self._stores and random.random() < 0.4:
            lines += [f"d = {self._cell(loops + 1)}"]
        lines += self._block(random.randint(1, 2), loops + 1)
        length = "n" if loops == 0 else "2"
        return [f"for {'ij'[loops]} in range({length}):", *_indented(lines)]

    def _reduce(self, loops: int) -> list[str]:
        value = self._number(loops)
        forms = (
            "s = s + {}", "s += {}", "s = {} + s", "r = r ^ {}", "r = {} ^ r", "r = min(r, {})",
            "r = max({}, r)", "r |= {}", "r &= {}", "r = min({}, c, r)",
        )  # fmt: skip
        odd = ("r = {} - r", "s = s - {}", "r = min(r, s, {})", "s = {}", "s = s * 2 + {}")
        return [self._random.choice(odd if self._random.random() < 0.1 else forms).format(value)]

    def _store(self, loops: int) -> list[str]:
        return [f"{self._random.choice(self._places)} = {self._plain()}"]

    def _guarded(self, loops: int) -> list[str]:
        return [f"if {self._test(loops)}: {self._store(loops)[0]}"]

    def _call(self, loops: int) -> list[str]:
        method = self._random.choice(("put", "lower", "move", "meet"))
        return [f"{self._random.choice('eeed')}.{method}({self._plain()})"]

    def _plain(self) -> str:
        """A value that is likely the same in all iterations."""
        return self._random.choice("0125cccccx") if self._random.random() < 0.9 else "i32(i)"

    def _number(self, loops: int) -> str:
        if self._random.random() < 0.08:
            return self._random.choice(("s", "r", "d.f", "d.g"))
        choices = ["x", "c", "e.f", "e.f", "e.get()", "e.g", "1"]
        choices += ["a[i + 3]", "i32(i)"] * 2 if loops else []
        return self._random.choice(choices)

    def _cell(self, loops: int) -> str:
        places = ["0", "1"] if loops == 0 else ["i % 3", "(i + 1) % 3", "a[i + 3] % 3"]
        if loops > 1:
            places = ["j", "(i + j) % 3", "a[i + j + 2] % 3"]
        return f"cells[t * {OBJECTS} + {self._random.choice(places)}]"

    def _test(self, loops: int) -> str:
        word = self._random.choice(("<", ">", "==", "!="))
        return f"{self._number(loops)} {word} {self._number(loops)}"


class KnownLines(Lines):
    """Lines of which much depends on the argument c alone."""

    def _number(self, loops: int) -> str:
        if self._random.random() < 0.4:
            return super()._number(loops)
        return self._random.choice(("c", "1", "-c", "c * 2 - 3", "c // 2", "7 % (c + 1)", "c << 1"))


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def make_world(
    seed: int, classes: Sequence[type[Cell]] = CLASSES, c: int | None = None
) -> tuple[list[Thing], list[int], list[int], int]:
    """A kernel's arguments, the last one ``c`` if given; all numbers are small, so that many are
    equal."""
    random = Random(seed)
    cells = [_make_cell(random, classes) for _ in range(THREADS * OBJECTS)]
    for number, cell in enumerate(cells):
        first = number - number % OBJECTS
        cell.fields["next"] = cells[first + random.randrange(OBJECTS)]
    numbers = [random.randrange(ITERATIONS + 1) for _ in range(3)]
    numbers += [random.randrange(4) for _ in range(ITERATIONS)]
    return cells, numbers, [0] * (3 * THREADS), random.randrange(4) if c is None else c


def _make_cell(random: Random, classes: Sequence[type[Cell]]) -> Thing:
    f, g, left, right, *items = (random.randrange(4) for _ in range(8))
    fields = {"f": f, "g": g, "pair": {"left": left, "right": right}, "items": tuple(items)}
    return Thing(random.choice(classes).__sharedoa__, fields)


def kernel_of(folder: Path, body: str) -> Callable[..., Any]:
    return kernel_from(folder, PARAMETERS, body, Cell=Cell, Pair=Pair, oa=oa)


def outcome(
    program: ir.Program,
    world: int,
    order: int,
    classes: Sequence[type[Cell]] = CLASSES,
    c: int | None = None,
) -> tuple[Any, int]:
    """What a run leaves in memory, and how many rounds were run for others."""
    cells, numbers, out, c = make_world(world, classes, c)
    machine = Machine(program, order)
    machine.run((cells, numbers, out, c), THREADS)
    fields = [{**cell.fields, "next": cells.index(cell.fields["next"])} for cell in cells]
    return (fields, numbers, out), machine.helped
