"""What PTX says of the source: directives ``.file`` and ``.loc``.

LLVM (22) writes for an instruction the innermost place alone. Of a method that was put in place of
its call, ``.loc`` can also say which function that is and where it was called (PTX ISA,
``function_name`` and ``inlined_at``). So each such place gets a number of its own, which LLVM
writes as if it were a line, and which is replaced afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatch.dataclass import dataclass

#: Numbers above all lines of sources.
_FIRST = 1 << 30
#: Since this version of PTX places can be inlined.
_VERSION = (7, 2)

_NODE = re.compile(r"^(![0-9]+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_STRING = re.compile(r'\b(?:name|filename): "([^"]*)"')
_NUMBER = re.compile(r"\b(line|column): (\d+)")
_LINK = re.compile(r"\b(scope|file|inlinedAt): (![0-9]+)")
_UNUSED = re.compile(
    r"^(?:\$L__(?:tmp|func_begin|func_end)\d+:|\t\.section\t\.debug_macinfo\t\{\t\})\n",
    re.MULTILINE,
)
_NO_CODE = re.compile(r"^\t\.(?:loc|file)\t.*\n|\b(?:callseq |prototype_)\d+", re.MULTILINE)
_FILE = re.compile(r'^\t\.file\t(\d+) (".*")$', re.MULTILINE)
_DIRECTIVE = re.compile(r"^\t\.loc\t\d+ (\d+) \d+$|^\}$", re.MULTILINE)


def tells_lines(ptx: str) -> bool:
    """Whether PTX says which lines of a source it was made from. Assemblers leave that out of
    machine code unless they are told to keep it."""
    return "\t.loc\t" in ptx


@dataclass(frozen=True)
class _Node:
    """Debug information in LLVM's text: a place, function or file."""

    kind: str
    string: str
    numbers: dict[str, int]
    links: dict[str, str]

    @property
    def is_inlined(self) -> bool:
        return self.kind == "DILocation" and "inlinedAt" in self.links and self.numbers["line"] > 0


def with_directives_alone(ptx: str) -> str:
    """PTX without what LLVM writes for tables that are not there: with labels that nothing goes to
    ptxas makes other code."""
    return _UNUSED.sub("", ptx)


def code_in(ptx: str) -> str:
    """PTX without what it says of lines, and without numbers that LLVM counts in a process."""
    return _NO_CODE.sub("", ptx)


class InlinedPlaces:
    """Those of a module, given as LLVM's text after all passes."""

    def __init__(self, ir_text: str) -> None:
        self._nodes = {
            name: _Node(
                kind,
                next(iter(_STRING.findall(told)), ""),
                {key: int(number) for key, number in _NUMBER.findall(told)},
                dict(_LINK.findall(told)),
            )
            for name, kind, told in _NODE.findall(ir_text)
        }
        self._inlined = [name for name, node in self._nodes.items() if node.is_inlined]
        numbers = {name: _FIRST + number for number, name in enumerate(self._inlined)}

        def numbered(found: re.Match[str]) -> str:
            number = numbers.get(found[1])
            if number is None:
                return found[0]
            return re.sub(r"\bline: \d+", f"line: {number}", found[0], count=1)

        self.text = _NODE.sub(numbered, ir_text)
        """The same module with numbers for lines of inlined places."""
        self._files: dict[str, int] = {}
        self._names: dict[str, int] = {}

    def told(self, ptx: str) -> str:
        """PTX of ``text`` with the places that the numbers stand for."""
        known = {quoted: int(number) for number, quoted in _FILE.findall(ptx)}
        self._files, self._names = dict(known), {}
        called: set[str] = set()

        def place(found: re.Match[str]) -> str:
            if found[1] is None:  # the end of a function
                called.clear()
                return found[0]
            number = int(found[1]) - _FIRST
            if number < 0:
                return found[0]
            return "\n".join(reversed([*self._directives(self._inlined[number], called)]))

        ptx = _DIRECTIVE.sub(place, ptx)
        if not self._names:
            return ptx
        files = [
            f"\t.file\t{n} {quoted}\n"
            for quoted, n in self._files.items()
            if n not in known.values()
        ]
        names = [f"$L__name{n}:\n.b8 {_bytes(name)}\n" for name, n in self._names.items()]
        ptx = re.sub(r"^\.version (\d+)\.(\d+)$", _new_enough, ptx, count=1, flags=re.MULTILINE)
        return "".join([ptx, *files, "\t.section\t.debug_str\n\t{\n", *names, "\t}\n"])

    def _directives(self, name: str, called: set[str]) -> Iterator[str]:
        """For a place, then for those that it was inlined at; ``called`` are calls that the
        function has had."""
        node = self._nodes[name]
        at = self._nodes[name].links.get("inlinedAt")
        if at is None:
            yield f"\t.loc\t{self._position(node)}"
            return
        function = self._names.setdefault(self._function(node), len(self._names))
        is_inlined = (
            f"function_name $L__name{function}, inlined_at {self._position(self._nodes[at])}"
        )
        yield f"\t.loc\t{self._position(node)}, {is_inlined}"
        if at not in called:
            called.add(at)
            yield from self._directives(at, called)

    def _position(self, place: _Node) -> str:
        scope = self._nodes[place.links["scope"]]
        quoted = _quoted(self._nodes[scope.links["file"]].string)
        file = self._files.setdefault(quoted, len(self._files) + 1)
        return f"{file} {place.numbers['line']} {place.numbers.get('column', 0)}"

    def _function(self, place: _Node) -> str:
        scope = self._nodes[place.links["scope"]]
        while scope.kind != "DISubprogram":
            scope = self._nodes[scope.links["scope"]]
        return scope.string


def _unescaped(text: str) -> bytes:
    """What stands in a string of LLVM's text."""
    parts = re.split(r"\\([0-9A-Fa-f]{2})", text)
    return b"".join(
        bytes([int(part, 16)]) if number % 2 else part.encode() for number, part in enumerate(parts)
    )


_SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def _quoted(text: str) -> str:
    """A string of LLVM's text as it stands in assembly."""
    letters = (
        _SHORT.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in _unescaped(text)
    )
    return f'"{"".join(letters)}"'


def _bytes(name: str) -> str:
    return ",".join(map(str, [*_unescaped(name), 0]))


def _new_enough(found: re.Match[str]) -> str:
    version = max((int(found[1]), int(found[2])), _VERSION)
    return ".version {}.{}".format(*version)
