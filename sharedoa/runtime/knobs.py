"""Every setting, in one place: its variable, default, meaning and valid values.

A knob is read when it is used: from ``scope(...)`` if the code set it, else from the environment,
else its default. ``knobs.mode.resolve(argument)`` is what a call with an optional argument uses:
the argument wins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from dispatch.dataclass import dataclass
from dispatch.mode import MODES, ModeError, parse_mode

from ..context_managers import contextmanager
from ..errors import ConfigurationError
from ..model.classes import LAYOUTS

T = TypeVar("T")
Source = Literal["default", "environment", "code"]

PREFIX = "SHAREDOA_"
#: Names the folder of road networks to the tests; no setting, but no misspelt one either.
TEST_DATA = "SHAREDOA_DATA"
_in_scope: ContextVar[dict[str, Any]] = ContextVar("sharedoa_knobs", default={})  # noqa: B039
_checked = False


@dataclass(frozen=True)
class Knob(Generic[T]):
    """One setting. ``parse`` takes text, or a value given in code, and raises ValueError with the
    reason when it is not valid; ``valid`` says in words what is."""

    name: str
    default: T
    valid: str
    help: str
    parse: Callable[[Any], T]

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    @property
    def source(self) -> Source:
        if self.name in _in_scope.get():
            return "code"
        return "environment" if self.variable in os.environ else "default"

    def value(self) -> T:
        """The value now. Raises ConfigurationError when the environment holds a bad one."""
        _check_environment()
        inner = _in_scope.get()
        if self.name in inner:
            found: T = inner[self.name]
            return found
        text = os.environ.get(self.variable)
        return self.default if text is None else self._checked(text, self.variable)

    def resolve(self, argument: Any) -> T:
        """``argument`` if it is given (not None), else the value now."""
        return self.value() if argument is None else self._checked(argument, f"{self.name}=")

    def _checked(self, given: Any, where: str) -> T:
        try:
            return self.parse(given)
        except ValueError as error:
            raise ConfigurationError(
                f"{where} {given!r} is not valid: {error}", f"valid values: {self.valid}"
            ) from None


def _choice(names: tuple[str, ...]) -> Callable[[Any], str]:
    def parse(given: Any) -> str:
        # Some names are numbers, and may be given as such.
        name = str(given).strip().lower()
        if name not in names or isinstance(given, bool):
            raise ValueError("unknown name")
        return name

    return parse


def _mode(given: Any) -> str:
    try:
        return parse_mode(given).name
    except ModeError:
        raise ValueError("unknown mode") from None


def _count(given: Any) -> int:
    try:
        count = int(given) if isinstance(given, str) else given.__index__()
    except (AttributeError, ValueError):
        raise ValueError("not a whole number") from None
    if isinstance(given, bool):
        raise ValueError("not a whole number")
    if count < 1:
        raise ValueError("it must be at least 1")
    return int(count)


_UNITS = {"": 1, "b": 1} | {
    prefix + suffix: 1024**power
    for power, prefix in enumerate("kmgt", start=1)
    for suffix in ("", "b", "i", "ib")
}


def _bytes(given: Any) -> int:
    if not isinstance(given, str):
        return _count(given)
    match = re.fullmatch(r"\s*(\d{1,20}(?:\.\d{1,20})?)\s*([a-z]*)\s*", given.lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError("not a number of bytes")
    return _count(int(Fraction(match[1]) * _UNITS[match[2]]))


def _flag(given: Any) -> bool:
    if isinstance(given, (str, int, np.integer, np.bool_)) and given in ("0", "1", 0, 1):
        return given in ("1", 1)
    raise ValueError("neither 0 nor 1")


def _folder(given: Any) -> Path:
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise ValueError("not a path")
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~ without a home folder, ~name without a user of that name
        raise ValueError("no such home folder") from None


def _folder_or_off(given: Any) -> Path | Literal["off"]:
    return "off" if isinstance(given, str) and given.lower() == "off" else _folder(given)


def _backend(given: Any) -> str:
    match = re.fullmatch(r"(auto|cpu|python)|(cuda|hip)(?::(\d{1,9}))?", str(given).strip().lower())
    if match is None:
        raise ValueError("unknown name")
    name, kind, ordinal = match.groups()
    return name or (f"{kind}:{int(ordinal)}" if int(ordinal or 0) else kind)


mode: Knob[str] = Knob(
    "mode",
    "auto",
    ", ".join(MODES),
    "how a call finds its method, and how objects are placed",
    _mode,
)
backend: Knob[str] = Knob(
    "backend",
    "auto",
    "auto, cuda, cuda:1 (the second GPU), hip, cpu, python",
    "where kernels run; auto takes the first of cuda, hip and cpu that works",
    _backend,
)
layout: Knob[str] = Knob(
    "layout",
    "auto",
    "aos, tile, auto",
    "how the fields of objects lie in memory",
    _choice((*LAYOUTS, "auto")),
)
references: Knob[str] = Knob(
    "references",
    "auto",
    "32, 64, auto",
    "bits of a reference in memory; with 32 a heap reaches 16 GiB",
    _choice(("32", "64", "auto")),
)
initial_region: Knob[int] = Knob(
    "initial_region",
    4096,
    "a whole number from 1",
    "objects in the first region of a class",
    _count,
)
capacity: Knob[int | None] = Knob(
    "capacity",
    None,
    "bytes, such as 512MiB or 4GiB (K, M and G count in powers of 1024)",
    "most memory that a heap reserves; by default half of what is free, and with references of 32 "
    "bits no more than 8 GiB",
    _bytes,
)
cache_dir: Knob[Path | Literal["off"] | None] = Knob(
    "cache_dir",
    None,
    "a folder, or off",
    "where compiled code is kept between runs; by default the user's cache folder",
    _folder_or_off,
)
cache_size: Knob[int] = Knob(
    "cache_size",
    1 << 30,
    "bytes, such as 256MiB or 2GiB (K, M and G count in powers of 1024)",
    "most bytes of compiled code kept; what was used longest ago goes first",
    _bytes,
)
debug: Knob[bool] = Knob(
    "debug",
    False,
    "0 or 1",
    "check bounds, null, foreign and freed references, and division of integers by zero",
    _flag,
)
fastmath: Knob[bool] = Knob(
    "fastmath",
    False,
    "0 or 1",
    "let kernels reorder and fuse floating-point operations and approximate divisions, roots and "
    "functions",
    _flag,
)
ordered: Knob[bool] = Knob(
    "ordered",
    True,
    "0 or 1",
    "put objects in the order of the threads that made them, also where no bound is known of how "
    "many each makes",
    _flag,
)
specialise: Knob[bool] = Knob(
    "specialise",
    True,
    "0 or 1",
    "compile numbers that never change, or not for long, as constants",
    _flag,
)
background: Knob[bool] = Knob(
    "background",
    True,
    "0 or 1",
    "compile better code beside running kernels, which go on as they are until it is there",
    _flag,
)
fuse: Knob[str] = Knob(
    "fuse",
    "1",
    "0, 1, always",
    "make one launch of several in captured steps and blocks of oa.fuse(), where that is as quick; "
    "always: without a look at whether it is",
    _choice(("0", "1", "always")),
)
lines: Knob[bool] = Knob(
    "lines",
    False,
    "0 or 1",
    "have code tell profilers, debuggers and checkers which lines of the source it was made from",
    _flag,
)
dump: Knob[Path | None] = Knob(
    "dump",
    None,
    "a folder",
    "write the typed tree, the IR before and after the pass, and PTX or assembly there",
    _folder,
)

ALL: tuple[Knob[Any], ...] = (
    mode, backend, layout, references, initial_region, capacity, cache_dir, cache_size, debug,
    fastmath, ordered, specialise, background, fuse, lines, dump,
)  # fmt: skip


@contextmanager
def scope(**values: Any) -> Iterator[None]:
    """Set knobs by name for the code inside: ``with knobs.scope(mode="coal", debug=True):``.

    Raises ConfigurationError for an unknown name or a bad value.
    """
    known = {knob.name: knob for knob in ALL}
    for name in values:
        if name not in known:
            raise ConfigurationError(
                f"there is no setting {name!r}", f"valid settings: {', '.join(known)}"
            )
    parsed = {name: known[name].resolve(value) for name, value in values.items()}
    around = _in_scope.get()
    try:
        _in_scope.set({**around, **parsed})
        yield
    finally:
        _in_scope.set(around)


def _check_environment() -> None:
    """Refuse misspelt variables, once: silence would be taken for obedience."""
    global _checked
    if _checked:
        return
    known = {TEST_DATA, *(knob.variable for knob in ALL)}
    for variable in sorted(os.environ):
        if variable.startswith(PREFIX) and variable not in known:
            raise ConfigurationError(
                f"{variable} is not a variable of sharedoa",
                f"valid variables: {', '.join(knob.variable for knob in ALL)}",
            )
    _checked = True
