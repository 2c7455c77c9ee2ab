"""Files as they get when they are cut, damaged, or edited by somebody who means harm."""

from __future__ import annotations

import random
import re

_NUMBER = re.compile(rb"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(rb"\S+")
_NUMBERS = (
    b"0", b"-1", b"1", b"2", b"7", b"08", b"255", b"65536", b"2147483648", b"4294967295",
    b"99999999", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616",
    b"9" * 30, b"9" * 5000, b"-" + b"9" * 19, b"1e308", b"-1e308", b"1e400", b"1e-320", b"nan",
    b"inf", b"0.5", b"0x" + b"f" * 40, b"1_000", b"+5", b"\xb2", b"",
)  # fmt: skip
_PIECES = (
    b"\n", b"\r", b" ", b"\t", b"\0", b"\xff", b"%", b"#", b"<", b">", b"[", b"]", b"{", b"}", b"(",
    b")", b'"', b"'", b".", b",", b";", b":", b"=", b"-", b"~", b"\\", b"/*", b"*/", b"//",
    b"[" * 3000, b"{" * 3000, b"(" * 3000, b"a." * 3000, b" " * 100_000, b"\n" * 100_000,
    b"x" * 100_000,
)  # fmt: skip


def mutated(data: bytes, generator: random.Random) -> bytes:
    """One to four changes."""
    for _ in range(generator.choice((1, 1, 2, 3, 4))):
        data = generator.choice(_CHANGES)(data, generator)
    return data


def _place(data: bytes, generator: random.Random) -> int:
    return generator.randrange(len(data) + 1)


def _flip(data: bytes, generator: random.Random) -> bytes:
    if not data:
        return data
    place = generator.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << generator.randrange(8)]) + data[place + 1 :]


def _cut(data: bytes, generator: random.Random) -> bytes:
    return data[: _place(data, generator)]


def _leave_out(data: bytes, generator: random.Random) -> bytes:
    first = _place(data, generator)
    return data[:first] + data[first + generator.choice((1, 2, 5, 20, 100)) :]


def _insert(data: bytes, generator: random.Random) -> bytes:
    place = _place(data, generator)
    return data[:place] + generator.choice(_PIECES) + data[place:]


def _repeat(data: bytes, generator: random.Random) -> bytes:
    first = _place(data, generator)
    piece = data[first : first + generator.choice((1, 4, 30))]
    return data[:first] + piece * generator.choice((2, 10, 1000)) + data[first:]


def _other_number(data: bytes, generator: random.Random) -> bytes:
    return _replaced(data, generator, _NUMBER, generator.choice(_NUMBERS))


def _other_word(data: bytes, generator: random.Random) -> bytes:
    words = _WORD.findall(data)
    return _replaced(data, generator, _WORD, generator.choice(words)) if words else data


def _swap_lines(data: bytes, generator: random.Random) -> bytes:
    lines = data.split(b"\n")
    one, other = (generator.randrange(len(lines)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _replaced(data: bytes, generator: random.Random, what: re.Pattern[bytes], by: bytes) -> bytes:
    found = list(what.finditer(data))
    if not found:
        return data
    match = generator.choice(found)
    return data[: match.start()] + by + data[match.end() :]


_CHANGES = (
    _flip, _cut, _leave_out, _insert, _repeat, _other_number, _other_number, _other_word,
    _swap_lines,
)  # fmt: skip
