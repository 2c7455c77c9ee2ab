"""What random programs can name: scalar types and how NumPy combines them, fields, callables."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

DTYPES = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64,
    "bool": np.bool_,
}  # fmt: skip
SCALARS = tuple(DTYPES)
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f32", "f64")
ARRAY = "oa.Array[i32]"
#: Small enough that ``int(x)`` and weak arithmetic on it stay far below 64 bits.
NARROW = ("i8", "i16", "i32", "u8", "u16", "u32")

_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
_OPERATORS: dict[str, Callable[[object, object], object]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


def _combinations() -> dict[str, list[tuple[str, str, str]]]:
    """For each result type the (operator, left type, right type) that NumPy gives it for."""
    found: dict[str, list[tuple[str, str, str]]] = {name: [] for name in SCALARS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (symbol, apply), left, right in product(_OPERATORS.items(), SCALARS, SCALARS):
            if left == right == "bool" and symbol not in "&|^":
                continue  # NumPy's bools are no ints, Python's are
            try:
                result = apply(DTYPES[left](1), DTYPES[right](1))
            except TypeError:
                continue
            assert isinstance(result, np.generic)
            found[_NAMES[result.dtype]].append((symbol, left, right))
    return found


COMBINATIONS = _combinations()


def storable(target: str, source: str) -> bool:
    """Whether assigning ``source`` to ``target`` converts silently (same_kind)."""
    return bool(np.can_cast(DTYPES[source], DTYPES[target], "same_kind"))


def inline_parts(type: str) -> list[str]:
    """Element and lengths of an inline array; nothing of another type."""
    if not type.startswith("oa.inline["):
        return []
    return type.removeprefix("oa.inline[").removesuffix("]").split(", ")


@dataclass(frozen=True)
class Named:
    """Something readable: its text in the program and its type."""

    text: str
    type: str


@dataclass(frozen=True)
class Routine:
    """A method, function or operator method. ``pure`` ones write nothing. ``recursive`` ones take
    the depth that is left as their first parameter and call themselves with less. The first
    ``never_named`` are given by position alone, the last ``only_named`` by name alone."""

    name: str
    parameters: tuple[Named, ...]
    result: str
    pure: bool = True
    recursive: bool = False
    never_named: int = 0
    only_named: int = 0
    defaults: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def declared(self) -> str:
        """Its parameters, as they stand in a def."""
        texts = []
        for each in self.parameters:
            default = f" = {self.defaults[each.text]}" if each.text in self.defaults else ""
            texts.append(f"{each.text}: {each.type}{default}")
        if self.only_named:
            texts.insert(len(texts) - self.only_named, "*")
        if self.never_named:
            texts.insert(self.never_named, "/")
        return ", ".join(texts)

    def call(self, texts: list[str], by_position: int) -> tuple[list[str], list[str]]:
        """What is given by position and by name, as many by position as may be; some defaults are
        left out, by the length of what would be in their place."""
        most = len(texts) - self.only_named
        first: list[str] = []
        named: list[str] = []
        for place, (each, text) in enumerate(zip(self.parameters, texts, strict=True)):
            is_last = place + 1 == self.never_named
            may_go = each.text in self.defaults and (place >= self.never_named or is_last)
            if may_go and len(text) % 2:
                by_position = 0
            elif place < self.never_named or place < min(by_position, most):
                first.append(text)
            else:
                named.append(f"{each.text}={text}")
        return first, named


@dataclass
class Struct:
    """A value struct of the program."""

    name: str
    fields: list[Named]
    methods: list[Routine] = field(default_factory=list)


@dataclass
class Class:
    """A shared class of the program; ``fields`` are its own, ``bodies`` the methods it defines."""

    name: str
    base: Class | None
    fields: list[Named] = field(default_factory=list)
    bodies: set[str] = field(default_factory=set)
    abstract: set[str] = field(default_factory=set)
    #: What some of its fields are where nothing is given.
    defaults: dict[str, str] = field(default_factory=dict)

    @property
    def all_defaults(self) -> dict[str, str]:
        return {**(self.base.all_defaults if self.base else {}), **self.defaults}

    @property
    def all_fields(self) -> list[Named]:
        return [*(self.base.all_fields if self.base else []), *self.fields]

    @property
    def level(self) -> int:
        return self.base.level + 1 if self.base else 0

    def missing(self, names: list[str]) -> list[str]:
        """Methods that an object of this class would lack."""
        return [name for name in names if not self.implements(name)]

    def implements(self, name: str) -> bool:
        """Whether calling ``name`` on an object of exactly this class runs a body."""
        if name in self.bodies:
            return True
        if name in self.abstract or self.base is None:
            return False
        return self.base.implements(name)

    def is_below(self, other: Class) -> bool:
        return self is other or (self.base is not None and self.base.is_below(other))
