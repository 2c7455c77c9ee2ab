"""PTX text into tokens. Spaces and comments are no tokens; positions tell what stands between."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from .syntax import PtxError

_SKIPPED = r"(?:\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)*"
_TOKEN = re.compile(
    rf"""{_SKIPPED}
      (?:(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<number>0[fF][0-9a-fA-F]{{8}}|0[dD][0-9a-fA-F]{{16}}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
                 |\d+\.\d*(?:[eE][+-]?\d+)?|\d+U?)
      |(?P<word>[A-Za-z_$%][A-Za-z0-9_$]*)
      |(?P<dot>\.[A-Za-z_%$0-9][A-Za-z0-9_$]*(?:::[A-Za-z0-9_]+)*)
      |(?P<mark>(?!/\*)[{{}}()\[\],;:+\-=<>@!|*/&~?^])
      |(?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)


#: No number of PTX needs as many digits, nor a name with a dot as many characters.
_LONGEST_NUMBER, _LONGEST_DOT = 200, 200


def _is_number(text: str) -> bool:
    """Whether what looks like a number has few digits, and an octal one none but octal ones."""
    digits = text.rstrip("U")
    is_octal = digits.isdigit() and digits[0] == "0"
    return len(text) <= _LONGEST_NUMBER and not (is_octal and set(digits) & {"8", "9"})


#: The kind of what stands for the end of a text.
END = "end"


class Token(NamedTuple):
    """``kind``: string, number, word, dot (``.name``), mark or end."""

    kind: str
    text: str
    start: int
    end: int


class Source:
    """A text with its name, its tokens from any position on, and line numbers."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._lines = [match.end() for match in re.finditer("\n", text)]

    def line(self, position: int) -> int:
        return bisect_right(self._lines, position) + 1

    def error(self, message: str, position: int, help: str = "") -> PtxError:
        return PtxError(message, self.name, self.line(position), help)

    def tokens(self, position: int) -> list[Token]:
        """The tokens from a position on, which is not within one, to the end of a line: one or
        more, as the end of the text is one."""
        text, match_at = self.text, _TOKEN.match
        found: list[Token] = []
        while True:
            match = match_at(text, position)
            kind = match and match.lastgroup
            if match is None or kind is None:
                raise self._unreadable(_skipped(text, position))
            start, end = match.span(kind)
            if found and start != position and "\n" in text[position:start]:
                return found
            token = text[start:end]
            if kind == "number" and not _is_number(token):
                raise self.error(f"{token[:40]!r} is not a number", start)
            if kind == "dot" and end - start > _LONGEST_DOT:
                raise self.error("a directive or type has too long a name", start)
            if kind == END:
                found.append(Token(kind, "the end of the text", start, start))
                return found
            found.append(Token(kind, token, start, end))
            position = end

    def _unreadable(self, position: int) -> PtxError:
        rest = self.text[position : position + 20]
        if rest.startswith('"'):
            return self.error("a string does not end on its line", position)
        if rest.startswith("/*"):
            return self.error("a comment does not end", position)
        cure = "pass PTX text, as nvcc -ptx, NVRTC or clang print it"
        return self.error(f"unexpected character {rest[0]!r}", position, cure)


def _skipped(text: str, position: int) -> int:
    """Where the first thing begins that is neither space nor comment."""
    match = re.compile(_SKIPPED, re.VERBOSE | re.DOTALL).match(text, position)
    assert match is not None
    return match.end()


def tokens_of(text: str) -> list[Token]:
    """All tokens of a short text. Raises PtxError where something else is in it."""
    source = Source(text, "")
    found = source.tokens(0)
    while found[-1].kind != END:
        found += source.tokens(found[-1].end)
    return found[:-1]
