"""The functions of an LLVM module as text: blocks and instructions.

For what LLVM has no pass for. It reads what LLVM prints, with a name for every value and block
(``instnamer``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

NAME = r'(?:"[^"\n]*"|[-\w$.]+)'
_LABEL = re.compile(rf"({NAME}):(?:\s*;.*)?$")
_TARGET = re.compile(rf"label %({NAME})")


@dataclass
class Block:
    """``lines`` are instructions; a switch with its cases is one."""

    label: str
    lines: list[str]

    @property
    def successors(self) -> list[str]:
        return _TARGET.findall(self.lines[-1])


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


def with_predecessors(line: str, last: Mapping[str, str]) -> str:
    """A phi with the blocks that now end what it comes from; any other line as it is."""
    if " = phi " not in line:
        return line
    return re.sub(rf", %({NAME}) \]", lambda found: f", %{last.get(found[1], found[1])} ]", line)
