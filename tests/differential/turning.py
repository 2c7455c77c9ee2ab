"""Random kernels in which threads make objects as their numbers say, or as nobody knows before, and
the same in plain Python."""

from __future__ import annotations

from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from ..source_files import load_module

CLASSES = 4
_HEAD = """
class Made(oa.Object):
    id: i32

""" + "".join(f"class Made{n}(Made): ...\n" for n in range(CLASSES))


class Turning:
    """A program: ``module`` has kernel ``make`` with two numbers and an array of four; ``made``
    tells what threads make."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._random = random = Random(seed)
        self._births = 0
        self._left = "return 1"
        helper = self._block("    ", 2, ["i", "a", "b"])
        self._left = "return"
        body = self._block("    ", 3, ["i", "a", "b"])
        body += [f"    if {self._test(2, ['i', 'a', 'b'])}:", f"        {self._birth()}"]
        text = "\n".join(
            [
                "@oa.func",
                "def helper(t: i64, i: i64, a: i64, b: i64, marks: oa.Array[i32]) -> i64:",
                *helper,
                "    return i % a",
                "@oa.kernel",
                "def make(a: i32, b: i32, marks: oa.Array[i32]) -> None:",
                "    i = t = oa.grid(1)",
                *body,
            ]
        )
        self.text = _HEAD + text
        self.module: ModuleType = load_module(folder, self.text)
        plain = text.replace("@oa.kernel", "").replace("@oa.func", "")
        plain = plain.replace("oa.grid(1)", "thread").replace("oa.new(", "new(")
        plain = "from __future__ import annotations\n" + plain
        self._plain = compile(plain, "plain", "exec")

    def made(self, threads: int, a: int, b: int, marks: list[int]) -> list[list[int]]:
        """The numbers of the threads that make an object of each class, one for each, in order."""
        found: list[list[int]] = [[] for _ in range(CLASSES)]
        names: dict[str, Any] = {f"Made{n}": n for n in range(CLASSES)}
        names["new"] = lambda number, id: found[number].append(id)
        exec(self._plain, names)
        for names["thread"] in range(threads):
            names["make"](a, b, marks)
        return found

    def _birth(self) -> str:
        """Mostly of a class that is made nowhere else."""
        self._births += 1
        number = self._births if self._random.random() < 0.9 else self._random.randrange(CLASSES)
        return f"oa.new(Made{number % CLASSES}, id=t)"

    def _block(self, indent: str, depth: int, names: list[str]) -> list[str]:
        random, lines = self._random, list[str]()
        for _ in range(random.randint(1, 2 if depth < 2 else 3)):
            pick = random.randrange(1, 13)
            inner = indent + "    "
            if pick < 3 or not depth:
                lines.append(f"{indent}{self._birth()}")
            elif pick < 8:
                lines.append(f"{indent}if {self._test(2, names)}:")
                lines += self._block(inner, depth - 1, [*names])
                if random.random() < 0.6:
                    lines += [f"{indent}else:", *self._block(inner, depth - 1, [*names])]
            elif pick == 8:
                name = f"n{len(names)}"
                lines.append(f"{indent}{name} = {self._number(2, names)}")
                names.append(name)
            elif pick == 9:
                lines.append(f"{indent}if {self._test(1, names)}:")
                lines.append(f"{inner}{self._left}")
            elif pick == 10 and depth == 3 and "called" not in names:
                lines.append(f"{indent}called = helper(t, {self._number(1, names)}, a, b, marks)")
                names.append("called")
            elif pick > 11:
                lines.append(f"{indent}if marks[i % 4] > {random.randint(0, 2)}:")
                lines += self._block(inner, 0, [*names])
        return lines or [f"{indent}pass"]

    def _test(self, depth: int, names: list[str]) -> str:
        random = self._random
        pick = random.randrange(6) if depth else 0
        if pick == 4:
            word = random.choice(["and", "or"])
            return f"({self._test(depth - 1, names)} {word} {self._test(depth - 1, names)})"
        if pick == 5:
            return f"not {self._test(depth - 1, names)}"
        compare = random.choice(["==", "==", "==", "!=", "<", ">="])
        divisor = random.choice(["2", "3", "4", "6", "a"])
        return f"{self._number(depth, names)} % {divisor} {compare} {random.randint(0, 2)}"

    def _number(self, depth: int, names: list[str]) -> str:
        random = self._random
        pick = random.randrange(9) if depth else random.randrange(3)
        if pick < 2:
            return "i"
        if pick == 2:
            return random.choice([*names, str(random.randint(0, 9))])
        one = self._number(depth - 1, names)
        small = random.choice(["2", "3", "4", "b"])
        texts = {
            3: f"({one} + {self._number(depth - 1, names)})", 4: f"({one} - {small})",
            5: f"{one} * {small}", 6: f"({one} // {small})",
            7: f"({one} {random.choice(['& 3', '& 5', '>> 1', '% 8'])})",
            8: f"({one} if {self._test(0, names)} else {small})",
        }  # fmt: skip
        return texts[pick]
