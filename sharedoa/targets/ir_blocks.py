"""The functions of an LLVM module as text: blocks, instructions, calls.

For what LLVM has no pass for. It reads what LLVM prints, with a name for every value and block
(``instnamer``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

NAME = r'(?:"[^"\n]*"|[-\w$.]+)'
_PLAIN = re.compile(r"[-\w$.]+", re.ASCII)
_LABEL = re.compile(rf"({NAME}):(?:\s*;.*)?$")
_TARGET = re.compile(rf"label %({NAME})")
_POINTER = re.compile(r"ptr addrspace\(\d+\)|\w+")
_OPENING, _CLOSING = "([{<", ")]}>"


@dataclass
class Block:
    """``lines`` are instructions; a switch with its cases is one."""

    label: str
    lines: list[str]

    @property
    def successors(self) -> list[str]:
        return _TARGET.findall(self.lines[-1])

    @property
    def is_unreachable(self) -> bool:
        return self.lines[-1].strip() == "unreachable"


@dataclass(frozen=True)
class Call:
    """A call in line number ``line`` of a block. ``head`` is what stands before its arguments,
    ``attributes`` what comes after."""

    block: str
    line: int
    result: str | None
    result_type: str
    head: str
    types: tuple[str, ...]
    values: tuple[str, ...]
    attributes: str


def bodies(ir_text: str) -> Iterator[tuple[int, int]]:
    """Where the bodies of the functions begin and end."""
    for define in re.finditer(r"^define .*\{\n", ir_text, re.MULTILINE):
        yield define.end(), ir_text.index("\n}\n", define.end()) + 1


def read_blocks(body: str) -> list[Block]:
    """The blocks of a function's body, the entry first."""
    found: list[Block] = []
    switch = ""
    for line in body.splitlines():
        label = _LABEL.match(line)
        if switch:
            switch += f"\n{line}"
            if line.strip().startswith("]"):
                found[-1].lines.append(switch)
                switch = ""
        elif label is not None:
            found.append(Block(label[1], []))
        elif line.lstrip().startswith("switch ") and not line.rstrip().endswith("]"):
            switch = line
        elif line.strip():
            found[-1].lines.append(line)
    return found


def print_blocks(blocks: Sequence[Block]) -> str:
    return "\n".join("\n".join((f"{block.label}:", *block.lines, "")) for block in blocks)


def printed_name(name: str) -> str:
    """As LLVM prints a name, which may have come in quotes: these only where they are needed, and
    other letters than those of ASCII byte by byte."""
    plain = name.strip('"')
    if _PLAIN.fullmatch(plain):
        return plain
    return '"' + "".join(chr(b) if b < 128 else f"\\{b:02X}" for b in plain.encode()) + '"'


def with_predecessors(line: str, last: Mapping[str, str]) -> str:
    """A phi with the blocks that now end what it comes from; any other line as it is."""
    if " = phi " not in line:
        return line
    return re.sub(rf", %({NAME}) \]", lambda found: f", %{last.get(found[1], found[1])} ]", line)


def calls_of(blocks: Sequence[Block], function: str) -> list[Call] | None:
    """The calls of ``function`` in order; None if it is used in another way, or one of them has
    arguments that are no plain values."""
    pattern = re.compile(
        rf"\s*(?:(?P<result>%{NAME}) = )?"
        rf"(?P<head>(?:tail |notail )?call [^@]*@{re.escape(function)})"
        r"\((?P<arguments>.*)\)(?P<attributes>[^()]*)"
    )
    # Another function's name may begin with this one.
    used = re.compile(rf"@{re.escape(function)}(?![-\w$.])")
    found = []
    for block in blocks:
        for number, line in enumerate(block.lines):
            if used.search(line) is None:
                continue
            call = pattern.fullmatch(line)
            arguments = None if call is None else _arguments(call["arguments"])
            if call is None or arguments is None:
                return None
            types, values = arguments
            result_type = _last_type(call["head"][: call["head"].index("@")].rstrip())
            attributes = call["attributes"].partition(",")[0]
            found.append(
                Call(
                    block.label, number, call["result"], result_type, call["head"], types, values,
                    attributes,
                )
            )  # fmt: skip
    return found


def _arguments(text: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Types and values."""
    types, values = [], []
    for part in _parts(text):
        value = part.split()[-1]
        if value[-1] in _CLOSING:
            return None
        types.append(_first_type(part))
        values.append(value)
    return tuple(types), tuple(values)


def _parts(text: str) -> Iterator[str]:
    """What commas divide, but for those in brackets."""
    start = 0
    for place, (letter, depth) in enumerate(zip(text, _depths(text), strict=True)):
        if letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _first_type(text: str) -> str:
    if text[0] in _OPENING:
        return text[: _depths(text).index(0) + 1]
    match = _POINTER.match(text)
    assert match is not None
    return match[0]


def _last_type(text: str) -> str:
    if text[-1] not in _CLOSING:
        return text.split()[-1]
    outside = [place for place, depth in enumerate(_depths(text[:-1])) if depth == 0]
    start = outside[-1] + 1
    return (
        text[text.rindex("ptr", 0, start) :] if text[:start].endswith("addrspace") else text[start:]
    )


def _depths(text: str) -> list[int]:
    """In how many brackets the text is after each of its letters."""
    return list(accumulate((letter in _OPENING) - (letter in _CLOSING) for letter in text))
