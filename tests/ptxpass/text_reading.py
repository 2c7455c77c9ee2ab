"""Reads PTX with regular expressions alone: what there is to count before and after the pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FUNCTION = re.compile(
    r"^[^\n]*\.(?:func|entry)\s+(?:\([^)]*\)\s*)?([\w$]+)\s*\([^{;]*\{(.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([%\w$]+)\s*[,;]")
_CALLABLE = re.compile(r"\.func\s+(?:\([^)]*\)\s*)?([\w$]+)")
_MOVE = re.compile(r"\bmov\.[bu]64\s+(%\w+),\s*(%\w+);")
_LOAD = re.compile(r"\bld(?:\.global)?\.[bu]64\s+(%\w+),\s*\[(%\w+)(?:\+-?\w+)?\];")
_WALK = re.compile(r"\bld\.const\.b64\s+%\w+,\s*\[sharedoa_state")
_TABLE = re.compile(r"^[^\n]*\.u64 (_ZTV\w+)\[\w*\] = \{([^}]*)\};", re.MULTILINE)
_DESTRUCTOR = re.compile(r"D[0-2]Ev")


@dataclass(frozen=True)
class Counts:
    """``indirect``: calls through a register; ``walks`` of the range tree; ``header_loads``: loads
    of vtable pointers on the way to such a call's target."""

    indirect: int
    walks: int
    header_loads: int


def functions(ptx: str) -> Iterator[tuple[str, str]]:
    """(name, body without comments) of every function and kernel."""
    for match in _FUNCTION.finditer(_COMMENT.sub("", ptx)):
        yield match[1], match[2]


def counts(ptx: str) -> Counts:
    indirect = walks = headers = 0
    direct = set(_CALLABLE.findall(ptx))
    for _, body in functions(ptx):
        targets = [target for target in _CALL.findall(body) if target not in direct]
        indirect += len(targets)
        walks += len(_WALK.findall(body))
        headers += len(_header_loads(body, set(targets)))
    return Counts(indirect, walks, headers)


def _header_loads(body: str, targets: set[str]) -> set[str]:
    moves, loads = _MOVE.findall(body), _LOAD.findall(body)
    before = 0
    while before != len(targets):
        before = len(targets)
        targets |= {source for target, source in moves if target in targets}
    tables = {base for target, base in loads if target in targets}
    return {target for target, _ in loads if target in tables}


def slots(ptx: str) -> dict[str, list[str]]:
    """What stands in each slot of the first group of every table; ``0`` where it is pure."""
    found = {}
    for name, values in _TABLE.findall(ptx):
        found[name] = [value.strip() for value in values.split(",")][2:]
    return found


def for_heap(ptx: str) -> str:
    """The module as if the kernels that make the objects were those of our heap."""
    ptx = re.sub(r"\b_Z4make", "_Z13sharedoa_make", ptx)
    ptx = re.sub(r"\b_Z6placed", "_Z15sharedoa_placed", ptx)
    return re.sub(r"\bmake\b", "sharedoa_make", ptx)


def closed(ptx: str) -> bool:
    """Whether only our heap makes objects (in code, or as copies of a constant), and no other
    module can have classes."""
    makers = [
        name
        for name, body in functions(ptx)
        if "_ZTV" in body and "sharedoa" not in name and not is_destructor(name)
    ]
    return not makers and "generic(_ZTV" not in ptx and not shared_tables(ptx)


def is_destructor(name: str) -> bool:
    """Of a class that is no template: names with their lengths, then the mark."""
    if not name.startswith("_ZN"):
        return False
    rest = name[len("_ZN") :]
    while digits := re.match(r"\d+", rest):
        rest = rest[digits.end() + int(digits[0]) :]
    return _DESTRUCTOR.fullmatch(rest) is not None


def shared_tables(ptx: str) -> bool:
    """Whether other modules may define classes of this one's calls."""
    return re.search(r"^\.(?:weak|extern|visible) [^;]*\b_ZTV", ptx, re.MULTILINE) is not None
