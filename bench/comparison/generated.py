"""Programs whose text depends on the number of classes, loaded as modules."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from bench import class_family


@cache
def load(name: str, text: str) -> ModuleType:
    """The module that ``text`` is the source of, the same one each time."""
    return class_family.load(name, text)


@cache
def folder() -> Path:
    """A folder for what this process generates; it goes when the process ends."""
    made = Path(tempfile.mkdtemp(prefix="comparison-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def expression(kind: int, first: str, number: str = "{}.0") -> str:
    """What class ``kind`` makes of ``first``: neighbours differ in the operation as well, since of
    bodies that differ in a number alone compilers make one body and a table."""
    constant = number.format(kind + 1)
    return f"{first} + {constant}" if kind % 2 == 0 else f"{constant} - {first}"


def ladder(types: int, number: str) -> str:
    """Python that tells the class of an object by its tag and changes field ``a`` at its slot."""
    lines = []
    for kind in range(types):
        test = f"{'elif' if kind else 'if'} tag == {kind}:"
        lines.append(f"    {'else:' if 0 < kind == types - 1 else test}")
        lines.append(f"        a[slot] = {expression(kind, 'a[slot]', number)}")
    return "\n".join(lines)
