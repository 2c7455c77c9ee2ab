"""A fault that is put into the tree, and the tests that must see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text()


@dataclass(frozen=True)
class Mutation:
    """In ``file``, the text ``old``, which is there once, becomes ``new``. At least one of
    ``tests``, which are arguments of pytest, must fail then. ``why`` says what would be wrong."""

    name: str
    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]

    def complaint(self) -> str | None:
        """Why it does not apply to the tree; None if it does."""
        text = _text(self.file)
        if text.count(self.old) != 1:
            return f"{self.old!r} is {text.count(self.old)} times in {self.file}"
        for test in self.tests:
            file, _, function = test.partition("::")
            if not (ROOT / file).exists():
                return f"there is no {file}"
            name = function.partition("[")[0].rpartition("::")[2]
            if name and f"def {name}(" not in _text(file):
                return f"there is no {name} in {file}"
        return None if self.tests else "it names no tests"

    def apply(self, root: Path) -> None:
        """Put the fault into a copy of the tree."""
        file = root / self.file
        file.write_text(file.read_text().replace(self.old, self.new))
