"""PTX text into tokens. Spaces and comments are no tokens; positions tell what stands between."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from .syntax import PtxError

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      |(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
                 |\d+\.\d*(?:[eE][+-]?\d+)?|\d+U?)
      |(?P<word>[A-Za-z_$%][A-Za-z0-9_$]*)
      |(?P<dot>\.[A-Za-z_%$0-9][A-Za-z0-9_$]*(?:::[A-Za-z0-9_]+)*)
      |(?P<mark>[{}()\[\],;:+\-=<>@!|*/&~?^])""",
    re.VERBOSE | re.DOTALL,
)


#: No number of PTX needs as many digits, nor a name with a dot as many characters.
_LONGEST_NUMBER, _LONGEST_DOT = 200, 200


def _is_number(text: str) -> bool:
    """Whether what looks like a number has few digits, and an octal one none but octal ones."""
    digits = text.rstrip("U")
    is_octal = digits.isdigit() and digits[0] == "0"
    return len(text) <= _LONGEST_NUMBER and not (is_octal and set(digits) & {"8", "9"})


@dataclass(frozen=True, slots=True)
class Token:
    """``kind``: string, number, word, dot (``.name``), mark or end."""

    kind: str
    text: str
    start: int
    end: int


class Source:
    """A text with its name, its tokens, and line numbers."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._lines = [match.end() for match in re.finditer("\n", text)]
        self.tokens = self._tokenise()

    def line(self, position: int) -> int:
        return bisect_right(self._lines, position) + 1

    def error(self, message: str, position: int, help: str = "") -> PtxError:
        return PtxError(message, self.name, self.line(position), help)

    def _tokenise(self) -> list[Token]:
        tokens: list[Token] = []
        position, length = 0, len(self.text)
        match_at = _TOKEN.match
        while position < length:
            match = match_at(self.text, position)
            if match is None:
                raise self._unreadable(position)
            kind = match.lastgroup
            assert kind is not None
            end = match.end()
            if self.text.startswith("/*", position) and kind != "skip":
                raise self._unreadable(position)
            if kind == "number" and not _is_number(match.group()):
                raise self.error(f"{match.group()[:40]!r} is not a number", position)
            if kind == "dot" and end - position > _LONGEST_DOT:
                raise self.error("a directive or type has too long a name", position)
            if kind != "skip":
                tokens.append(Token(kind, match.group(), position, end))
            position = end
        tokens.append(Token("end", "the end of the text", length, length))
        return tokens

    def _unreadable(self, position: int) -> PtxError:
        rest = self.text[position : position + 20]
        if rest.startswith('"'):
            return self.error("a string does not end on its line", position)
        if rest.startswith("/*"):
            return self.error("a comment does not end", position)
        cure = "pass PTX text, as nvcc -ptx, NVRTC or clang print it"
        return self.error(f"unexpected character {rest[0]!r}", position, cure)
