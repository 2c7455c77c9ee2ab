"""Reads the dispatch path out of a kernel's PTX: which loads find the method of a receiver.

Every register is followed from where its value comes from: a reference loaded from the array of
receivers, a word of an object's header, a table of the module, the range tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"^\s*(?:@!?%p\d+\s+)?(?P<op>[a-z][\w.]*)\s+(?P<rest>[^;]*);")
_ADDRESS = re.compile(r"\[(?P<base>[%\w$.]+)(?:\+(?P<offset>-?\d+))?\]")
_MASK = str((1 << 49) - 1)
#: Where a value comes from; an address computed from several is named after the first of these.
_ORDER = ("rows", "functions", "tree", "vtable", "receiver")


@dataclass
class DispatchPath:
    """Static counts in a kernel's entry (Table 1 of the paper: A, B and C are the first three)."""

    header_loads: int = 0
    table_loads: int = 0
    indirect_calls: int = 0
    module_table_loads: int = 0
    tree_loads: int = 0


def instructions(ptx: str, symbol: str) -> list[tuple[str, list[str]]]:
    """(opcode, operands) of a function or entry."""
    start = re.search(rf"\.(?:entry|func)[^;{{]*\b{re.escape(symbol)}\([^;{{]*\{{", ptx)
    assert start is not None, symbol
    body = ptx[start.end() : ptx.index("\n}", start.end())]
    found = []
    for line in body.splitlines():
        match = _LINE.match(line)
        if match:
            found.append((match["op"], [part.strip() for part in match["rest"].split(",")]))
    return found


def entry_symbol(ptx: str) -> str:
    match = re.search(r"\.entry (\w+)\(", ptx)
    assert match is not None
    return match[1]


def dispatch_path(ptx: str, header_size: int) -> DispatchPath:
    """Classify the loads of the entry and count its indirect calls."""
    path = DispatchPath()
    origins: dict[str, str] = {}

    def origin(name: str) -> str:
        if name.startswith("sharedoa_rows"):
            return "rows"
        if name.startswith("sharedoa_functions"):
            return "functions"
        return origins.get(name, "")

    for op, operands in instructions(ptx, entry_symbol(ptx)):
        target, sources = operands[0], operands[1:]
        address = _ADDRESS.search(",".join(sources))
        if op.startswith("call"):
            path.indirect_calls += sources[0].startswith("%")
        elif op.startswith("ld.") and address is not None:
            base, offset = address["base"], int(address["offset"] or 0)
            kind = origin(base)
            if base == "sharedoa_state":
                origins[target] = "tree"
            elif kind == "receiver" and offset < header_size:
                path.header_loads += 1
                origins[target] = "vtable"
            elif kind in ("vtable", "rows"):
                path.table_loads += 1
            elif kind == "functions":
                path.module_table_loads += 1
            elif kind == "tree":
                path.tree_loads += 1
            elif not kind and op.endswith("b64") and op.startswith("ld.global"):
                origins[target] = "receiver"
        else:
            found = {origin(source) for source in sources}
            origins[target] = next((kind for kind in _ORDER if kind in found), "")
    return path


def masks_before_access(ptx: str, symbol: str) -> tuple[int, int]:
    """(accesses of objects in a method whose address was masked before, all such accesses)."""
    masked: set[str] = set()
    addresses: list[str] = []
    for op, operands in instructions(ptx, symbol):
        if op.startswith("and.") and operands[-1] == _MASK:
            masked.add(operands[0])
        elif op.startswith(("ld.global", "st.global")):
            address = _ADDRESS.search(",".join(operands))
            assert address is not None
            addresses.append(address["base"])
    return sum(base in masked for base in addresses), len(addresses)
