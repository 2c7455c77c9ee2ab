"""Reading the values of a TOML table, with errors that say where and what is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sharedoa.errors import ArgumentError

from ...common.text_file import file_error
from .scene import Triple

HELP = "apps/raytracer/README.md describes scene files; default_scene.toml there is one"


def scene_error(file: Path, message: str) -> ArgumentError:
    text = message if message.isprintable() else ascii(message)
    return file_error(file, HELP, text if len(text) <= 500 else text[:497] + "...")


class TomlTable:
    """One table of a file. Each key is read once; ``finish`` complains about all others."""

    def __init__(self, file: Path, place: str, content: Any) -> None:
        self._file, self._place = file, place
        if not isinstance(content, dict):
            raise scene_error(file, f"{place} is {_shown(content)}, not a table")
        self._content: dict[str, Any] = content
        self._read: list[str] = []

    def error(self, message: str) -> ArgumentError:
        return scene_error(self._file, f"{self._place}: {message}" if self._place else message)

    def finish(self) -> None:
        """Raise ArgumentError for a key that nobody asked for: it is a misspelt one."""
        for name in self._content:
            if name not in self._read:
                raise self.error(f"there is no {_shown(name)} here, only {', '.join(self._read)}")

    def raw(self, name: str, default: Any = None) -> Any:
        self._read.append(name)
        if name in self._content:
            return self._content[name]
        if default is None:
            raise self.error(f"{name} is missing")
        return default

    def table(self, name: str) -> TomlTable:
        return TomlTable(self._file, self._inner(name), self.raw(name))

    def tables(self, name: str) -> list[TomlTable]:
        """The tables of a list, at least one."""
        content = self.raw(name)
        if not isinstance(content, list) or not content:
            raise self.error(f"{name} is {_shown(content)}, not a list of tables")
        places = (f"{self._inner(name)}[{index}]" for index in range(len(content)))
        return [TomlTable(self._file, p, c) for p, c in zip(places, content, strict=True)]

    def named_tables(self) -> dict[str, TomlTable]:
        """All values of this table, by their names; at least one."""
        if not self._content:
            raise self.error("nothing is in it")
        return {name: self.table(name) for name in self._content}

    def choice(self, name: str, choices: Sequence[str]) -> str:
        given = self.raw(name)
        if given not in choices:
            raise self.error(f"{name} is {_shown(given)}, none of {', '.join(choices)}")
        return str(given)

    def number(self, name: str, low: float, high: float, default: float | None = None) -> float:
        """A number from ``low`` to ``high``."""
        given = self.raw(name, default)
        if not _is_number(given) or not low <= given <= high:
            raise self.error(f"{name} is {_shown(given)}, not a number from {low:g} to {high:g}")
        return float(given)

    def whole(self, name: str, low: int, high: int, default: int) -> int:
        given = self.raw(name, default)
        if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
            raise self.error(f"{name} is {_shown(given)}, not a whole number from {low} to {high}")
        return given

    def triple(self, name: str, low: float, high: float, default: Triple | None = None) -> Triple:
        """Three numbers from ``low`` to ``high``."""
        return self._triple(name, self.raw(name, default), low, high)

    def triples(self, name: str, count: int, low: float, high: float) -> list[Triple]:
        given = self.raw(name)
        if not isinstance(given, list) or len(given) != count:
            raise self.error(f"{name} is {_shown(given)}, not a list of {count} points")
        return [self._triple(f"{name}[{k}]", item, low, high) for k, item in enumerate(given)]

    def _triple(self, name: str, given: Any, low: float, high: float) -> Triple:
        items = given if isinstance(given, (list, tuple)) else ()
        if len(items) != 3 or not all(_is_number(v) and low <= v <= high for v in items):
            raise self.error(
                f"{name} is {_shown(given)}, not a list of 3 numbers from {low:g} to {high:g}"
            )
        return float(items[0]), float(items[1]), float(items[2])

    def _inner(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python prints no whole number of more than 4,300 digits
        return "a number of very many digits"
    return text if len(text) <= 40 else text[:37] + "..."
