"""Class hierarchies of any width for the virtual-call benchmark, written out as Python source.

A family has one abstract class ``Item`` with four f32 fields and T subclasses. Class k reads the
first field, adds its own constant to it (or subtracts it from the constant), and writes it back.
Neighbours differ in the operation as well as in the constant: of bodies that differ in constants
alone, LLVM makes one body and a table, and the branch that is to be measured is gone.

``Item`` has the same T bodies as plain methods, so that kernel ``branch`` calls them directly, on
the same objects through the same references, by the thread index alone.
"""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FIELDS = ("a", "b", "c", "d")
#: The field that every class updates.
FIELD = FIELDS[0]
WIDTHS = (1, 2, 4, 8, 16, 32)

_HEAD = """\
import sharedoa as oa
from sharedoa import f32, i32


class Item(oa.Object):
{fields}

    def update(self) -> None: ...
{bodies}

{classes}

@oa.kernel
def virtual_call(items: oa.Array[Item]):
    i = oa.grid(1)
    items[i].update()


@oa.kernel
def branch(items: oa.Array[Item], shift: i32, mask: i32):
    i = oa.grid(1)
    item = items[i]
    kind = (i >> shift) & mask
{branches}


@oa.kernel
def interleave(sorted: oa.Array[Item], mixed: oa.Array[Item], types: i32, each: i32):
    i = oa.grid(1)
    mixed[i] = sorted[(i % types) * each + i // types]
"""
_BODY = """
    def update_{k}(self) -> None:
        self.{field} = {expression}
"""
_CLASS = """
class Item{k}(Item):
    def update(self) -> None:
        self.update_{k}()
"""


@dataclass(frozen=True)
class Family:
    """A generated hierarchy: its module, and its concrete classes in the order of their kinds."""

    module: ModuleType
    classes: tuple[type, ...]

    @property
    def base(self) -> type:
        found: type = self.module.Item
        return found


@cache
def family(types: int, fields: int = len(FIELDS)) -> Family:
    """The hierarchy of ``types`` classes; ``fields`` f32 fields an object, at least four."""
    module = load(f"bench_family_{types}_{fields}", _source(types, fields))
    return Family(module, tuple(getattr(module, f"Item{k}") for k in range(types)))


def load(name: str, source: str) -> ModuleType:
    """A new module of that name, from a file that stays until the process ends."""
    # In a folder of its own: of a file that is written again within a second, with another text of
    # the same length, Python takes the bytecode of the first.
    file = Path(tempfile.mkdtemp(dir=_folder())) / f"{name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _folder() -> Path:
    # The source must stay readable for as long as kernels may be compiled from it.
    folder = Path(tempfile.mkdtemp(prefix="sharedoa-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def updated(kind: int, values: np.ndarray[Any, Any], times: int) -> np.ndarray[Any, Any]:
    """The field after ``times`` updates: exact while the values stay whole and below 2**24."""
    constant = kind + 1
    if kind % 2 == 0:
        return values + np.float32(constant * times)
    return values if times % 2 == 0 else np.float32(constant) - values


def _source(types: int, fields: int) -> str:
    names = [*FIELDS, *(f"padding_{number}" for number in range(fields - len(FIELDS)))]
    kinds = range(types)
    bodies = "".join(_BODY.format(k=k, field=FIELD, expression=_expression(k)) for k in kinds)
    return _HEAD.format(
        fields="\n".join(f"    {name}: f32" for name in names),
        bodies=bodies,
        classes="\n".join(_CLASS.format(k=k) for k in kinds),
        branches="\n".join(_branch(k, types) for k in kinds),
    )


def _expression(kind: int) -> str:
    field, constant = f"self.{FIELD}", f"{kind + 1}.0"
    return f"{field} + {constant}" if kind % 2 == 0 else f"{constant} - {field}"


def _branch(kind: int, types: int) -> str:
    call = f"item.update_{kind}()"
    if types == 1:
        return f"    {call}"
    if kind == types - 1:
        return f"    else:\n        {call}"
    return f"    {'if' if kind == 0 else 'elif'} kind == {kind}:\n        {call}"
